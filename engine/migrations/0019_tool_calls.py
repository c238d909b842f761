"""What runs do with tools."""

import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models

from engine.ledger import immutability
from engine.on_schema import OnSchema


def guard(apps, schema_editor):
    immutability.install_triggers(schema_editor.connection, [immutability.ENGINE_TABLES["engine_toolcall"]])


def unguard(apps, schema_editor):
    immutability.remove_triggers(schema_editor.connection, [immutability.ENGINE_TABLES["engine_toolcall"]])


class Migration(migrations.Migration):

    dependencies = [
        ('engine', '0018_gates'),
    ]

    operations = [
        migrations.CreateModel(
            name='ToolCall',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('step', models.CharField(max_length=80)),
                ('number', models.PositiveSmallIntegerField()),
                ('tool', models.CharField(max_length=120)),
                ('source', models.CharField(max_length=120)),
                ('definition', models.CharField(max_length=64)),
                ('effect', models.CharField(choices=[('reads', 'Reads'), ('writes', 'Writes'), ('reaches_out', 'Reaches out')], max_length=12)),
                ('contained', models.BooleanField(default=False)),
                ('made', models.DateTimeField(default=django.utils.timezone.now)),
                ('arguments', models.TextField(blank=True)),
                ('output', models.TextField(blank=True)),
                ('error', models.TextField(blank=True)),
                ('output_size', models.PositiveIntegerField(default=0)),
                ('outside', models.BooleanField(default=False)),
                ('status', models.CharField(choices=[('open', 'Under way'), ('done', 'Done'), ('failed', 'Failed'), ('interrupted', 'Interrupted')], default='open', max_length=12)),
                ('started', models.DateTimeField(null=True)),
                ('deadline', models.DateTimeField(null=True)),
                ('ended', models.DateTimeField(null=True)),
                ('asked_in', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='tool_calls', to='engine.modelcall')),
                ('gate', models.OneToOneField(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='tool_call', to='engine.gate')),
                ('run', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='tool_calls', to='engine.run')),
            ],
            options={
                'ordering': ['pk'],
                'default_permissions': (),
                'indexes': [models.Index(condition=models.Q(('outside', True)), fields=['run'], name='tool_call_from_outside')],
                'constraints': [models.UniqueConstraint(fields=('run', 'step', 'number'), name='one_tool_call_of_a_number')],
            },
        ),
        OnSchema(guard, unguard),
    ]
