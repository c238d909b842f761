"""A chain may belong to something that is no run: the database asks no longer whether there is such a run."""

import django.db.models.deletion
from django.db import migrations, models

from engine.migrations._aside import around

ASIDE, BACK = around("engine_entry", "engine_leaf")


def key(**values):
    return models.ForeignKey(
        db_constraint=False, on_delete=django.db.models.deletion.PROTECT, to="engine.run", **values
    )


class Migration(migrations.Migration):
    dependencies = [("engine", "0008_run_permissions")]
    operations = [
        ASIDE,
        migrations.AlterField("entry", "run", key(db_index=False, related_name="entries")),
        migrations.AlterField("leaf", "run", key(related_name="leaves")),
        BACK,
    ]
