"""Whose account asked, kept beside the name and sealed with it."""

from django.db import migrations, models

from engine.evidence import guards

GUARD = guards.GUARDS["engine_run"]
aside: list[str] = []


def put_aside(apps, schema_editor):
    aside.extend(guards.put_aside(schema_editor.connection, GUARD.table))
    guards.lift(schema_editor.connection, [GUARD])


def put_back(apps, schema_editor):
    while aside:
        schema_editor.execute(aside.pop())
    guards.install(schema_editor.connection, [GUARD])


class Migration(migrations.Migration):
    dependencies = [("engine", "0012_doctor_permission")]
    operations = [
        migrations.RunPython(put_aside, put_back),
        migrations.AddField("run", "account", models.CharField(blank=True, default="", max_length=40), False),
        migrations.RunPython(put_back, put_aside),
    ]
