"""Rosters in versions."""

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

from engine.ledger import immutability
from engine.on_schema import OnSchema
from inquiries.guards import GUARDS

NEW = ("rosterversion", "rosterchange")


def lift(apps, schema_editor):
    immutability.remove_triggers(schema_editor.connection, [GUARDS["inquiries_inquiry"]])


def install(apps, schema_editor):
    immutability.install_triggers(schema_editor.connection, [GUARDS[f"inquiries_{name}"] for name in ("inquiry", *NEW)])


def lift_all(apps, schema_editor):
    immutability.remove_triggers(schema_editor.connection, [GUARDS[f"inquiries_{name}"] for name in ("inquiry", *NEW)])


class Migration(migrations.Migration):

    dependencies = [
        ('inquiries', '0005_the_web_and_collections'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        OnSchema(lift, install),
        migrations.CreateModel(
            name='Roster',
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
            name='RosterVersion',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveIntegerField()),
                ('name', models.CharField(max_length=60)),
                ('created', models.DateTimeField(default=django.utils.timezone.now)),
                ('about', models.CharField(blank=True, max_length=300)),
                ('posts', models.JSONField()),
                ('author', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('roster', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='versions', to='inquiries.roster')),
            ],
            options={
                'ordering': ['-number'],
            },
        ),
        migrations.CreateModel(
            name='RosterChange',
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
                ('roster', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='changes', to='inquiries.roster')),
                ('version', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='inquiries.rosterversion')),
            ],
            options={
                'ordering': ['pk'],
                'default_permissions': (),
            },
        ),
        migrations.AddField(
            model_name='roster',
            name='current',
            field=models.OneToOneField(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='inquiries.rosterversion'),
        ),
        migrations.AddField(
            model_name='inquiry',
            name='roster_version',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='inquiries', to='inquiries.rosterversion'),
        ),
        migrations.AddConstraint(
            model_name='rosterversion',
            constraint=models.UniqueConstraint(models.F('roster'), models.F('number'), name='one_roster_version_per_number'),
        ),
        OnSchema(install, lift_all),
    ]
