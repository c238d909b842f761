"""What was erased is written by nobody again."""

from django.db import migrations

from engine.ledger import immutability
from engine.on_schema import OnSchema
from plans.guards import GUARDS


def install(apps, schema_editor):
    immutability.install_triggers(schema_editor.connection, [GUARDS["plans_plan"]])


class Migration(migrations.Migration):
    dependencies = [("plans", "0008_places_and_names")]

    operations = [OnSchema(install, migrations.RunPython.noop)]
