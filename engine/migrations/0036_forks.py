"""Runs that go on from a step, or a message, of another one."""

import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models

from engine.ledger import immutability
from engine.on_schema import OnSchema


def guard(apps, schema_editor):
    immutability.install_triggers(schema_editor.connection, [immutability.ENGINE_TABLES["engine_fork"]])


def unguard(apps, schema_editor):
    immutability.remove_triggers(schema_editor.connection, [immutability.ENGINE_TABLES["engine_fork"]])


class Migration(migrations.Migration):
    dependencies = [("engine", "0035_answered_of_a_model")]

    operations = [
        migrations.CreateModel(
            name="Fork",
            fields=[
                (
                    "run",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT,
                        primary_key=True,
                        related_name="fork",
                        serialize=False,
                        to="engine.run",
                    ),
                ),
                (
                    "origin",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="forks", to="engine.run"
                    ),
                ),
                ("number", models.PositiveIntegerField()),
                ("entry", models.PositiveIntegerField()),
                ("hash", models.CharField(max_length=64)),
                ("state", models.CharField(blank=True, max_length=64)),
                ("made", models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={"default_permissions": ()},
        ),
        OnSchema(guard, unguard),
    ]
