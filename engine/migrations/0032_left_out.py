"""What a prompt leaves out for which its model has no room."""

from django.db import migrations, models

from engine.evidence import guards
from engine.migrations._aside import around

CHANGED = "engine_modelcall"
ASIDE, BACK = around(CHANGED, lifted=lambda: [guards.GUARDS[CHANGED]])


class Migration(migrations.Migration):
    dependencies = [("engine", "0031_patience")]

    operations = [
        ASIDE,
        migrations.AddField("modelcall", "left_out", models.TextField(blank=True, db_default="")),
        BACK,
    ]
