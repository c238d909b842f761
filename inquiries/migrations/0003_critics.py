"""Critics that are persons and councils, and the gates at which they decided."""

import django.db.models.deletion
from django.db import migrations, models

from engine.ledger import immutability
from engine.on_schema import OnSchema
from inquiries.guards import GUARDS

CHANGED = ("inquiries_order", "inquiries_post")
KINDS = [("model", "Model"), ("person", "Person"), ("council", "Council")]


def install(apps, schema_editor):
    immutability.install_triggers(schema_editor.connection, [GUARDS[table] for table in CHANGED])


def lift(apps, schema_editor):
    immutability.remove_triggers(schema_editor.connection, [GUARDS[table] for table in CHANGED])


class Migration(migrations.Migration):
    dependencies = [("engine", "0025_gates_in_order"), ("inquiries", "0002_guards_and_passages")]

    operations = [
        OnSchema(lift, install),
        migrations.AddField(
            model_name="order",
            name="gate",
            field=models.OneToOneField(
                null=True, on_delete=django.db.models.deletion.PROTECT, related_name="+", to="engine.gate"
            ),
        ),
        migrations.AddField(model_name="post", name="council", field=models.CharField(blank=True, max_length=100)),
        migrations.AddField(model_name="post", name="hours", field=models.PositiveSmallIntegerField(null=True)),
        migrations.AlterField(
            model_name="post", name="kind", field=models.CharField(choices=KINDS, default="model", max_length=10)
        ),
        OnSchema(install, lift),
    ]
