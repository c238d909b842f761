"""What was erased is written by nobody again."""

from django.db import migrations

from engine.evidence import guards
from engine.on_schema import OnSchema
from plans.guards import GUARDS


def install(apps, schema_editor):
    guards.install(schema_editor.connection, [GUARDS["plans_plan"]])


class Migration(migrations.Migration):
    dependencies = [("plans", "0008_places_and_names")]

    operations = [OnSchema(install, migrations.RunPython.noop)]
