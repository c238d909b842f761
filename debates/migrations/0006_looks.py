"""Whoever looks at what members said alone before its time is on record."""

from django.db import migrations, models

from debates.guards import GUARDS
from engine.ledger import immutability
from engine.on_schema import OnSchema

ACTS = ("ask", "extend", "close", "close_at_once", "end", "recall", "give_up", "withdraw", "look")


def install(apps, schema_editor):
    immutability.install_triggers(schema_editor.connection, [GUARDS["debates_steer"]])


def lift(apps, schema_editor):
    immutability.remove_triggers(schema_editor.connection, [GUARDS["debates_steer"]])


class Migration(migrations.Migration):
    dependencies = [("debates", "0005_starts")]

    operations = [
        OnSchema(lift, install),
        migrations.AlterModelOptions(
            name="debate",
            options={
                "default_permissions": (),
                "permissions": (("look_at_firsts", "Can look at what members said alone while a person has a seat"),),
            },
        ),
        migrations.RemoveConstraint(model_name="steer", name="steer_known"),
        migrations.AddConstraint(
            model_name="steer",
            constraint=models.CheckConstraint(name="steer_known", condition=models.Q(act__in=list(ACTS))),
        ),
        OnSchema(install, lift),
    ]
