"""What a request asked for beside its words, what the endpoint said of itself, and which questions wait for a provider.

A request that found its provider away is made again under its number.
"""

import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models
from django.db.models import Q

from engine.ledger import immutability
from engine.migrations._aside import around

CHANGED = "engine_modelcall"
ASIDE, BACK = around(CHANGED, lifted=lambda: [immutability.ENGINE_TABLES[CHANGED]])
ATTEMPT = ["run", "step", "series", "attempt"]


class Migration(migrations.Migration):
    dependencies = [("engine", "0030_part_of_an_earlier_run")]

    operations = [
        ASIDE,
        migrations.AddField("modelcall", "parameters", models.TextField(blank=True, db_default="")),
        migrations.AddField("modelcall", "fingerprint", models.CharField(blank=True, db_default="", max_length=200)),
        migrations.RemoveConstraint("modelcall", "one_row_per_attempt"),
        migrations.AddConstraint(
            "modelcall",
            models.UniqueConstraint(
                fields=ATTEMPT,
                condition=~Q(status="interrupted") & ~Q(error_code="format_refused") & ~Q(error_code="away"),
                name="one_row_per_attempt",
            ),
        ),
        BACK,
        migrations.CreateModel(
            name="ModelWait",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("step", models.CharField(max_length=80)),
                ("fence", models.BigIntegerField()),
                ("provider", models.CharField(max_length=80)),
                ("since", models.DateTimeField(default=django.utils.timezone.now)),
                ("away", models.DateTimeField(null=True)),
                ("said", models.TextField(blank=True)),
                (
                    "run",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="waits", to="engine.run"
                    ),
                ),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=["run", "step"], name="one_wait_of_a_step")],
            },
        ),
    ]
