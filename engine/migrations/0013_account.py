"""Whose account asked, kept beside the name and sealed with it."""

from django.db import migrations, models

from engine.ledger import immutability
from engine.migrations._aside import around

ASIDE, BACK = around("engine_run", lifted=lambda: [immutability.ENGINE_TABLES["engine_run"]])


class Migration(migrations.Migration):
    dependencies = [("engine", "0012_doctor_permission")]
    operations = [
        ASIDE,
        migrations.AddField("run", "account", models.CharField(blank=True, default="", max_length=40), False),
        BACK,
    ]
