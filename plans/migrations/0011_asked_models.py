"""Which models a plan asks is a row of its own: what the installation's default one is may change meanwhile."""

import json

from django.conf import settings
from django.db import migrations, models

from engine.ledger import immutability
from engine.on_schema import OnSchema
from plans.guards import GUARDS

CHANGED = "plans_plan"


def install(apps, schema_editor):
    immutability.install_triggers(schema_editor.connection, [GUARDS[CHANGED]])


def lift(apps, schema_editor):
    immutability.remove_triggers(schema_editor.connection, [GUARDS[CHANGED]])


def fill(apps, schema_editor):
    """As it was sealed when it was submitted, where that is what its team has; otherwise as it was worked out so far,
    by the default model of now, and what was changed stays to be seen."""
    entry, plan = apps.get_model("engine", "Entry"), apps.get_model("plans", "Plan")
    for one in plan.objects.select_related("team_version").order_by("pk").iterator(chunk_size=200):
        named = [one.team_version.planner, *one.team_version.agents.order_by("seat").values_list("model", flat=True)]
        line = entry.objects.filter(run=one.pk, seq=1, kind="submitted").values_list("line", flat=True).first()
        sealed = _sealed(line)
        if len(sealed) == len(named) and all(was == now for was, now in zip(sealed, named, strict=True) if now):
            asked = sealed
        else:
            asked = [model or settings.DEFAULT_MODEL for model in named]
        plan.objects.filter(pk=one.pk).update(asked_models=asked)


def _sealed(line):
    try:
        found = json.loads(line)["facts"]["models"] if line else []
    except (ValueError, KeyError, TypeError):
        return []
    return found if isinstance(found, list) and all(isinstance(one, str) for one in found) else []


class Migration(migrations.Migration):
    dependencies = [("plans", "0010_editors_by_key"), ("engine", "0026_happenings")]

    operations = [
        OnSchema(lift, install),
        migrations.AddField(model_name="plan", name="asked_models", field=models.JSONField(null=True)),
        migrations.RunPython(fill, migrations.RunPython.noop),
        migrations.AlterField(model_name="plan", name="asked_models", field=models.JSONField()),
        OnSchema(install, lift),
    ]
