"""A changed action has its tools named again before anybody is asked about it."""

from django.db import migrations, models

from engine.evidence import guards
from engine.on_schema import OnSchema
from plans.guards import GUARDS

STEP = "plans_step"


def install(apps, schema_editor):
    guards.install(schema_editor.connection, [GUARDS[STEP]])


def lift(apps, schema_editor):
    guards.lift(schema_editor.connection, [GUARDS[STEP]])


class Migration(migrations.Migration):
    dependencies = [("plans", "0012_authors")]

    operations = [
        OnSchema(lift, install),
        migrations.AddField(model_name="step", name="tools_due", field=models.BooleanField(default=False)),
        OnSchema(install, lift),
    ]
