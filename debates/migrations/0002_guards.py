from django.db import migrations

from debates.guards import GUARDS
from engine.evidence import guards
from engine.on_schema import OnSchema


def install(apps, schema_editor):
    guards.install(schema_editor.connection, GUARDS.values())


def lift(apps, schema_editor):
    guards.lift(schema_editor.connection, GUARDS.values())


class Migration(migrations.Migration):
    dependencies = [("debates", "0001_initial"), ("engine", "0015_reviews")]
    operations = [OnSchema(install, lift)]
