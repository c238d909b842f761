"""What a prompt leaves out for which its model has no room."""

from django.db import migrations, models

from engine.ledger import immutability
from engine.migrations._aside import around

CHANGED = "engine_modelcall"
ASIDE, BACK = around(CHANGED, lifted=lambda: [immutability.ENGINE_TABLES[CHANGED]])


class Migration(migrations.Migration):
    dependencies = [("engine", "0031_patience")]

    operations = [
        ASIDE,
        migrations.AddField("modelcall", "left_out", models.TextField(blank=True, db_default="")),
        BACK,
    ]
