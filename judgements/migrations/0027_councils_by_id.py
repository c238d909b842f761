"""Policies mean councils by their ids. What each name has meant so far is kept, for policies that never change.

A name that several councils have had means none of them: who wrote it cannot be known any more.
"""

from collections import defaultdict

import django.db.models.deletion
from django.db import migrations, models

from engine.ledger import immutability
from engine.on_schema import OnSchema
from judgements.guards import GUARDS

TABLE = "judgements_earliercouncilname"


def guard(apps, schema_editor):
    immutability.install_triggers(schema_editor.connection, [GUARDS[TABLE]])


def unguard(apps, schema_editor):
    immutability.remove_triggers(schema_editor.connection, [GUARDS[TABLE]])


def keep(apps, schema_editor):
    had = defaultdict(set)
    versions = apps.get_model("judgements", "CouncilVersion").objects
    for name, council in versions.order_by("council", "number").values_list("name", "council"):
        had[name].add(council)
    meant = {name: min(councils) for name, councils in had.items() if len(councils) == 1}
    earlier = apps.get_model("judgements", "EarlierCouncilName")
    earlier.objects.bulk_create(earlier(name=name, council_id=council) for name, council in meant.items())
    for rule in apps.get_model("engine", "GateRule").objects.exclude(council=""):
        rule.council_id = meant.get(rule.council)
        rule.save(update_fields=["council_id"])


class Migration(migrations.Migration):
    dependencies = [("judgements", "0026_leaving_review"), ("engine", "0029_councils_by_id")]

    operations = [
        migrations.CreateModel(
            name="EarlierCouncilName",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=60, unique=True)),
                (
                    "council",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="judgements.council"
                    ),
                ),
            ],
            options={"default_permissions": ()},
        ),
        OnSchema(guard, unguard),
        migrations.RunPython(keep, migrations.RunPython.noop),
    ]
