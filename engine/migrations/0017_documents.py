"""What is attached to runs: evidence, from its submission on."""

import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models

from engine.ledger import immutability
from engine.on_schema import OnSchema

GUARD = immutability.ENGINE_TABLES["engine_document"]


def guard(apps, schema_editor):
    immutability.install_triggers(schema_editor.connection, [GUARD])


def unguard(apps, schema_editor):
    immutability.remove_triggers(schema_editor.connection, [GUARD])


class Migration(migrations.Migration):
    dependencies = [("engine", "0016_waiting")]
    operations = [
        migrations.CreateModel(
            name="Document",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("number", models.PositiveSmallIntegerField()),
                ("title", models.CharField(blank=True, max_length=120)),
                (
                    "kind",
                    models.CharField(
                        choices=[("text", "Text"), ("markdown", "Markdown"), ("csv", "CSV"), ("pdf", "PDF")],
                        max_length=10,
                    ),
                ),
                ("text", models.TextField(blank=True)),
                ("digest", models.CharField(blank=True, max_length=64)),
                ("made", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "run",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="documents",
                        to="engine.run",
                    ),
                ),
            ],
            options={
                "ordering": ["number"],
                "default_permissions": (),
                "constraints": [models.UniqueConstraint("run", "number", name="one_document_per_number")],
            },
        ),
        OnSchema(guard, unguard),
    ]
