"""The repository that a mission began with."""

import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models

from engine.ledger import immutability
from engine.on_schema import OnSchema
from missions.guards import GUARDS

TABLE = "missions_repository"


def install(apps, schema_editor):
    immutability.install_triggers(schema_editor.connection, [GUARDS[TABLE]])


def lift(apps, schema_editor):
    immutability.remove_triggers(schema_editor.connection, [GUARDS[TABLE]])


class Migration(migrations.Migration):

    dependencies = [
        ('missions', '0007_remarks'),
    ]

    operations = [
        migrations.CreateModel(
            name='Repository',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('address', models.TextField(blank=True)),
                ('branch', models.TextField(blank=True)),
                ('base', models.CharField(max_length=40)),
                ('start', models.CharField(blank=True, max_length=40)),
                ('files', models.PositiveIntegerField()),
                ('size', models.PositiveBigIntegerField()),
                ('shallow', models.BooleanField()),
                ('left_out', models.TextField(blank=True)),
                ('staged', models.CharField(max_length=32)),
                ('made', models.DateTimeField(default=django.utils.timezone.now)),
                ('mission', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='repository', to='missions.mission')),
            ],
            options={
                'default_permissions': (),
            },
        ),
        OnSchema(install, lift),
    ]
