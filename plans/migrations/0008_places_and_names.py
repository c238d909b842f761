"""What tells of the order of steps and of the names of matters, and the guards of both."""

from django.db import migrations, models

from engine.ledger import immutability
from engine.on_schema import OnSchema
from plans.guards import GUARDS

CHANGED = ("plans_plan", "plans_revision", "plans_matter")


def install(apps, schema_editor):
    immutability.install_triggers(schema_editor.connection, [GUARDS[table] for table in CHANGED])


def lift(apps, schema_editor):
    immutability.remove_triggers(schema_editor.connection, [GUARDS[table] for table in CHANGED])


class Migration(migrations.Migration):
    dependencies = [("plans", "0007_matters_titled")]

    operations = [
        OnSchema(lift, install),
        migrations.AddField(
            model_name="plan", name="matter_name", field=models.CharField(blank=True, max_length=100, null=True)
        ),
        migrations.AddField(model_name="revision", name="places", field=models.JSONField(null=True)),
        OnSchema(install, lift),
    ]
