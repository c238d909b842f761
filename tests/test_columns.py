"""Columns are sealed, or held against what is sealed, or named here as no evidence, with one reason.

Of a run of each kind every column of all tables in which it has a row is changed in turn. Plans, inquiries, gates and
letters, which have more to compare, do the same in tests of their own.
"""

import pytest
from django.apps import apps

from engine.audit.verification import verify_one
from tests.columns import turned
from tests.conftest import EVERYTHING
from tests.contract import played
from tests.databases import tampering

pytestmark = pytest.mark.django_db(transaction=True)

APPS = {"judgement": "judgements", "debate": "debates", "mission": "missions"}
OF_RUNS = ("engine", *APPS.values(), "checking")
OF_EVERY_RUN = {f"engine.{name}" for name in ("Run", "ModelCall", "Entry", "Leaf", "Salt")} | {"runs.SearchText"}
"""Tables in which each run has rows: by day their columns are changed of a judgement."""
QUEUE = "how an engine comes to it and goes on with it, which is over"
NO_EVIDENCE = {
    "engine.Run": {
        **dict.fromkeys(("claimed_at", "claims", "crashes", "deaths", "fence", "host", "lane", "news"), QUEUE),
        **dict.fromkeys(("revision", "wakes_at", "why", "worked", "worker"), QUEUE),
        **dict.fromkeys(("reserved", "reserved_in"), "what was set aside in budgets of today"),
        "spend": "a limit for what it asks: what it has cost is told, and who has allowed more at a gate",
    },
    "engine.ModelCall": {"deadline": "for how long an answer was waited for: when it came is told"},
    "engine.ToolCall": {"made": "when it began and ended is told"},
    "engine.Document": {"made": "when it was submitted is told"},
    "runs.SearchText": {"words": "those that are no labels find it by its texts, and are made of them"},
    "judgements.RoundDecision": {"created": "when its attempt ended is told"},
    "debates.DebateMessage": {"by_id": "its name is told: people are renamed and deleted"},
    "missions.MissionAgent": {"made": "when it was submitted, or by which step it was made, is told"},
    "missions.FileVersion": {"change": "what it was before is told, of one that was there first nothing"},
}
ELSEWHERE = {
    "tests/plans/test_columns.py": ["plans"],
    "tests/inquiries/test_columns.py": ["inquiries"],
    "tests/engine/test_gate_columns.py": ["engine.Gate", "engine.GateDecision"],
    "tests/runs/test_letter_columns.py": ["engine.Letter"],
    "tests/runs/test_shown_columns.py": ["runs.ShareLink", "runs.BadgeLink", "runs.AccessGrant"],
}
NO_TABLES_OF_EVIDENCE = {
    "accounts and sessions of today: what they did is told by name and key": [
        *("auth", "sessions", "admin", "contenttypes", "magi_site"),
    ],
    "the office that agents work in, which is as it is by now": ["office"],
    "what has to be told outside, and did not have to be kept": [
        "engine.RunEvent",
        "runs.WebhookDelivery",
        "engine.Notice",
    ],
    "the rules and limits of today": [
        *(
            "engine.Budget",
            "engine.GateRule",
            "engine.RateBucket",
            "engine.McpTool",
            "engine.Reminder",
            "engine.EmailOptOut",
        ),
        "engine.McpLeftOut",
    ],
    "how engines work together": ["engine.WriterMarker", "engine.Suspension"],
    "how often somebody has looked: the first look of each with an account is noted": [
        "runs.ShareLinkView",
        "runs.GrantView",
    ],
    "what somebody has set up for their own work": [
        "runs.Webhook",
        "runs.SavedSearch",
        "runs.IdempotencyKey",
        "runs.PresetUse",
    ],
}


@pytest.mark.parametrize("name", APPS)
def test_a_change_of_any_column_of_a_run_is_noticed_or_named(name, mira):
    run = played(name, mira)
    assert faults(run) == []
    unseen = []
    with tampering():
        for model in tables_of(name):
            row = model.objects.order_by("-pk").first()
            assert row or model._meta.label not in OF_EVERY_RUN
            for column, change in turned(row) if row else ():
                if column not in NO_EVIDENCE.get(model._meta.label, ()) and not faults(run):
                    unseen.append(f"{model._meta.label}.{column}: {change}")
    assert (unseen, faults(run)) == ([], [])


def test_every_table_belongs_to_runs_or_is_named_as_no_evidence():
    found = {model._meta.label for model in apps.get_models() if model._meta.app_label not in OF_RUNS}
    assert {one for one in found if not {one, one.partition(".")[0]} & named()} == {"runs.SearchText"}


def named():
    return {one for many in (*NO_TABLES_OF_EVIDENCE.values(), *ELSEWHERE.values()) for one in many}


def tables_of(name):
    for model in apps.get_models():
        again = name != "judgement" and model._meta.label in OF_EVERY_RUN and not EVERYTHING
        if model._meta.app_label in ("engine", "runs", APPS[name]) and model._meta.label not in named() and not again:
            yield model


def faults(run):
    return [str(fault) for fault in verify_one(run.pk)[2]]
