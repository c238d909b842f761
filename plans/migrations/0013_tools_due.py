"""A changed action has its tools named again before anybody is asked about it."""

from django.db import migrations, models

from engine.migrations._aside import around
from plans.guards import GUARDS

# guards of moves and states look into this table
ASIDE, BACK = around("plans_step", lifted=lambda: [GUARDS["plans_step"]])


class Migration(migrations.Migration):
    dependencies = [("plans", "0012_authors")]

    operations = [
        ASIDE,
        migrations.AddField(model_name="step", name="tools_due", field=models.BooleanField(default=False)),
        BACK,
    ]
