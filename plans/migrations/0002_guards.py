from django.db import migrations

from engine.ledger import immutability
from engine.on_schema import OnSchema
from plans.guards import GUARDS


def install(apps, schema_editor):
    immutability.install_triggers(schema_editor.connection, GUARDS.values())


def lift(apps, schema_editor):
    immutability.remove_triggers(schema_editor.connection, GUARDS.values())


class Migration(migrations.Migration):
    dependencies = [("plans", "0001_initial"), ("engine", "0015_reviews")]
    operations = [OnSchema(install, lift)]
