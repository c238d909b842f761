"""A chain may belong to something that is no run: the database asks no longer whether there is such a run."""

import django.db.models.deletion
from django.db import migrations, models

from engine.evidence import guards

aside: list[str] = []


def put_aside(apps, schema_editor):
    aside.extend(guards.put_aside(schema_editor.connection, "engine_entry", "engine_leaf"))


def put_back(apps, schema_editor):
    while aside:
        schema_editor.execute(aside.pop())


def key(**values):
    return models.ForeignKey(
        db_constraint=False, on_delete=django.db.models.deletion.PROTECT, to="engine.run", **values
    )


class Migration(migrations.Migration):
    dependencies = [("engine", "0008_run_permissions")]
    operations = [
        migrations.RunPython(put_aside, put_back),
        migrations.AlterField("entry", "run", key(db_index=False, related_name="entries")),
        migrations.AlterField("leaf", "run", key(related_name="leaves")),
        migrations.RunPython(put_back, put_aside),
    ]
