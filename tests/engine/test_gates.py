"""A run goes on past a gate when somebody has decided about exactly the text that it asks about."""

from datetime import timedelta
from hashlib import sha256

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import Group
from django.db import transaction
from django.utils import timezone

from engine import fault_injection, gate_decisions, run_control
from engine.audit import sealing
from engine.audit.entries_from_rows import names_of
from engine.audit.full_verification import verify_all
from engine.gate_decisions import DecisionTooLate, GateClosed, InvalidAnswer, NotAnApprover
from engine.ledger.entries import AuditEntry
from engine.models import Gate, GateAlreadyUsed, GateDecision, Run
from engine.runtime.procedure import Procedure
from tests.conftest import allow, at_once
from tests.databases import tampering
from tests.engine.test_waiting import perform_until, queued

pytestmark = pytest.mark.django_db

TEXT = "Dear Mr. Ito, we shall come on Friday."
ASKS: dict = {}  # what the procedure asks, beside what it usually does
CHOICES = [
    {"word": "speak", "decision": "answer", "sentence": "Speak"},
    {"word": "skip", "decision": "answer", "sentence": "Skip my turn"},
]


class Careful(Procedure):
    async def perform(self, run):
        asked = {"kind": "letter", "title": "A letter to Mr. Ito", "text": TEXT} | ASKS.get(run.pk, {})
        gate = await run.gate("letter", **asked)
        return lambda: Run.objects.filter(pk=run.pk).update(outcome=f"{gate.state} {gate.choice}".strip())

    def apply_decision(self, gate, choice, answer):
        if answer == "nonsense":
            raise InvalidAnswer([("answer", "That is nonsense.")])


class Insistent(Careful):
    """Asks somebody else where the first did not answer in time."""

    async def perform(self, run):
        for _ in range(2):
            gate = await run.gate("turn", kind="turn", title="Your turn", text=TEXT, **ASKS.get(run.pk, {}))
            if gate.state != "expired":
                break
            await run.write(gate.consume)
        return lambda: Run.objects.filter(pk=run.pk).update(outcome=gate.state)


@pytest.fixture(autouse=True)
def procedures(settings):
    kinds = (Careful, Insistent)
    settings.PROCEDURES = {**settings.PROCEDURES} | {
        kind.__name__.lower(): f"{__name__}.{kind.__name__}" for kind in kinds
    }


@pytest.fixture
def asking(mira, models):
    """Makes a run that waits at its gate."""

    async def ask(procedure="careful", **asked):
        run = await queued(procedure, owner=mira)
        ASKS[run.pk] = asked
        await perform_until(run, models, "waiting")
        return await Gate.objects.with_decisions().aget()

    return ask


decide = sync_to_async(gate_decisions.decide)


def problems():
    return [str(fault) for fault in verify_all().faults]


# ---- asking ------------------------------------------------------------------------------------------------


async def test_a_run_waits_at_its_gate_and_goes_on_when_it_is_decided(asking, mira, models):
    gate = await asking()
    assert (gate.number, gate.state, gate.digest) == (1, "pending", sha256(TEXT.encode()).hexdigest())
    decided = await decide(gate.pk, mira, "approve", "Friday is right.")
    assert (decided.approved, decided.words) == (True, "Friday is right.")
    ended = await perform_until(gate.run, models, "finished")
    assert (ended.outcome, await Gate.objects.acount()) == ("approved", 1)
    assert await sync_to_async(problems)() == []


async def test_another_text_is_asked_anew_and_the_old_one_no_more(asking, mira, models):
    old = await asking()
    ASKS[old.run_id] = {"text": "Dear Mr. Ito, we shall come on Monday."}
    await sync_to_async(run_control.apply_action)(old.run_id, lambda: None)
    await perform_until(old.run, models, "waiting")
    new = await Gate.objects.aget(number=2)
    await old.arefresh_from_db()
    assert (old.state, new.state) == ("void", "pending")
    with pytest.raises(GateClosed, match=f"Asked again at .* UTC: see gate {new.pk}"):
        await decide(old.pk, mira, "approve")


async def test_a_title_that_is_cut_shows_it(asking):
    gate = await asking(title="a letter " * 50)
    assert (len(gate.title) <= 200, gate.title[-1]) == (True, "…")


async def test_an_approval_of_another_text_opens_nothing(asking, mira, models):
    gate = await asking()
    ASKS[gate.run_id] = {"text": "Dear Mr. Ito, pay at once."}
    await decide(gate.pk, mira, "approve")
    await perform_until(gate.run, models, "waiting")
    assert await Gate.objects.filter(number=2, state="pending").aexists()


async def test_what_was_used_allows_nothing_again(asking, mira):
    gate = await asking()
    await decide(gate.pk, mira, "approve")
    await sync_to_async(gate.consume)()
    with pytest.raises(GateAlreadyUsed):
        await sync_to_async(gate.consume)()


# ---- who ----------------------------------------------------------------------------------------------------


async def test_who_is_asked_by_name_decides_alone(asking, mira, noor, reviewer):
    gate = await asking(asked=noor)
    for other in (mira, reviewer):
        with pytest.raises(NotAnApprover, match="noor is asked, not you"):
            await decide(gate.pk, other, "approve")
    assert (await decide(gate.pk, noor, "approve")).last_decision.by == "noor"


async def test_any_member_of_a_group_that_is_asked_decides(asking, mira, noor):
    group = await Group.objects.acreate(name="Letters")
    gate = await asking(asked=group)
    with pytest.raises(NotAnApprover):
        await decide(gate.pk, noor, "approve")
    await noor.groups.aadd(group)
    assert (await decide(gate.pk, noor, "reject", "Not now.")).state == "rejected"


async def test_else_the_owner_decides_and_who_may_for_all(asking, mira, noor):
    gate = await asking(policy={"persons": 2})
    with pytest.raises(NotAnApprover):
        await decide(gate.pk, noor, "approve")
    await decide(gate.pk, mira, "approve")
    may = await sync_to_async(allow)(noor, "engine.decide_gate")
    assert (await decide(gate.pk, may, "approve")).approved


async def test_four_eyes_are_not_those_that_asked(asking, mira):
    gate = await asking(policy={"four_eyes": True})
    with pytest.raises(NotAnApprover):
        await decide(gate.pk, mira, "approve")


async def test_nobody_counts_twice(asking, mira):
    gate = await asking(policy={"persons": 2})
    await decide(gate.pk, mira, "approve")
    with pytest.raises(GateClosed, match="You have decided already"):
        await decide(gate.pk, mira, "approve")


async def test_who_is_not_active_decides_nothing(asking, mira):
    gate = await asking()
    mira.is_active = False
    with pytest.raises(NotAnApprover):
        await decide(gate.pk, mira, "approve")


async def test_what_waits_for_whom(asking, mira, noor, reviewer):
    gate = await asking(asked=noor)
    waits = sync_to_async(lambda user: list(Gate.objects.for_user(user)))
    assert (await waits(noor), await waits(mira), await waits(reviewer)) == ([gate], [], [])
    await decide(gate.pk, noor, "approve")
    assert await waits(noor) == []


@pytest.mark.parametrize("four_eyes", [True, False])
async def test_what_the_owner_may_not_decide_waits_for_all_who_may(asking, mira, noor, four_eyes):
    gate = await asking(policy={"four_eyes": four_eyes})
    may = await sync_to_async(allow)(noor, "engine.decide_gate")
    waits = sync_to_async(lambda user: list(Gate.objects.for_user(user)))
    assert (await waits(may), await waits(mira)) == (([gate], []) if four_eyes else ([], [gate]))
    asked_of_others = await sync_to_async(list)(Gate.objects.decidable_by_others(mira))
    assert asked_of_others == ([gate] if four_eyes else [])


# ---- what is said ------------------------------------------------------------------------------------------


async def test_who_comes_second_is_told_who_was_first(asking, mira, noor):
    gate = await asking()
    await decide(gate.pk, mira, "reject", "Not on Friday.")
    may = await sync_to_async(allow)(noor, "engine.decide_gate")
    with pytest.raises(GateClosed, match=r"^mira rejected this at \d\d:\d\d UTC\. Nothing is left to decide\.$"):
        await decide(gate.pk, may, "approve")


@pytest.mark.django_db(transaction=True)  # two connections
async def test_of_two_at_once_one_decides(asking, mira, noor):
    gate = await asking()
    may = await sync_to_async(allow)(noor, "engine.decide_gate")
    both = [
        lambda: gate_decisions.decide(gate.pk, mira, "approve"),
        lambda: gate_decisions.decide(gate.pk, may, "reject", "No."),
    ]
    done = await sync_to_async(at_once)(*both, refused=GateClosed)
    assert sorted(type(one).__name__ for one in done) == ["Gate", "GateClosed"]
    assert await GateDecision.objects.acount() == 1


@pytest.mark.parametrize(
    ("said", "path"),
    [
        ({"decision": "maybe"}, "decision"),
        ({"decision": "expire"}, "decision"),
        ({"decision": "approve", "choice": "twice"}, "choice"),
        ({"decision": "answer"}, "text"),
        ({"decision": "answer", "answer": "nonsense"}, "answer"),
    ],
)
async def test_what_does_not_fit_is_refused_with_its_place(asking, mira, said, path):
    gate = await asking()
    with pytest.raises(InvalidAnswer) as refused:
        await decide(gate.pk, mira, **said)
    assert [place for place, _ in refused.value.problems] == [path]
    assert (await GateDecision.objects.acount(), (await Run.objects.aget()).status) == (0, "waiting")


async def test_where_there_are_choices_one_is_named(asking, mira, models):
    gate = await asking(choices=CHOICES)
    for said in ({"decision": "approve"}, {"decision": "answer", "text": "Yes."}):
        with pytest.raises(InvalidAnswer):
            await decide(gate.pk, mira, **said)
    decided = await decide(gate.pk, mira, "answer", choice="speak", answer={"content": "Because."})
    assert (decided.state, decided.choice, decided.answer) == ("answered", "speak", {"content": "Because."})
    assert (await perform_until(gate.run, models, "finished")).outcome == "answered speak"


async def test_a_digest_of_another_text_is_refused(asking, mira):
    gate = await asking()
    with pytest.raises(GateClosed, match="not the text that you have read"):
        await decide(gate.pk, mira, "approve", digest="0" * 64)
    assert (await decide(gate.pk, mira, "approve", digest=gate.digest)).approved


# ---- time --------------------------------------------------------------------------------------------------


def later(gate, hours):
    """As if so many hours had passed since it was asked."""
    with tampering():
        Gate.objects.filter(pk=gate.pk).update(expires=timezone.now() - timedelta(hours=hours))
    Run.objects.filter(pk=gate.run_id).update(wakes_at=timezone.now())


def woken(gate, hours):
    later(gate, hours)
    Run.objects.filter(pk=gate.run_id).update(status="queued")


@pytest.mark.parametrize(("expiry", "outcome"), [("reject", "rejected"), ("return", "expired")])
async def test_after_its_hours_it_is_closed_by_nobody(asking, models, expiry, outcome):
    gate = await asking(policy={"hours": 24, "expiry": expiry})
    assert gate.run.wakes_at == gate.expires
    await sync_to_async(later)(gate, 1)
    assert (await perform_until(gate.run, models, "finished")).outcome == outcome
    assert (await GateDecision.objects.aget()).by == ""


async def test_a_decision_after_the_deadline_comes_too_late(asking, mira):
    gate = await asking(policy={"hours": 24, "expiry": "reject"})
    await sync_to_async(later)(gate, 1)
    with pytest.raises(DecisionTooLate, match="The time for this was over on"):
        await decide(gate.pk, mira, "approve")
    assert not await GateDecision.objects.aexists()


async def test_a_gate_that_only_reminds_has_no_end(asking):
    assert (await asking(policy={"hours": 24})).expires is None


async def test_an_expired_gate_is_returned_until_it_is_used_and_then_asked_anew(asking, models, mira):
    gate = await asking("insistent", policy={"hours": 24, "expiry": "return"})
    await sync_to_async(woken)(gate, 1)
    await perform_until(gate.run, models, "waiting")
    second = await Gate.objects.aget(number=2)
    await decide(second.pk, mira, "approve")
    assert (await perform_until(gate.run, models, "finished")).outcome == "approved"


# ---- the end of the run ------------------------------------------------------------------------------------


async def test_nobody_is_asked_about_a_run_that_was_cancelled(asking, mira):
    gate = await asking()
    await sync_to_async(run_control.cancel)(gate.run_id, mira)
    with pytest.raises(GateClosed, match=r"^Not asked any more\.$"):
        await decide(gate.pk, mira, "approve")
    assert ((await Gate.objects.aget()).state, await sync_to_async(problems)()) == ("void", [])


# ---- evidence ----------------------------------------------------------------------------------------------


async def test_what_was_asked_and_decided_stands_in_the_chain_at_once(asking, mira):
    gate = await asking()
    await decide(gate.pk, mira, "approve", "Friday is right.")
    kinds = [kind async for kind in AuditEntry.objects.filter(run=gate.run_id).values_list("kind", flat=True)]
    assert kinds == ["submitted", "gate", "decided"]
    assert await sync_to_async(problems)() == []


@pytest.mark.parametrize(
    ("model", "change", "complaint"),
    [
        (Gate, {"text": "Dear Mr. Ito, pay at once."}, "The text of gate letter was changed"),
        (GateDecision, {"by": "noor"}, "The author of decided letter was changed"),
        (GateDecision, {"decision": "reject"}, "The decision of decided letter was changed"),
        (Gate, {"state": "rejected"}, "Its gate letter stands otherwise than it was decided"),
    ],
)
async def test_what_is_changed_afterwards_is_found(asking, mira, model, change, complaint):
    gate = await asking()
    await decide(gate.pk, mira, "approve", "Friday is right.")

    def tamper():
        with tampering():
            model.objects.update(**change)
        return problems()

    assert complaint in str(await sync_to_async(tamper)())


async def test_its_texts_are_erased_with_the_run(asking, mira, models):
    gate = await asking()
    await decide(gate.pk, mira, "approve", "Friday is right.", answer={"a": 1})
    await perform_until(gate.run, models, "finished")

    def redact():
        with transaction.atomic():
            sealing.record_redaction(gate.run_id, "mira", "Asked for it.", names=names_of(Run.objects.get()))
            Run.objects.erase(gate.run_id, names=False)
        return Gate.objects.get(), GateDecision.objects.get()

    asked, said = await sync_to_async(redact)()
    assert (asked.title, asked.text, said.text, said.answer) == ("", "", "", "")
    assert await sync_to_async(problems)() == []


@pytest.mark.parametrize("point", [*fault_injection.POINTS_OF_WAITS[:2], *fault_injection.POINTS_OF_GATES])
async def test_an_error_around_a_gate_asks_nobody_twice(mira, models, point):
    run = await queued("insistent", owner=mira)
    ASKS[run.pk] = {"policy": {"hours": 24, "expiry": "return"}}
    try:
        fault_injection.arm_fault(f"{point}=raise@1")
        await perform_until(run, models, "waiting")
        await sync_to_async(woken)(await Gate.objects.aget(), 1)
        await perform_until(run, models, "waiting")
    finally:
        fault_injection.arm_fault("")
    numbers = [number async for number in Gate.objects.values_list("number", flat=True)]
    assert (numbers, await GateDecision.objects.acount()) == ([1, 2], 1)
