"""A run makes runs, waits for them, and what becomes of one goes no way but down."""

import json
from functools import partial

import pytest
from asgiref.sync import sync_to_async
from django.db import IntegrityError, transaction

from engine import run_control
from engine.audit import sealing
from engine.audit.entries_from_rows import names_of
from engine.audit.full_verification import verify_all
from engine.ledger.entries import CHILD, AuditEntry
from engine.llm.errors import RunFailed
from engine.models import Budget, BudgetExceeded, Run, child_runs
from engine.models.child_runs import TooManyChildren
from engine.queue.worker import Worker
from engine.runtime.procedure import Procedure
from tests.databases import tampering
from tests.engine.guarded import refused
from tests.engine.test_waiting import SAID, act, perform_until, queued

pytestmark = pytest.mark.django_db

FAILS: set = set()


def born(procedure):
    def submit(made_by):
        run = Run.objects.create(procedure=procedure, title=f"A {procedure}", **made_by)
        sealing.record_submission(run.pk)

    return submit


class Mother(Procedure):
    async def perform(self, run):
        children = await run.gather(*(run.child(step, born("daughter")) for step in ("first", "second")))
        said = " ".join(child.outcome or child.status for child in children)
        return lambda: Run.objects.filter(pk=run.pk).update(outcome=said)


class Daughter(Procedure):
    """Waits for a word, and fails while it must."""

    async def perform(self, run):
        await run.read_snapshot(lambda: None)
        if run.claimed.step in FAILS:
            raise RunFailed("internal", "It fails.")
        if run.pk not in SAID:
            await run.until(run.claimed.created.replace(year=9000))
        return lambda: Run.objects.filter(pk=run.pk).update(outcome=f"done {run.claimed.step}")


class Quick(Procedure):
    async def perform(self, run):
        return lambda: Run.objects.filter(pk=run.pk).update(outcome="done")


class Hurried(Procedure):
    async def perform(self, run):
        child = await run.child("only", born("quick"))
        return lambda: Run.objects.filter(pk=run.pk).update(outcome=child.outcome)


class Endless(Procedure):
    async def perform(self, run):
        await run.child("one more", born("endless"))
        return lambda: None


class Poor(Procedure):
    async def perform(self, run):
        def submit(made_by):
            raise BudgetExceeded("Nothing is left.")

        await run.child("dear", submit)


@pytest.fixture(autouse=True)
def procedures(settings):
    FAILS.clear()
    kinds = (Mother, Daughter, Quick, Hurried, Endless, Poor)
    settings.PROCEDURES = {**settings.PROCEDURES} | {
        kind.__name__.lower(): f"{__name__}.{kind.__name__}" for kind in kinds
    }


@pytest.fixture
async def mother(mira, models):
    """A run that waits for two."""
    run = await queued("mother", owner=mira, title="The house")
    return await perform_until(run, models, "waiting")


def child(step):
    return Run.objects.aget(step=step)


async def say(run):
    await act(run.pk, lambda: SAID.add(run.pk))


def problems():
    return [str(fault) for fault in verify_all().faults]


async def test_what_a_child_was_made_for_goes_with_its_texts(mother, mira, models):
    for step in ("first", "second"):
        await say(await child(step))
    await perform_until(mother, models, "finished")
    first = await child("first")

    def redact():
        with transaction.atomic():
            sealing.record_redaction(first.pk, "mira", "Asked for it.", names=names_of(first))
            Run.objects.erase(first.pk, names=False)
        return Run.objects.get(pk=first.pk)

    redacted = await sync_to_async(redact)()
    assert (redacted.asked_by, redacted.owner_id, redacted.account) == ("", mira.pk, str(mira.pk))
    assert await sync_to_async(problems)() == []


async def test_a_run_waits_for_what_it_has_made_and_gets_its_outcome(mother, mira, models):
    first, second = await child("first"), await child("second")
    assert (first.parent_id, first.root_id, first.owner_id) == (mother.pk, mother.pk, mira.pk)
    assert (first.asked_by, first.account) == ("first of The house", str(mira.pk))
    assert mother.why == "“A daughter” is not over yet."
    for one in (first, second):
        await say(one)
    assert (await perform_until(mother, models, "finished")).outcome == "done first done second"
    assert await sync_to_async(problems)() == []


async def test_it_is_made_once_for_its_step(mother):
    values = {"procedure": "daughter", "parent": mother, "root": mother, "step": "first"}

    def twice():
        with transaction.atomic():
            Run.objects.create(**values)

    with pytest.raises(IntegrityError):
        await sync_to_async(twice)()


async def test_whose_it_is_never_changes(mother):
    first = Run.objects.filter(pk=(await child("first")).pk)
    for change in ({"parent": None}, {"root": None}, {"step": "another"}):
        assert await sync_to_async(refused)(partial(first.update, **change)), change


async def test_an_engine_for_one_run_performs_what_it_makes(mira, models):
    run, other = await queued("hurried", owner=mira), await queued("quick")
    engine = Worker(only=run.pk, models=models)
    assert (await perform_until(run, models, "finished", engine=engine)).outcome == "done"
    assert (await Run.objects.aget(pk=other.pk)).status == "queued"


async def test_one_that_was_cancelled_is_an_answer(mother, mira, models):
    await sync_to_async(run_control.cancel)((await child("first")).pk, mira)
    await say(await child("second"))
    assert (await perform_until(mother, models, "finished")).outcome == "cancelled done second"


async def test_one_that_failed_is_waited_for_and_said(mother, models):
    FAILS.add("first")
    for step in ("first", "second"):
        await say(await child(step))
    await perform_until(await child("first"), models, "failed")
    run = await perform_until(mother, models, "waiting")
    assert run.why == "“A daughter” has failed: try it again, or cancel it."
    FAILS.clear()
    await sync_to_async(run_control.retry)((await child("first")).pk)
    assert (await perform_until(mother, models, "finished")).outcome == "done first done second"
    assert await sync_to_async(problems)() == []


async def test_cancelling_goes_down_and_never_up(mother, mira):
    grandchild = await sync_to_async(made_below)(await child("first"))
    await sync_to_async(run_control.cancel)((await child("second")).pk, mira)
    assert (await Run.objects.aget(pk=mother.pk)).status == "queued"
    await sync_to_async(run_control.cancel)(mother.pk, mira)
    assert {run.status async for run in Run.objects.all()} == {"cancelled"}
    assert (await Run.objects.aget(pk=grandchild.pk)).cancelled_by_id == mira.pk
    assert await sync_to_async(problems)() == []


def made_below(run):
    with transaction.atomic():
        return Run.objects.create_child(run, "deeper", born("daughter"))


async def test_the_record_of_one_fixes_those_of_what_it_made(mother, mira, models):
    for step in ("first", "second"):
        await say(await child(step))
    await perform_until(mother, models, "finished")
    told = [json.loads(line)["facts"] async for line in lines_of(mother)]
    assert {one["step"] for one in told} == {"first", "second"}
    first = await child("first")
    sealed = await AuditEntry.objects.filter(run=first.pk).order_by("-seq").afirst()
    assert sealed.hash in {one["hash"] for one in told}

    def change():
        with tampering():
            AuditEntry.objects.filter(run=first.pk).delete()
        assert any("“first” is not what it was when it ended" in text for text in problems())

    await sync_to_async(change)()


def lines_of(run):
    return AuditEntry.objects.filter(run=run.pk, kind=CHILD).values_list("line", flat=True)


async def test_no_run_is_made_deeper_than_there_may_be(mira, models):
    run = await queued("endless", owner=mira)
    await perform_until(run, models, "waiting")
    deepest = await settled_at_depth(models)
    assert deepest.error["message"] == "Runs may make runs 4 deep, and this would be deeper."
    assert await Run.objects.acount() == 1 + child_runs.MAX_DEPTH


async def settled_at_depth(models):
    run = await Run.objects.order_by("-created").afirst()
    while run.status not in ("failed",):
        run = await perform_until(run, models, "waiting", "failed")
        run = await Run.objects.order_by("-created").afirst()
    return run


def test_no_more_are_made_than_there_may_be(mira, monkeypatch):
    root = Run.objects.create(procedure="mother", owner=mira)
    monkeypatch.setattr(child_runs, "MAX_LIVE_CHILDREN", 2)
    monkeypatch.setattr(child_runs, "MAX_CHILDREN", 3)
    for number in range(2):
        made = made_at(root, number)
    with pytest.raises(TooManyChildren, match="2 runs that were made for this are not over"):
        made_at(root, "another")
    for one in Run.objects.exclude(parent=None):
        run_control.cancel(one.pk)
    assert made_at(root, "third").root_id == made.root_id
    with pytest.raises(TooManyChildren, match="3 runs were made for this"):
        made_at(root, "fourth")


def made_at(run, step):
    with transaction.atomic():
        return Run.objects.create_child(run, f"step {step}", born("daughter"))


async def test_a_budget_that_is_used_up_fails_it_with_a_sentence(mira, models):
    run = await queued("poor", owner=mira)
    ended = await perform_until(run, models, "failed")
    assert ended.error == {"code": "quota", "message": "Nothing is left."}
    assert not await Budget.objects.aexists()
