"""A debate goes on from a message of another one, with the same panel."""

import asyncio

import pytest

from debates import procedure
from debates.models import Debate, DebateMessage, FirstVerdict
from engine.audit.full_verification import verify_all
from engine.models import Fork
from runs.forking import ForkRefused, fork, preview
from runs.record.document import record_line
from tests.conftest import perform
from tests.debates.scenes import speaking
from tests.debates.test_procedure import NAMES, OPTIONS, AgreeingModels
from tests.tools.offline import verified_forks

pytestmark = pytest.mark.django_db


def whole(pk):
    return Debate.objects.with_members().get(pk=pk)


def told(pk, most=10**6):
    names = ("number", "kind", "clock", "content", "verdict__word", "abstained", "member__seat", "turn__number")
    return list(DebateMessage.objects.filter(debate=pk, number__lte=most).order_by("number").values_list(*names))


@pytest.fixture
def over(mira):
    members = [{"name": name, "who": "", "model": f"test/{name.lower()}"} for name in NAMES[:3]]
    row = procedure.submit(owner=mira, question="Shall we hire her?", options=OPTIONS, members=members, most=8)
    asyncio.run(perform(row.pk, AgreeingModels()))
    return whole(row.pk)


def test_a_debate_goes_on_from_any_message_with_positions_as_stated_then(over, mira):
    count = len([one for one in over.messages.all() if one.kind != "closing"])
    for number in range(1, count + 1):
        made = fork(over, number, owner=mira)
        assert told(made.pk) == told(over.pk, number)
        assert whole(made.pk).state().verdict_of == over.state().verdict_at(number)
    assert FirstVerdict.objects.filter(member__debate=made.pk).count() == 3
    assert verify_all().faults == []


def test_who_forks_it_speaks_first_and_both_records_are_verified_together(over, mira):
    made = fork(over, 6, words="Think of the students first.", owner=mira)
    asyncio.run(perform(made.pk, AgreeingModels()))
    row = whole(made.pk)
    assert (row.run.outcome is not None, told(made.pk)[6][1], told(made.pk, 6)) == (True, "chair", told(over.pk, 6))
    assert len(told(made.pk)) > 7
    lines = [record_line(one.pk) for one in (over, made)]
    assert (verified_forks(lines), verified_forks(lines[1:])) == (([], 0), ([], 1))
    assert verify_all().faults == []


def test_pages_and_programs_fork_a_debate(over, page, mira_calls):
    assert "fork/?message=3" in page.get(f"/debates/{over.pk}/").content.decode()
    shown = page.get(f"/debates/{over.pk}/fork/?message=3").content.decode()
    assert "Go on from message 3" in shown
    began = page.post(f"/debates/{over.pk}/fork/", {"message": "3"})
    assert began.url == f"/debates/{Fork.objects.get().pk}/"
    facts = mira_calls.post(f"/debates/{over.pk}/fork", {"message": 3}).json()["forked"]
    assert (facts["run"], facts["number"]) == (str(over.pk), 3)


def test_one_that_goes_on_keeps_its_secrets(mira):
    row = whole(speaking(mira).pk)
    row.run.status = "waiting"
    with pytest.raises(ForkRefused, match="nobody may know its seed"):
        preview(row, 2)
