"""Crews in versions."""

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

from engine.ledger import immutability
from engine.on_schema import OnSchema
from missions.guards import GUARDS


NEW = ("crewversion", "crewchange")


def lift(apps, schema_editor):
    immutability.remove_triggers(schema_editor.connection, [GUARDS["missions_mission"]])


def install(apps, schema_editor):
    immutability.install_triggers(schema_editor.connection, [GUARDS[f"missions_{name}"] for name in ("mission", *NEW)])


def lift_all(apps, schema_editor):
    immutability.remove_triggers(schema_editor.connection, [GUARDS[f"missions_{name}"] for name in ("mission", *NEW)])


class Migration(migrations.Migration):

    dependencies = [
        ('missions', '0004_ready_made_memories'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        OnSchema(lift, install),
        migrations.CreateModel(
            name='Crew',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=60, unique=True)),
                ('created', models.DateTimeField(default=django.utils.timezone.now)),
                ('archived', models.DateTimeField(null=True)),
                ('locked', models.DateTimeField(null=True)),
                ('retention_days', models.PositiveIntegerField(default=365)),
                ('owner', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ['pk'],
            },
        ),
        migrations.CreateModel(
            name='CrewVersion',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveIntegerField()),
                ('name', models.CharField(max_length=60)),
                ('created', models.DateTimeField(default=django.utils.timezone.now)),
                ('good_for', models.CharField(blank=True, max_length=300)),
                ('agents', models.JSONField()),
                ('author', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('crew', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='versions', to='missions.crew')),
            ],
            options={
                'ordering': ['-number'],
            },
        ),
        migrations.CreateModel(
            name='CrewChange',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('made', models.DateTimeField(default=django.utils.timezone.now)),
                ('kind', models.CharField(choices=[('adopted', 'Adopted'), ('founded', 'Founded'), ('revised', 'Revised'), ('archived', 'Archived'), ('brought back', 'Brought Back'), ('locked', 'Locked'), ('unlocked', 'Unlocked'), ('kept', 'Kept')], max_length=12)),
                ('by', models.CharField(blank=True, max_length=150)),
                ('name', models.CharField(max_length=60)),
                ('owner', models.BigIntegerField(null=True)),
                ('owner_name', models.CharField(blank=True, max_length=150)),
                ('archived', models.BooleanField()),
                ('locked', models.BooleanField()),
                ('retention_days', models.PositiveIntegerField()),
                ('crew', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='changes', to='missions.crew')),
                ('version', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='missions.crewversion')),
            ],
            options={
                'ordering': ['pk'],
                'default_permissions': (),
            },
        ),
        migrations.AddField(
            model_name='crew',
            name='current',
            field=models.OneToOneField(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='missions.crewversion'),
        ),
        migrations.AddField(
            model_name='mission',
            name='crew_version',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='missions', to='missions.crewversion'),
        ),
        migrations.AddConstraint(
            model_name='crewversion',
            constraint=models.UniqueConstraint(models.F('crew'), models.F('number'), name='one_crew_version_per_number'),
        ),
        OnSchema(install, lift_all),
    ]
