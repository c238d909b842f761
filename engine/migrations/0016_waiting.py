"""A run may be let go of while it waits, and what happened in it is sealed then."""

import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models

from engine.ledger import immutability
from engine.migrations._aside import around

ASIDE, BACK = around(
    "engine_run",
    "engine_entry",
    lifted=lambda: [immutability.ENGINE_TABLES[table] for table in ("engine_run", "engine_entry", "engine_park")],
)


class Migration(migrations.Migration):
    dependencies = [("engine", "0015_reviews")]
    operations = [
        ASIDE,
        migrations.AddField("run", "why", models.CharField(blank=True, db_default="", max_length=300)),
        migrations.AddField("run", "claimed_at", models.DateTimeField(null=True)),
        migrations.AlterField("entry", "kind", models.CharField(max_length=40)),
        migrations.CreateModel(
            name="Park",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("made", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "run",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="parks", to="engine.run"
                    ),
                ),
            ],
            options={"ordering": ["pk"]},
        ),
        BACK,
    ]
