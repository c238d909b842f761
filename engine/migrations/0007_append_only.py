"""Evidence is only added: the database itself refuses everything else."""

from django.db import migrations

from engine.evidence import guards
from engine.on_schema import OnSchema

TABLES = ("engine_entry", "engine_leaf", "engine_checkpoint", "engine_salt", "engine_run", "engine_modelcall")


def guard(apps, schema_editor):
    guards.install_function(schema_editor.connection)
    guards.install(schema_editor.connection, [guards.GUARDS[table] for table in TABLES])


def unguard(apps, schema_editor):
    guards.lift(schema_editor.connection, [guards.GUARDS[table] for table in TABLES])


class Migration(migrations.Migration):
    dependencies = [("engine", "0006_names")]
    operations = [OnSchema(guard, unguard)]
