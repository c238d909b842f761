"""Customs of a workspace and of a crew."""

from django.db import migrations, models

from engine.ledger import immutability
from engine.on_schema import OnSchema
from missions.guards import GUARDS

TABLES = ("missions_mission", "missions_crewversion")


def install(apps, schema_editor):
    immutability.install_triggers(schema_editor.connection, [GUARDS[table] for table in TABLES])


def lift(apps, schema_editor):
    immutability.remove_triggers(schema_editor.connection, [GUARDS[table] for table in TABLES])


class Migration(migrations.Migration):
    dependencies = [("missions", "0009_forks")]

    operations = [
        OnSchema(lift, install),
        migrations.AddField("mission", "customs", models.TextField(blank=True, db_default="")),
        migrations.AddField("crewversion", "customs", models.TextField(blank=True, db_default="")),
        OnSchema(install, lift),
    ]
