"""Whose words came into a run, and into what its gates ask."""

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

from engine.ledger import immutability
from engine.migrations._aside import around
from engine.on_schema import OnSchema

CHANGED = "engine_gatedecision"
NEW = ("engine_runauthor", "engine_gateauthor")
ASIDE, BACK = around(CHANGED, lifted=lambda: [immutability.ENGINE_TABLES[CHANGED]])
OF_DECISIONS = """
INSERT INTO engine_runauthor (run_id, user_id, name, part, place, made)
SELECT gate.run_id, said.by_user_id, said."by", 'said', '', MIN(said.made)
FROM engine_gatedecision said
JOIN engine_gate gate ON gate.id = said.gate_id
JOIN engine_run run ON run.id = gate.run_id
WHERE run.status NOT IN ('finished', 'cancelled') AND said.by_user_id IS NOT NULL
  AND (said.text <> '' OR said.answer <> '')
GROUP BY gate.run_id, said.by_user_id, said."by"
"""


def guard(apps, schema_editor):
    immutability.install_triggers(schema_editor.connection, [immutability.ENGINE_TABLES[table] for table in NEW])


def unguard(apps, schema_editor):
    immutability.remove_triggers(schema_editor.connection, [immutability.ENGINE_TABLES[table] for table in NEW])


def find(apps, schema_editor):
    """In runs that may still ask: who said more than yes or no."""
    schema_editor.execute(OF_DECISIONS)


class Migration(migrations.Migration):
    dependencies = [("engine", "0026_happenings"), migrations.swappable_dependency(settings.AUTH_USER_MODEL)]

    operations = [
        ASIDE,
        migrations.AddField("gatedecision", "authors", models.JSONField(default=list)),
        migrations.CreateModel(
            name="RunAuthor",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=150)),
                (
                    "part",
                    models.CharField(
                        choices=[
                            ("said", "said something to it"),
                            ("answered", "answered a question of it"),
                            ("changes", "asked for changes"),
                            ("changed", "changed its text"),
                        ],
                        max_length=10,
                    ),
                ),
                ("place", models.CharField(blank=True, max_length=80)),
                ("made", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "run",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="authors", to="engine.run"
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={"ordering": ["pk"], "default_permissions": ()},
        ),
        migrations.CreateModel(
            name="GateAuthor",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "author",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="engine.runauthor"
                    ),
                ),
                (
                    "gate",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="authors", to="engine.gate"
                    ),
                ),
            ],
            options={
                "ordering": ["pk"],
                "default_permissions": (),
                "constraints": [
                    models.UniqueConstraint(fields=["gate", "author"], name="one_author_of_a_gate"),
                ],
            },
        ),
        BACK,
        OnSchema(guard, unguard),
        OnSchema(find, OnSchema.noop),
    ]
