"""The verifier that others run states a second time what a plan may come to: both say the same."""

import asyncio
import json
from copy import deepcopy

import pytest

from engine.models import Gate
from tests.conftest import ScriptedModels, perform
from tests.databases import copied
from tests.plans.offline import entries_of_all, problems
from tests.plans.scenes import LETTER, SUM, SUMMARY, calls, plan, replies, steps, team
from tests.read_gates import decide_as_read
from tests.tools.offline import change, drop

pytestmark = pytest.mark.django_db(transaction=True)

LETTER_TO_ADA = {"to": ["ada@example.org"], "subject": "The sum", "text": "It is 5."}


@pytest.fixture
def entries(mira):
    """Of a plan with a sum and a letter, which was approved by its words."""
    return _entries(mira)


@copied
def _entries(mira):
    models = ScriptedModels()
    models.will("test/planner", steps(SUM, LETTER), SUMMARY)
    models.will("test/sums", calls("figures.calculate", expression="2 + 3"), replies("5."))
    models.will("test/letters", calls("mail.send", **LETTER_TO_ADA), replies("Sent."))
    made = plan(mira, team())
    asyncio.run(perform(made.pk, models))
    decide_as_read(Gate.objects.get(run=made.pk, kind="plan").pk, mira, "approve", "", "all")
    asyncio.run(perform(made.pk, models))
    for gate in Gate.objects.pending().filter(run=made.pk):
        decide_as_read(gate.pk, mira, "approve")
        asyncio.run(perform(made.pk, models))
    return entries_of_all()[str(made.pk)]


def test_an_honest_plan_has_no_problem(entries):
    assert entries[-1]["facts"]["outcome"] == "done"
    assert problems(entries) == []


STEP, USE = "Nobody has approved a step as it was", "Nobody has approved the use of a tool"
FORGERIES = {
    "approval_deleted": (drop("decided", step="step-2"), STEP),
    "gate_and_approval_deleted": (drop("gate", step="step-2"), "It cannot be read"),
    "approval_turned_round": (change("decided", {"step": "step-2"}, "facts", said="reject"), STEP),
    "another_action": (change("plan.step", {"step": 2, "event": ""}, "texts", action="Write it to Ben."), STEP),
    "letter_by_another_word": (
        change("tool", {"tool": "mail.send"}, "texts", arguments=json.dumps(LETTER_TO_ADA | {"text": "It is 6."})),
        USE,
    ),
    "another_tool": (change("tool", {"tool": "mail.send"}, "facts", definition="0" * 64), USE),
    "letter_approved_by_nobody": (drop("decided", step="step-2-0-1"), USE),
    "letter_approved_by_its_author": (change("decided", {"step": "step-2-0-1"}, "facts", authors=["mira"]), USE),
    "gate_of_a_letter_forgotten": (change("tool", {"tool": "mail.send"}, "facts", gate=7), USE),
    "nobody_was_asked": (
        change("plan.step", {"step": 2, "event": "approve"}, "facts", event="passed"),
        "A step did not",
    ),
    "step_begun_twice": (change("plan.step", {"event": "reply", "step": 1}, "facts", event="begin"), "A step did not"),
    "another_outcome": (change("ended", {}, "facts", outcome="failed"), "The outcome does not follow"),
    "ended_by_somebody": (change("decided", {"step": "plan-1"}, "facts", choice="end"), "The outcome does not follow"),
}


def test_each_forgery_is_a_problem(entries):
    found = {name: problems(forge(deepcopy(entries))) for name, (forge, _) in FORGERIES.items()}
    assert {name: said for name, said in found.items() if FORGERIES[name][1] not in str(said)} == {}


def test_what_was_erased_is_no_problem(entries):
    for one in entries:
        one["texts"] = {}
    assert problems(entries) == []
