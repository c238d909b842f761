"""Evidence is only added: the database itself refuses everything else."""

from django.db import migrations

from engine import append_only

TABLES = ("engine_entry", "engine_leaf", "engine_checkpoint", "engine_salt", "engine_run", "engine_modelcall")


def guard(apps, schema_editor):
    append_only.install_function(schema_editor.connection)
    append_only.install(schema_editor.connection, [append_only.GUARDS[table] for table in TABLES])


def unguard(apps, schema_editor):
    append_only.lift(schema_editor.connection, [append_only.GUARDS[table] for table in TABLES])


class Migration(migrations.Migration):
    dependencies = [("engine", "0006_names")]
    operations = [migrations.RunPython(guard, unguard)]
