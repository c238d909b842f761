"""Evidence is only added: the database itself refuses everything else."""

from django.db import migrations

from engine.ledger import immutability
from engine.on_schema import OnSchema
from judgements.guards import GUARDS

# that of receipts names columns which come later, and is installed with them
TABLES = (
    "judgements_judgement",
    "judgements_agent",
    "judgements_rounddecision",
    "judgements_councilversion",
    "judgements_member",
)


def guard(apps, schema_editor):
    immutability.install_triggers(schema_editor.connection, [GUARDS[table] for table in TABLES])


def unguard(apps, schema_editor):
    immutability.remove_triggers(schema_editor.connection, [GUARDS[table] for table in TABLES])


class Migration(migrations.Migration):
    dependencies = [("judgements", "0013_judgements_with_texts"), ("engine", "0007_append_only")]
    operations = [OnSchema(guard, unguard)]
