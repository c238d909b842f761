"""What people say of runs. An installation that said it of one procedure's only has the table already."""

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

from engine.ledger import immutability
from engine.migrations._taking_over import TakeOver
from engine.on_schema import OnSchema

GUARD = immutability.ENGINE_TABLES["engine_review"]


def guard(apps, schema_editor):
    immutability.install_triggers(schema_editor.connection, [GUARD])


def unguard(apps, schema_editor):
    immutability.remove_triggers(schema_editor.connection, [GUARD])


class Migration(migrations.Migration):
    dependencies = [("engine", "0014_run_columns"), migrations.swappable_dependency(settings.AUTH_USER_MODEL)]
    operations = [
        TakeOver(
            name="Review",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("by", models.CharField(max_length=150)),
                ("made", models.DateTimeField(default=django.utils.timezone.now)),
                ("kind", models.CharField(choices=[("note", "Note"), ("override", "Override")], max_length=8)),
                ("outcome", models.CharField(max_length=60, null=True)),
                ("text", models.TextField(max_length=4000)),
                (
                    "author",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="reviews", to="engine.run"
                    ),
                ),
            ],
            options={"ordering": ["pk"]},
        ),
        OnSchema(guard, unguard),
    ]
