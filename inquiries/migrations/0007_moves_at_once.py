"""One answer of who works with tools may bring several moves."""

import django.db.models.deletion
from django.db import migrations, models

from engine.ledger import immutability
from engine.on_schema import OnSchema
from inquiries.guards import GUARDS


def lift(apps, schema_editor):
    immutability.remove_triggers(schema_editor.connection, [GUARDS["inquiries_move"]])


def install(apps, schema_editor):
    immutability.install_triggers(schema_editor.connection, [GUARDS["inquiries_move"]])


class Migration(migrations.Migration):
    dependencies = [("inquiries", "0006_rosters")]

    operations = [
        OnSchema(lift, install),
        migrations.AlterField(
            model_name="move",
            name="call",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="+", to="engine.modelcall"
            ),
        ),
        OnSchema(install, lift),
    ]
