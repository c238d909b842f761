import django.db.models.deletion
import django.db.models.functions.text
import django.utils.timezone
from decimal import Decimal
from django.db import migrations, models



class Migration(migrations.Migration):

    initial = True
    replaces = [("office", "0001_rows")]  # its name in older databases

    dependencies = [
    ]

    operations = [
        migrations.CreateModel(
            name='Request',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('words', models.TextField(blank=True, editable=False)),
                ('example', models.BooleanField(default=False)),
                ('lines', models.JSONField(default=list)),
                ('total', models.DecimalField(decimal_places=2, max_digits=14)),
                ('reason', models.CharField(blank=True, max_length=200)),
                ('asked_for', models.CharField(blank=True, max_length=120)),
                ('made', models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={
                'ordering': ['-pk'],
            },
        ),
        migrations.CreateModel(
            name='Item',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('words', models.TextField(blank=True, editable=False)),
                ('example', models.BooleanField(default=False)),
                ('name', models.CharField(max_length=200)),
                ('kind', models.CharField(blank=True, max_length=120)),
                ('number', models.PositiveIntegerField(default=0)),
                ('price', models.DecimalField(decimal_places=2, default=Decimal('0'), max_digits=12)),
                ('place', models.CharField(blank=True, max_length=120)),
            ],
            options={
                'ordering': ['name'],
                'constraints': [models.UniqueConstraint(django.db.models.functions.text.Lower('name'), name='one_item_of_a_name')],
            },
        ),
        migrations.CreateModel(
            name='OfficeDocument',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('words', models.TextField(blank=True, editable=False)),
                ('example', models.BooleanField(default=False)),
                ('name', models.CharField(max_length=200)),
                ('text', models.TextField()),
                ('version', models.PositiveIntegerField(default=1)),
                ('outside', models.BooleanField(default=False)),
            ],
            options={
                'ordering': ['name'],
                'constraints': [models.UniqueConstraint(django.db.models.functions.text.Lower('name'), name='one_office_document_of_a_name')],
            },
        ),
        migrations.CreateModel(
            name='Person',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('words', models.TextField(blank=True, editable=False)),
                ('example', models.BooleanField(default=False)),
                ('name', models.CharField(max_length=120)),
                ('mail', models.EmailField(max_length=254)),
                ('role', models.CharField(blank=True, max_length=120)),
                ('unit', models.CharField(blank=True, max_length=120)),
                ('start', models.DateField(blank=True, null=True)),
                ('manager', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='team', to='office.person')),
            ],
            options={
                'verbose_name_plural': 'people',
                'ordering': ['name', 'pk'],
            },
        ),
        migrations.CreateModel(
            name='CalendarEntry',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('words', models.TextField(blank=True, editable=False)),
                ('example', models.BooleanField(default=False)),
                ('title', models.CharField(max_length=200)),
                ('start', models.DateTimeField()),
                ('end', models.DateTimeField()),
                ('place', models.CharField(blank=True, max_length=120)),
                ('people', models.ManyToManyField(blank=True, related_name='entries', to='office.person')),
            ],
            options={
                'verbose_name_plural': 'calendar entries',
                'ordering': ['start', 'pk'],
            },
        ),
        migrations.CreateModel(
            name='Task',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('words', models.TextField(blank=True, editable=False)),
                ('example', models.BooleanField(default=False)),
                ('title', models.CharField(max_length=200)),
                ('due', models.DateField(blank=True, null=True)),
                ('state', models.CharField(choices=[('open', 'Open'), ('doing', 'Doing'), ('done', 'Done'), ('dropped', 'Dropped')], default='open', max_length=10)),
                ('details', models.TextField(blank=True)),
                ('assignee', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='tasks', to='office.person')),
            ],
            options={
                'ordering': ['due', 'pk'],
            },
        ),
        migrations.CreateModel(
            name='OfficeDocumentVersion',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveIntegerField()),
                ('text', models.TextField()),
                ('made', models.DateTimeField(default=django.utils.timezone.now)),
                ('document', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='versions', to='office.officedocument')),
            ],
            options={
                'db_table': 'office_officeversion',
                'ordering': ['-number'],
                'constraints': [models.UniqueConstraint(fields=('document', 'number'), name='one_office_version_of_a_number')],
            },
        ),
        migrations.AddConstraint(
            model_name='person',
            constraint=models.UniqueConstraint(django.db.models.functions.text.Lower('mail'), name='one_person_of_an_address'),
        ),
        migrations.AddConstraint(
            model_name='calendarentry',
            constraint=models.CheckConstraint(condition=models.Q(('end__gt', models.F('start'))), name='entry_ends_after_its_start'),
        ),
    ]
