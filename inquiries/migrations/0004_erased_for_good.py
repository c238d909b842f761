"""What was erased is written by nobody again."""

from django.db import migrations

from engine.ledger import immutability
from engine.on_schema import OnSchema
from inquiries.guards import GUARDS


def install(apps, schema_editor):
    immutability.install_triggers(schema_editor.connection, [GUARDS["inquiries_inquiry"]])


class Migration(migrations.Migration):
    dependencies = [("inquiries", "0003_critics")]

    operations = [OnSchema(install, migrations.RunPython.noop)]
