"""Each column of each row of a plan is changed in turn: the site's verification notices it, and so does the program of
auditors, or it is named as nothing that is evidence."""

import asyncio
from collections import Counter

import pytest
from django.apps import apps

from engine.audit.verification import verify_one
from engine.ledger import signing
from engine.models import Gate
from plans import comments
from plans.models import Plan, PlanStep, PlanStepMove, PlanStepState, Team
from plans.models.presets import TEAMS, TeamAgentRow, TeamChange, TeamVersion
from runs.record.document import record_lines
from tests.columns import faults, turned
from tests.conftest import perform
from tests.databases import tampering
from tests.plans.scenes import LETTER, SUM, SUMMARY, calls, move, plan, replies, steps, team
from tests.read_gates import decide_as_read
from tests.tools.offline import verifier

pytestmark = pytest.mark.django_db(transaction=True)

NO_EVIDENCE = {
    "plans_sent": "what a token was sent last, which decides nothing by itself",
    "plans_told": "numbers in a stream of events that are made of what is evidence",
}
NOT_NOTICED = {
    ("project", "title"): "what its owner calls it",
    ("project", "created"): "held against its first plan, and a second is within what that takes",
    ("team", "created"): "its first change is told, with its time",
    ("teamversion", "created"): "the change that it came with is told, with its time",
    ("teamversion", "author_id"): "the change that it came with is told, with a name: people are renamed and deleted",
    ("teamagentrow", "seat"): "told is in which order they sit",
    ("planstepstate", "by_user_id"): "told is the name: people are renamed and deleted",
    ("planstepmove", "settled"): "told of calls and questions; a reply is settled as it is made",
}
NOT_OUTSIDE = {
    ("project", "name"): "a plan tells what its matter was called then",
    ("plan", "stopped"): "follows from what was said at its gates, which is told",
    ("planrevision", "standing"): "follows from its gates, which are told",
    ("planrevision", "call_id"): "told is that it was planned",
    ("planstepmove", "call_id"): "told is its place, which its call tells, too",
    ("planstepmove", "result"): "told of calls and questions; what a reply came to is nothing",
    ("planstepmove", "refused"): "as its result",
}
# a team has a chain of its own, which no bundle takes along; columns of a step follow from its states, which are told
OF_TEAMS = (Team, TeamVersion, TeamAgentRow, TeamChange)
LETTER_TO_ADA = {"to": ["ada@example.org"], "subject": "The sum", "text": "It is 5."}


@pytest.fixture
def carried_out(mira, models):
    """Two of one matter. In the second a step is changed, all is planned anew, an agent asks, and a letter leaves."""
    models.will("test/planner", steps(SUM), SUMMARY, steps(SUM, LETTER), steps(SUM, LETTER), SUMMARY)
    models.will("test/sums", *[calls("figures.calculate", expression="2 + 3"), replies("5.")] * 2)
    models.will("test/letters", move("ask", "Which Ada?"), calls("mail.send", **LETTER_TO_ADA), replies("Sent."))
    desk = team(description="Sums up and writes.")
    going(plan(mira, desk, matter="Sums"), mira, models)
    made = plan(mira, desk, matter="Sums")
    asyncio.run(perform(made.pk, models))
    comments.change_step(made.pk, mira, 2, {"action": "Write it to Ada L.", "tools": LETTER[2]})
    comments.post_comment(made.pk, mira, "As it was, please.", None)
    return going(made, mira, models)


def going(made, mira, models):
    """To its end, everything allowed."""
    while not asyncio.run(perform(made.pk, models)).is_ended:
        gate = Gate.objects.filter(run=made.pk, state="pending").order_by("pk")[0]
        said = {"plan": ("approve", "", "all"), "question": ("answer", "Ada L.")}
        decide_as_read(gate.pk, mira, *said.get(gate.kind, ("approve",)))
    return Plan.objects.get(pk=made.pk)


def test_a_change_of_any_column_is_noticed_or_named(carried_out):
    unseen = set()
    assert [*verify_one(carried_out.pk)[2], *verify_one(TEAMS)[2]] == []
    with tampering():
        for row in rows(carried_out):
            whose = TEAMS if isinstance(row, OF_TEAMS) else carried_out.pk
            unseen |= {(row._meta.model_name, column) for column, _ in turned(row) if not faults(whose)}
    assert [*verify_one(carried_out.pk)[2], *verify_one(TEAMS)[2]] == []
    assert unseen == set(NOT_NOTICED)


@pytest.mark.slow
def test_so_it_is_outside(carried_out):
    unseen = set()
    assert outside(carried_out) == []
    with tampering():
        for row in rows(carried_out):
            if not isinstance(row, (*OF_TEAMS, PlanStep)):
                unseen |= {(row._meta.model_name, column) for column, _ in turned(row) if not outside(carried_out)}
    assert unseen == {*NOT_OUTSIDE, *NOT_NOTICED} - {one for one in NOT_NOTICED if one[0].startswith("team")}


def rows(plan):
    """The plan, and the last of each other table, with a move that calls, a state that came of a change, and a step
    that was dropped."""
    for model in apps.get_app_config("plans").get_models():
        if model._meta.db_table not in NO_EVIDENCE:
            yield plan if model is Plan else model.objects.order_by("number" if model is PlanStep else "pk").last()
    yield PlanStepMove.objects.filter(act="call").latest("pk")
    yield PlanStepState.objects.filter(event="changed").latest("pk")
    yield PlanStep.objects.exclude(last_in=None).latest("number")


def outside(plan):
    """What the program that auditors run finds in what is told now."""
    lines = [line.encode() for line in record_lines([plan.pk], None)]
    return list(verifier.verify(lines, signing.verifier_key(), "", Counter()))
