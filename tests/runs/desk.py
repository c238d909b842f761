"""What reviewers have before them in the admin, and how they look at it."""

import re
from datetime import datetime

from django.urls import reverse

from engine.llm.errors import Unauthorized
from judgements.models import JudgementFlag
from runs.models import SearchText
from tests.conftest import ScriptedModels, founded, person
from tests.conftest import judged as judged_by
from tests.judgements.test_history import judged


def page_of(judgement):
    return reverse("admin:judgements_judgement_change", args=[judgement.pk])


def make_failed():
    models = ScriptedModels()
    models.will("openai/c", "prose, not JSON", "approve", Unauthorized("The key was refused.", raw="HTTP 401 body"))
    return judged_by(person("mira"), models)


def titles(client, **asked):
    """The titles in the list, in their order, and its whole page."""
    html = client.get(reverse("admin:judgements_judgement_changelist"), asked).content.decode()
    return re.findall(r'<th class="field-shown_title"><a [^>]*>([^<]*)</a>', html), html


def stand(owner, title, votes="AAR", created=None, **more):
    if created:
        more["start"] = datetime.fromisoformat(f"{created}T12:00:00+00:00")
    return judged(owner, title, votes, **more)


def make_several():
    mira, noor, council = person("mira"), person("noor"), founded()
    oldest = stand(mira, "Ship", "RRR", "2024-12-31")
    stand(noor, "Refund", "AAR", "2025-02-28", council=council.current)
    stand(mira, "Travel", "AAA", "2026-11-02")
    SearchText.objects.flag(oldest.pk, JudgementFlag.SWAYED)
    return ["Travel", "Refund", "Ship"]


def steer(client, action, *judgements):
    url = reverse("admin:judgements_judgement_changelist")
    answer = client.post(url, {"action": action, "_selected_action": [j.pk for j in judgements]}, follow=True)
    return answer.content.decode()
