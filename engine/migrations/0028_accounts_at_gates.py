"""Whom a gate asks and who decided there, by the keys of their accounts beside their names; older rows do not say."""

from django.db import migrations, models

from engine.ledger import immutability
from engine.migrations._aside import around

CHANGED = ("engine_gate", "engine_gatedecision")
ASIDE, BACK = around(*CHANGED, lifted=lambda: [immutability.ENGINE_TABLES[table] for table in CHANGED])


class Migration(migrations.Migration):
    dependencies = [("engine", "0027_authors")]

    operations = [
        ASIDE,
        migrations.AddField("gate", "asked_account", models.CharField(blank=True, max_length=40, null=True)),
        migrations.AddField("gatedecision", "account", models.CharField(blank=True, max_length=40, null=True)),
        BACK,
    ]
