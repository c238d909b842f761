"""A digest of the idempotency key and the request that a judgement came with, sealed with it."""

import django.db.models.deletion
from django.db import migrations, models

from engine.migrations._aside import around
from judgements.guards import GUARDS

ASIDE, BACK = around("judgements_judgement", lifted=lambda: [GUARDS["judgements_judgement"]])


class Migration(migrations.Migration):
    dependencies = [("judgements", "0019_council_changes"), ("engine", "0013_account")]
    operations = [
        ASIDE,
        migrations.AddField("judgement", "request", models.CharField(blank=True, default="", max_length=64), False),
        BACK,
        migrations.AlterField(
            "idempotencykey",
            "judgement",
            models.OneToOneField(
                on_delete=django.db.models.deletion.CASCADE, related_name="request_key", to="judgements.judgement"
            ),
        ),
    ]
