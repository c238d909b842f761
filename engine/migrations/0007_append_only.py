"""Evidence is only added: the database itself refuses everything else."""

from django.db import migrations

from engine.ledger import immutability
from engine.on_schema import OnSchema

TABLES = ("engine_entry", "engine_leaf", "engine_checkpoint", "engine_salt", "engine_run", "engine_modelcall")


def guard(apps, schema_editor):
    immutability.install_function(schema_editor.connection)
    immutability.install_triggers(schema_editor.connection, [immutability.ENGINE_TABLES[table] for table in TABLES])


def unguard(apps, schema_editor):
    immutability.remove_triggers(schema_editor.connection, [immutability.ENGINE_TABLES[table] for table in TABLES])


class Migration(migrations.Migration):
    dependencies = [("engine", "0006_names")]
    operations = [OnSchema(guard, unguard)]
