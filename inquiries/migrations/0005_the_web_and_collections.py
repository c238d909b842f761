"""What is read on the web, collections of documents, and which inquiry one follows."""

import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models

from engine.ledger import immutability
from engine.on_schema import OnSchema
from inquiries.guards import GUARDS

CHANGED = ("inquiries_inquiry", "inquiries_source")


def install(apps, schema_editor):
    immutability.install_triggers(schema_editor.connection, [GUARDS[table] for table in CHANGED])


def lift(apps, schema_editor):
    immutability.remove_triggers(schema_editor.connection, [GUARDS[table] for table in CHANGED])


class Migration(migrations.Migration):

    dependencies = [
        ('engine', '0025_gates_in_order'),
        ('inquiries', "0004_erased_for_good"),
    ]

    operations = [
        OnSchema(lift, install),
        migrations.CreateModel(
            name='Collection',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=80, unique=True)),
                ('made', models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={
                'ordering': ['name'],
            },
        ),
        migrations.AddField(
            model_name='inquiry',
            name='collections',
            field=models.JSONField(default=list),
        ),
        migrations.AddField(
            model_name='inquiry',
            name='follows',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='followed_by', to='inquiries.inquiry'),
        ),
        migrations.AddField(
            model_name='inquiry',
            name='hosts',
            field=models.JSONField(default=list),
        ),
        migrations.AddField(
            model_name='inquiry',
            name='web',
            field=models.BooleanField(default=False),
        ),
        migrations.AddField(
            model_name='source',
            name='address',
            field=models.TextField(blank=True),
        ),
        migrations.AddField(
            model_name='source',
            name='asked',
            field=models.TextField(blank=True),
        ),
        migrations.AddField(
            model_name='source',
            name='bytes_digest',
            field=models.CharField(blank=True, max_length=64),
        ),
        migrations.AddField(
            model_name='source',
            name='extractor',
            field=models.CharField(blank=True, max_length=40),
        ),
        migrations.AddField(
            model_name='source',
            name='flags',
            field=models.JSONField(default=list),
        ),
        migrations.AddField(
            model_name='source',
            name='length',
            field=models.PositiveIntegerField(default=0),
        ),
        migrations.AddField(
            model_name='source',
            name='read',
            field=models.TextField(blank=True),
        ),
        migrations.AddField(
            model_name='source',
            name='text_digest',
            field=models.CharField(blank=True, max_length=64),
        ),
        migrations.AddField(
            model_name='source',
            name='tool_call',
            field=models.OneToOneField(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='engine.toolcall'),
        ),
        migrations.AddField(
            model_name='source',
            name='type',
            field=models.CharField(blank=True, max_length=100),
        ),
        migrations.AlterField(
            model_name='source',
            name='kind',
            field=models.CharField(choices=[('document', 'Document'), ('page', 'Page'), ('table', 'Table'), ('calculation', 'Calculation'), ('mcp', 'Tool of a server')], max_length=12),
        ),
        migrations.CreateModel(
            name='CollectionDocument',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('title', models.CharField(max_length=120)),
                ('kind', models.CharField(choices=[('text', 'Text'), ('markdown', 'Markdown'), ('csv', 'CSV'), ('pdf', 'PDF')], max_length=10)),
                ('text', models.TextField()),
                ('digest', models.CharField(max_length=64)),
                ('made', models.DateTimeField(default=django.utils.timezone.now)),
                ('collection', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='documents', to='inquiries.collection')),
            ],
            options={
                'ordering': ['title'],
                'constraints': [models.UniqueConstraint(models.F('collection'), models.F('title'), name='one_document_of_a_title')],
            },
        ),
        OnSchema(install, lift),
    ]
