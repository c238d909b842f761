"""Long-term memories in versions, who has which of them, and what commands with a network have reached."""

import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models

from engine.ledger import immutability
from engine.on_schema import OnSchema
from missions.guards import GUARDS

NEW = ("connection", "memory", "memoryversion", "activation", "memoryuse")


def install(apps, schema_editor):
    immutability.install_triggers(schema_editor.connection, [GUARDS[f"missions_{name}"] for name in ("mission", *NEW)])


def lift(apps, schema_editor):
    immutability.remove_triggers(schema_editor.connection, [GUARDS["missions_mission"]])


def lift_all(apps, schema_editor):
    immutability.remove_triggers(schema_editor.connection, [GUARDS[f"missions_{name}"] for name in ("mission", *NEW)])


class Migration(migrations.Migration):

    dependencies = [
        ('missions', '0002_guards'),
    ]

    operations = [
        OnSchema(lift, install),
        migrations.AddField(
            model_name='mission',
            name='library',
            field=models.CharField(blank=True, max_length=80),
        ),
        migrations.CreateModel(
            name='Memory',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('library', models.CharField(blank=True, max_length=80)),
                ('name', models.CharField(max_length=60)),
                ('folded', models.CharField(max_length=120)),
                ('file', models.CharField(max_length=100)),
                ('made', models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={
                'ordering': ['library', 'folded'],
                'default_permissions': ('add', 'change'),
                'constraints': [models.UniqueConstraint(models.F('library'), models.F('folded'), name='one_memory_of_a_name'), models.UniqueConstraint(models.F('library'), models.F('file'), name='one_memory_of_a_file')],
            },
        ),
        migrations.CreateModel(
            name='Activation',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('on', models.BooleanField()),
                ('made', models.DateTimeField(default=django.utils.timezone.now)),
                ('agent', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='activations', to='missions.agent')),
                ('mission', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='activations', to='missions.mission')),
                ('memory', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='missions.memory')),
            ],
            options={
                'ordering': ['pk'],
                'default_permissions': (),
            },
        ),
        migrations.CreateModel(
            name='MemoryVersion',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveIntegerField()),
                ('base', models.PositiveIntegerField(default=0)),
                ('description', models.CharField(blank=True, max_length=300)),
                ('text', models.TextField(blank=True)),
                ('front', models.TextField(blank=True)),
                ('active_for', models.JSONField(default=list)),
                ('visible_to', models.JSONField(default=list)),
                ('except_for', models.JSONField(default=list)),
                ('by', models.CharField(blank=True, max_length=150)),
                ('decided', models.DateTimeField(null=True)),
                ('decided_by', models.CharField(blank=True, max_length=150)),
                ('accepted', models.BooleanField(null=True)),
                ('made', models.DateTimeField(default=django.utils.timezone.now)),
                ('memory', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='versions', to='missions.memory')),
                ('mission', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='memories_proposed', to='missions.mission')),
            ],
            options={
                'ordering': ['memory', '-number'],
                'default_permissions': (),
            },
        ),
        migrations.CreateModel(
            name='MemoryUse',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('on', models.BooleanField()),
                ('made', models.DateTimeField(default=django.utils.timezone.now)),
                ('agent', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='memory_uses', to='missions.agent')),
                ('mission', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='memory_uses', to='missions.mission')),
                ('version', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='uses', to='missions.memoryversion')),
            ],
            options={
                'ordering': ['pk'],
                'default_permissions': (),
            },
        ),
        migrations.CreateModel(
            name='Connection',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveIntegerField()),
                ('host', models.CharField(blank=True, max_length=255)),
                ('port', models.PositiveIntegerField()),
                ('allowed', models.BooleanField()),
                ('sent', models.PositiveBigIntegerField(default=0)),
                ('received', models.PositiveBigIntegerField(default=0)),
                ('made', models.DateTimeField(default=django.utils.timezone.now)),
                ('mission', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='connections', to='missions.mission')),
                ('terminal', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='connections', to='missions.terminal')),
            ],
            options={
                'ordering': ['pk'],
                'default_permissions': (),
                'constraints': [models.UniqueConstraint(models.F('terminal'), models.F('number'), name='one_connection_of_a_number')],
            },
        ),
        migrations.AddConstraint(
            model_name='memoryversion',
            constraint=models.UniqueConstraint(models.F('memory'), models.F('number'), name='one_memory_version_of_a_number'),
        ),
        OnSchema(install, lift_all),
    ]
