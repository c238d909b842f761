"""Whoever changed a step is known by a key, too: under another name it is the same person."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models
from django.db.models import OuterRef, Subquery

from engine.ledger import immutability
from engine.on_schema import OnSchema
from plans.guards import GUARDS

CHANGED = "plans_stepstate"


def install(apps, schema_editor):
    immutability.install_triggers(schema_editor.connection, [GUARDS[CHANGED]])


def lift(apps, schema_editor):
    immutability.remove_triggers(schema_editor.connection, [GUARDS[CHANGED]])


def find(apps, schema_editor):
    """Those of older rows, as they are called now."""
    user = apps.get_model(*settings.AUTH_USER_MODEL.split(".")).objects.filter(username=OuterRef("by_name"))
    changed = apps.get_model("plans", "StepState").objects.filter(event="changed").exclude(by_name="")
    changed.update(by_user=Subquery(user.values("pk")[:1]))
    if schema_editor.connection.vendor == "postgresql":  # it makes no trigger while rows are still to be looked at
        schema_editor.execute("SET CONSTRAINTS ALL IMMEDIATE")


class Migration(migrations.Migration):
    dependencies = [("plans", "0009_erased_for_good"), migrations.swappable_dependency(settings.AUTH_USER_MODEL)]

    operations = [
        OnSchema(lift, install),
        migrations.AddField(
            model_name="stepstate",
            name="by_user",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.RunPython(find, migrations.RunPython.noop),
        OnSchema(install, lift),
    ]
