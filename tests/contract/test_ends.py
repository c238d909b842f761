"""How runs of every procedure end: cancelled, failed and tried again, after an error at any point, after councils."""

import pytest
from asgiref.sync import sync_to_async

from engine import fault_injection
from engine.models import Gate, ModelCall, Run
from runs import run_actions
from runs.live.feed import snapshot_of
from runs.record import redaction
from tests.conftest import EVERYTHING
from tests.contract import PLAYED, THAT_ASK, found, play, problems, texts_of

pytestmark = pytest.mark.django_db


def test_one_that_is_cancelled_ends_without_an_outcome(asked, mira):
    assert run_actions.cancel(snapshot_of(asked).row, mira)
    assert (Run.objects.get().status, Run.objects.get().outcome) == ("cancelled", None)
    assert problems() == []


async def test_a_failed_one_goes_on_where_it_was(failed, mira):
    assert failed.status == "failed"
    await sync_to_async(lambda: run_actions.retry(snapshot_of(failed).row, mira))()
    assert (await play(failed.pk)).status == "finished"
    assert await sync_to_async(problems)() == []


OF_A_GATE = tuple(f"{when}-{what}-commit" for what in ("gate", "park") for when in ("before", "after"))
BESIDES = {"doubted check": OF_A_GATE, "plan": ("before-tool-done-commit", "after-tool-done-commit")}
REACHED = [(name, point) for name in sorted(PLAYED) for point in (*fault_injection.POINTS, *BESIDES.get(name, ()))]
# the engine's part is the same for all, and tried with the smallest; of each other what it alone does
BY_DAY = ("after-decision-commit", *OF_A_GATE, "after-tool-done-commit")
TRIED = [(name, point) for name, point in REACHED if EVERYTHING or name == "check" or point in BY_DAY]


@pytest.mark.parametrize(("name", "point"), TRIED, indirect=["name"])
async def test_an_error_at_any_point_doubles_nothing(asked, point):
    run = await with_an_error_at(point, asked)
    steps = [call async for call in ModelCall.objects.filter(run=run, status="answered").values_list("step", flat=True)]
    assert run.status == "finished"
    assert len(steps) == len(set(steps))
    assert await sync_to_async(problems)() == []


async def with_an_error_at(point, run):
    """It as it ended, after an error at this point, which it has reached."""
    try:
        fault_injection.arm_fault(f"{point}=raise@1")
        ended = await play(run.pk)
        assert fault_injection._passed[point], f"{point} is not reached"
    finally:
        fault_injection.arm_fault("")
    return ended


# ---- that asks a run of its own -------------------------------------------------------------------------------


@pytest.fixture(params=sorted(THAT_ASK))
def asking(request, mira):
    """A run at whose gate a council decides, alone or besides."""
    return THAT_ASK[request.param](mira).run


async def test_what_asks_a_council_is_sealed_with_it_and_verifies_when_it_is_redacted(asking):
    ended = await play(asking.pk)
    council = await Run.objects.aget(parent=ended)
    assert (ended.status, council.status, council.root_id) == ("finished", "finished", ended.pk)
    assert await sync_to_async(problems)() == []

    def redact():
        redaction.redact_run(asking.pk, "mira", "Asked for it.")
        assert [(table, column) for table, column, of in texts_of(asking) if found(table, column, of, asking)] == []
        assert problems() == []

    await sync_to_async(redact)()


# before its commit the gate is as if nobody had asked: that is tried above, without a council
ASKED_AT = (*fault_injection.POINTS, *OF_A_GATE) if EVERYTHING else ("after-gate-commit", "after-park-commit")


@pytest.mark.parametrize("point", ASKED_AT)
async def test_an_error_at_any_point_asks_a_council_once(mira, point):
    run = await sync_to_async(lambda: THAT_ASK["both"](mira).run)()
    ended = await with_an_error_at(point, run)
    decisions = Gate.objects.values_list("decisions__by", flat=True)
    assert (ended.status, await Run.objects.acount()) == ("finished", 2)
    assert sorted([by async for by in decisions])[0] == "council Trio, version 1"
    assert await sync_to_async(problems)() == []
