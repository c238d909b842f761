"""Missions that are over are found by what makes them worth a look, as those that come are."""

from django.db import migrations
from django.db.models import Value
from django.db.models.functions import Concat

from engine.text.search_terms import label_term


def find(apps, schema_editor):
    mission, tool = apps.get_model("missions", "Mission"), apps.get_model("engine", "ToolCall").objects
    over = mission.objects.exclude(run__outcome="")
    calls = apps.get_model("engine", "ModelCall").objects
    decisions = apps.get_model("engine", "GateDecision").objects
    published = tool.filter(tool="publish_commit", status="done")
    known = {
        "follows": mission.objects.filter(follows__isnull=False),
        "refused": over.filter(pk__in=decisions.filter(decision="reject").values("gate__run")),
        "cut": over.filter(terminals__reason="cut"),
        "resumed": over.filter(pk__in=calls.filter(status="interrupted").values("run")),
        "limit": over.filter(steps__last=True),
        "summarised": over.filter(pk__in=calls.filter(step__startswith="summary.", status="answered").values("run")),
        "published": over.filter(pk__in=published.values("run")),
    }
    texts = apps.get_model("runs", "SearchText").objects
    for flag, missions in known.items():
        words = Concat("words", Value(f" {label_term('flag', flag)}"))
        texts.filter(run__in=list(missions.distinct().values_list("pk", flat=True))).update(words=words)


class Migration(migrations.Migration):
    dependencies = [("missions", "0006_ready_made_crews"), ("runs", "0005_hooks"), ("engine", "0026_happenings")]
    operations = [migrations.RunPython(find, migrations.RunPython.noop)]
