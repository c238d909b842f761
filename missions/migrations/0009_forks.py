"""What a mission has from the one that it was forked from."""

import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models

from engine.ledger import immutability
from engine.on_schema import OnSchema
from missions.guards import GUARDS


def guard(apps, schema_editor):
    immutability.install_triggers(schema_editor.connection, [GUARDS["missions_carriedstep"]])


def unguard(apps, schema_editor):
    immutability.remove_triggers(schema_editor.connection, [GUARDS["missions_carriedstep"]])


class Migration(migrations.Migration):
    dependencies = [("missions", "0008_repositories"), ("engine", "0036_forks")]

    operations = [
        migrations.CreateModel(
            name="CarriedStep",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("number", models.PositiveSmallIntegerField()),
                ("reasoning", models.TextField(blank=True)),
                ("tool", models.CharField(blank=True, max_length=120)),
                ("args", models.TextField(blank=True)),
                ("heard", models.PositiveIntegerField()),
                ("ok", models.BooleanField(default=False)),
                ("result", models.TextField(blank=True)),
                ("made", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "agent",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="carried", to="missions.agent"
                    ),
                ),
                (
                    "mission",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="carried", to="missions.mission"
                    ),
                ),
            ],
            options={
                "ordering": ["pk"],
                "default_permissions": (),
                "constraints": [models.UniqueConstraint("agent", "number", name="one_carried_step_of_a_number")],
            },
        ),
        OnSchema(guard, unguard),
    ]
