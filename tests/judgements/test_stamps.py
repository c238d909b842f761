"""What stands beside an outcome so that nobody misreads it: stamps, chips, and what the heads say of themselves."""

import pytest
from django.utils import timezone

from engine.models import Run
from judgements.models import Judgement
from judgements.rules import Verdict
from runs import reviews
from runs.procedure.spec import snapshot_of, spec_of_run
from tests.conftest import agents
from tests.judgements.test_display import decide, display, start

pytestmark = pytest.mark.django_db


@pytest.fixture
def ended(judgement):
    def ended(*decisions):
        start(judgement)
        decide(judgement, *decisions)
        judgement.conclude()
        judgement.run.refresh_from_db()
        return display(judgement)

    return ended


YES, NO = ["approve"] * 3, ["reject"] * 3


def heads(display):
    return [f"{seat.word} {seat.small}".strip() for seat in display.seats]


def test_a_head_says_that_earlier_rounds_carry_it(ended):
    shown = ended(*YES, *YES, "reject", "approve", "approve")
    assert heads(shown) == ["Approves carried by rounds 1 and 2", "Approves", "Approves"]
    assert shown.seats[0].cells[2].word == "Reject, outweighed"
    assert shown.remarkable[0] == (
        "Melchior rejects in round 3 and still approves: rounds 1 and 2 gave it 0.50 of 1.00, which is enough."
    )


def test_a_head_says_that_the_others_swayed_it(ended):
    shown = ended("reject", "approve", "approve", *YES, *YES)
    assert heads(shown) == ["Approves swayed by the others", "Approves", "Approves"]
    assert shown.remarkable == ("Melchior rejected on its own, and changed its mind after both others had approved.",)


def test_a_head_says_that_it_changed_its_mind(ended):
    shown = ended("reject", "reject", "approve", "approve", "reject", "approve", *YES)
    assert heads(shown)[0] == "Approves changed its mind in round 2"


def test_nothing_is_said_of_what_is_plain(ended):
    assert ended(*YES, *YES, *YES).remarkable == ()


def test_an_override_is_stamped_with_what_holds(ended, judgement, reviewer):
    ended(*YES, *YES, *YES)
    Run.objects.filter(pk=judgement.pk).update(status="finished", ended=timezone.now())
    judgement.run.refresh_from_db()
    reviews.add_review(judgement.run, reviewer, "Not this week.", Verdict.REJECTED)
    stamp = display(judgement).stamp
    assert (stamp.mark, stamp.state, stamp.word) == ("void", "reject", "Overridden: rejected")
    assert stamp.title == "Overridden: rejected"
    assert stamp.rest.startswith("by ")


def test_a_rehearsal_is_stamped_from_the_beginning(mira):
    rehearsed = Judgement.objects.submit(content="Japan", agents=agents(), owner=mira)
    shown = display(rehearsed)
    assert (shown.stamp.mark, shown.stamp.word, shown.stamp.title) == ("dash", "Rehearsal", "Rehearsal, idle")
    assert [(chip.word, chip.dashed) for chip in shown.chips] == [("rehearsal", True)]


def test_an_agent_that_asks_no_model_is_told_of(mira):
    mixed = agents("openai/a", "anthropic/b", "rehearsal/instant")
    shown = display(Judgement.objects.submit(content="Japan", agents=mixed, owner=mira))
    assert [chip.word for chip in shown.chips] == ["1 of 3 rehearsed"]


def test_one_model_for_all_is_told_of(mira):
    shown = display(Judgement.objects.submit(content="Japan", agents=agents(*["openai/a"] * 3), owner=mira))
    assert [chip.word for chip in shown.chips] == ["one model"]
    assert "where it errs, they err together" in shown.chips[0].sentence


def test_a_round_that_is_complete_is_a_moment_to_be_seen(judgement):
    start(judgement)
    decide(judgement, *YES)
    seen = snapshot_of(judgement.run)
    face = spec_of_run(judgement.run)
    (halt,) = face.reveal_pauses(seen.row)
    then = face.display(seen.at(halt))
    assert [(seat.state, seat.small) for seat in then.seats] == [("pending", "for round 2")] * 3
