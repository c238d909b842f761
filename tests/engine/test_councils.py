"""At a gate a run may be asked in place of a person, or besides: what it comes to opens the gate, or closes it."""

from datetime import timedelta
from functools import partial

import pytest
from asgiref.sync import sync_to_async

from engine import gate_decisions, run_control
from engine.audit import sealing
from engine.audit.full_verification import verify_all
from engine.council_approval import CouncilNotPossible, NeedsPerson
from engine.councils import CouncilUnknown, NamedCouncil
from engine.gate_decisions import GateClosed, InvalidAnswer, NotAnApprover
from engine.llm.errors import RunFailed
from engine.models import Gate, GateAlreadyUsed, GateDecision, GateRule, Run
from engine.models.gates import runs_with_wrong_decisions
from engine.policy import parse_policy
from engine.runtime.procedure import Procedure
from runs.rights import SEE
from tests.conftest import allow
from tests.databases import tampering
from tests.engine.guarded import refused
from tests.engine.test_waiting import perform_until, queued

pytestmark = pytest.mark.django_db

TEXT = "Dear Mr. Ito, we shall come on Friday."
REASON = "They would come on the day that suits nobody, and Mr. Ito has said so before."
ASKS: dict = {}
SAYS: dict = {}
TRIO = NamedCouncil(3, "Trio", archived=False)
COUNCIL = {"who": "council", "council": "Trio", "council_id": TRIO.id}
BOTH = {**COUNCIL, "who": "both"}


class Polite(Procedure):
    async def perform(self, run):
        asked = {"kind": "letter", "title": "A letter to Mr. Ito", "text": TEXT} | ASKS
        gate = await run.gate("letter", **asked)
        return lambda: Run.objects.filter(pk=run.pk).update(outcome=f"{gate.state}: {gate.words}"[:60])


class Oracle(Procedure):
    """Waits until it is told what to say."""

    async def perform(self, run):
        await run.read_snapshot(lambda: None)
        said = SAYS.get("outcome")
        if said is None:
            await run.until(run.claimed.created.replace(year=9000))
        if said == "error":
            raise RunFailed("internal", "It does not know.")
        return lambda: Run.objects.filter(pk=run.pk).update(outcome=said)

    def explanation(self, run):
        return "The stars say so."


def decide(gate, pk, made_by):
    if len(gate.text) > 1_000:
        raise NeedsPerson("It is too long to be judged.")
    if pk != TRIO.id:
        raise CouncilNotPossible(f"There is no council with the id {pk}.")
    run = Run.objects.create(procedure="oracle", title=gate.title, **made_by)
    sealing.record_submission(run.pk)


def find(which, saved_id):
    if which != TRIO.name:
        raise CouncilUnknown(f"No council is called “{which}” here.")
    return TRIO


@pytest.fixture(autouse=True)
def procedures(settings):
    ASKS.clear()
    SAYS.clear()
    settings.DECIDERS = {"council": f"{__name__}.decide"}
    settings.COUNCILS = __name__
    settings.PROCEDURES = {**settings.PROCEDURES} | {
        kind.__name__.lower(): f"{__name__}.{kind.__name__}" for kind in (Polite, Oracle)
    }


@pytest.fixture
def asking(mira, models):
    async def ask(policy, **asked):
        ASKS.update(asked, policy=policy)
        run = await queued("polite", owner=mira, title="Letters")
        await perform_until(run, models, "waiting", "finished")
        return await Gate.objects.with_decisions().aget()

    return ask


@pytest.fixture
def says(models):
    """Lets the council come to its end, and the run hear of it."""

    async def say(gate, outcome):
        SAYS["outcome"] = outcome
        await sync_to_async(run_control.apply_action)(gate.council_id, lambda: None)
        await perform_until(gate.council, models, "finished", "failed")
        await perform_until(gate.run, models, "waiting", "finished")
        return await Gate.objects.with_decisions().aget(pk=gate.pk)

    return say


say = sync_to_async(gate_decisions.decide)


def problems():
    return [str(fault) for fault in verify_all().faults]


async def ended(gate, models):
    return (await perform_until(gate.run, models, "finished")).outcome


# ---- alone ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("outcome", "state"), [("approved", "approved"), ("rejected", "rejected"), ("?", "rejected")])
async def test_a_council_decides_by_its_outcome(asking, says, models, outcome, state):
    gate = await says(await asking(COUNCIL), outcome)
    assert (gate.state, gate.last_decision.by, gate.last_decision.judged_by_id) == (
        state,
        "council Trio",
        gate.council_id,
    )
    assert await ended(gate, models) == f"{state}: The stars say so."
    assert await sync_to_async(problems)() == []


async def test_it_is_asked_by_the_run_and_belongs_to_whom_that_does(asking, mira):
    gate = await asking(COUNCIL)
    council = gate.council
    assert (council.parent_id, council.owner_id, council.title) == (gate.run_id, mira.pk, gate.title)
    assert council.asked_by == "A letter to Mr. Ito of Letters"


async def test_nobody_speaks_in_the_place_of_a_council(asking, mira):
    gate = await asking(COUNCIL)
    with pytest.raises(NotAnApprover, match="The council Trio is asked, not you"):
        await say(gate.pk, mira, "approve")
    assert not await sync_to_async(lambda: Gate.objects.for_user(mira).exists())()


@pytest.mark.parametrize("failure", ["error", "cancelled"])
async def test_one_that_came_to_nothing_leaves_it_to_a_person(asking, says, mira, models, failure):
    gate = await asking(COUNCIL)
    if failure == "cancelled":
        await sync_to_async(run_control.cancel)(gate.council_id, mira)
        await perform_until(gate.run, models, "waiting")
    else:
        await says(gate, "error")
    assert await sync_to_async(lambda: Gate.objects.for_user(mira).exists())()
    await say(gate.pk, mira, "approve", "Then I say yes.")
    assert await ended(gate, models) == "approved: Then I say yes."
    assert await sync_to_async(problems)() == []


# ---- one that nobody needs any more -----------------------------------------------------------------------


async def council_of(gate):
    found = await Run.objects.select_related("cancelled_by").aget(pk=gate.council_id)
    return found.status, found.cancelled_by_name


@pytest.mark.parametrize("blind", [True, False])
async def test_a_no_of_a_person_ends_what_the_council_is_at(asking, mira, models, blind):
    gate = await asking({**BOTH, "blind": blind})
    await say(gate.pk, mira, "reject", "No.")
    assert await council_of(gate) == ("cancelled", "mira")
    assert await ended(gate, models) == "rejected: No."
    assert await sync_to_async(problems)() == []


async def test_a_yes_of_a_person_lets_it_go_on(asking, mira):
    gate = await asking(BOTH)
    await say(gate.pk, mira, "approve", "Yes.")
    assert (await council_of(gate))[0] in ("queued", "running", "waiting")


async def test_a_council_about_another_text_is_ended_when_it_is_asked_anew(asking, models):
    gate = await asking(COUNCIL)
    ASKS["text"] = "Dear Mr. Ito, we shall come on Monday."
    await sync_to_async(run_control.apply_action)(gate.run_id, lambda: None)
    await perform_until(gate.run, models, "waiting")
    newer = await Gate.objects.aget(run=gate.run_id, number=2)
    assert await council_of(gate) == ("cancelled", "")
    assert (await council_of(newer))[0] != "cancelled"
    assert await sync_to_async(problems)() == []


@pytest.mark.parametrize("expiry", ["reject", "return"])
async def test_time_that_is_over_ends_it_too(asking, models, monkeypatch, expiry):
    monkeypatch.setattr("engine.models.gates.timedelta", lambda hours: timedelta(seconds=0.3))
    gate = await asking({**COUNCIL, "hours": 1, "expiry": expiry})
    assert (await ended(gate, models)).startswith("rejected" if expiry == "reject" else "expired")
    assert await council_of(gate) == ("cancelled", "")
    assert await sync_to_async(problems)() == []


async def test_where_the_procedure_wants_to_know_it_is_told(asking, says, models):
    gate = await asking(COUNCIL, failed="tell")
    await says(gate, "error")
    assert (await ended(gate, models)).startswith("failed: The council came to no outcome that counts")


async def test_a_council_that_is_not_there_leaves_it_to_a_person_at_once(asking, mira):
    gate = await asking({**COUNCIL, "council": "Nobody", "council_id": 404})
    assert (gate.state, gate.council_id) == ("pending", None)
    assert (await GateDecision.objects.aget()).text == "There is no council with the id 404."
    assert (await say(gate.pk, mira, "approve")).approved


async def test_what_was_overridden_or_erased_before_it_was_heard_does_not_count(asking, mira, models):
    gate = await asking(COUNCIL)
    changed = {"status": "finished", "outcome": "approved", "override": "rejected"}
    await Run.objects.filter(pk=gate.council_id).aupdate(**changed)
    await sync_to_async(run_control.apply_action)(gate.run_id, lambda: None)
    await perform_until(gate.run, models, "waiting")
    assert (await GateDecision.objects.aget()).decision == "turn"


async def test_what_was_overridden_since_allows_nothing(asking, says):
    gate = await says(await asking(COUNCIL), "approved")
    await Run.objects.filter(pk=gate.council_id).aupdate(override="rejected")
    with pytest.raises(GateAlreadyUsed, match="decided otherwise"):
        await sync_to_async(gate.consume)()


async def test_a_text_that_was_cut_needs_a_person_besides(asking):
    gate = await asking(COUNCIL, whole="0" * 64)
    assert (gate.policy["who"], gate.policy["blind"]) == ("both", True)


async def test_one_council_alone_opens_nothing_that_was_cut_whatever_its_policy_became(asking, says):
    def change(gate, **values):
        with tampering():
            Gate.objects.filter(pk=gate.pk).update(**values)

    gate = await asking(COUNCIL, whole="0" * 64)
    await sync_to_async(change)(gate, policy=parse_policy(COUNCIL))
    assert (await says(gate, "approved")).state == "pending"
    await sync_to_async(change)(gate, state="approved")
    assert len(await sync_to_async(runs_with_wrong_decisions)([gate.run_id])) == 1


async def test_a_text_that_is_too_long_for_a_council_is_a_persons_also_where_the_procedure_would_be_told(asking, mira):
    gate = await asking(COUNCIL, text="long " * 300, failed="tell")
    assert (gate.state, gate.council_id, gate.needs_people) == ("pending", None, True)
    assert (await GateDecision.objects.aget()).text == "It is too long to be judged."
    assert (await say(gate.pk, mira, "approve")).approved


# ---- both ----------------------------------------------------------------------------------------------------


async def test_both_have_to_approve(asking, says, mira, models):
    gate = await says(await asking(BOTH), "approved")
    assert gate.pending
    assert (await say(gate.pk, mira, "approve", "I agree.")).approved
    assert [one.decision async for one in GateDecision.objects.all()] == ["approve", "approve"]
    assert (await ended(gate, models)).startswith("approved")
    assert await sync_to_async(problems)() == []


async def test_a_no_of_a_person_closes_it(asking, mira):
    gate = await asking(BOTH)
    assert (await say(gate.pk, mira, "reject", "No.")).state == "rejected"


async def test_a_yes_opens_nothing_that_a_council_refuses(asking, says, mira):
    gate = await asking(BOTH)
    await say(gate.pk, mira, "approve")
    gate = await says(gate, "rejected")
    assert (gate.pending, gate.is_split) == (True, True)
    assert await sync_to_async(lambda: Gate.objects.for_user(mira).exists())()  # once more
    with pytest.raises(InvalidAnswer, match="one of reject, override"):
        await say(gate.pk, mira, "approve")
    assert (await say(gate.pk, mira, "reject", "Then no.")).state == "rejected"


async def test_who_may_overrides_a_council_with_a_reason(asking, says, mira, noor):
    gate = await asking(BOTH)
    await say(gate.pk, mira, "approve")
    gate = await says(gate, "rejected")
    with pytest.raises(NotAnApprover, match="you have not the right to"):
        await say(gate.pk, mira, "override", REASON)
    await sync_to_async(allow)(noor, "engine.override_gate")
    with pytest.raises(InvalidAnswer, match="at least 10 words"):
        await say(gate.pk, noor, "override", "Because I say so.")
    assert (await say(gate.pk, noor, "override", REASON)).approved
    assert await sync_to_async(problems)() == []


async def test_an_override_needs_as_many_persons_and_nobody_counts_twice(asking, says, mira, noor):
    gate = await asking(BOTH | {"persons": 2, "blind": False})
    await sync_to_async(allow)(noor, "engine.override_gate", "engine.decide_gate")
    gate = await says(gate, "rejected")
    assert (await say(gate.pk, noor, "override", REASON)).pending
    for decision in ("override", "approve"):
        with pytest.raises((NotAnApprover, GateClosed)):
            await say(gate.pk, mira if decision == "override" else noor, decision, REASON)
    assert (await say(gate.pk, mira, "approve")).approved
    assert await sync_to_async(problems)() == []


async def test_nobody_overrides_it_alone_where_four_eyes_are_wanted(asking, says, mira, noor):
    gate = await asking(BOTH | {"four_eyes": True})
    await sync_to_async(allow)(mira, "engine.override_gate")
    await sync_to_async(allow)(noor, "engine.decide_gate")
    await say(gate.pk, noor, "approve")
    gate = await says(gate, "rejected")
    with pytest.raises(NotAnApprover):
        await say(gate.pk, mira, "override", REASON)


async def test_nothing_is_overridden_that_a_council_has_not_refused(asking, noor):
    gate = await asking(BOTH)
    await sync_to_async(allow)(noor, "engine.override_gate")
    with pytest.raises(NotAnApprover, match="nothing to override"):
        await say(gate.pk, noor, "override", REASON)


# ---- blind ---------------------------------------------------------------------------------------------------


def listed(user, run):
    return SEE.within(Run.objects.filter(pk=run.pk), user).exists()


async def test_what_a_council_says_is_seen_by_nobody_before_the_persons_have_decided(asking, says, mira):
    gate = await says(await asking(BOTH), "rejected")
    assert (gate.hides, gate.decisions.count()) == (True, 0)
    council = await Run.objects.aget(pk=gate.council_id)
    assert not await sync_to_async(SEE.covers)(mira, council)
    assert not await sync_to_async(listed)(mira, council)
    assert await sync_to_async(SEE.covering)([mira], council) == set()
    gate = await say(gate.pk, mira, "approve")
    assert (gate.hides, [one.knew_council for one in gate.decisions.all()]) == (False, [False, False])
    assert await sync_to_async(SEE.covers)(mira, council)
    assert await sync_to_async(listed)(mira, council)


async def test_nor_by_who_may_see_everything_but_on_record(asking, says, noor):
    gate = await says(await asking(BOTH), "approved")
    council = await Run.objects.aget(pk=gate.council_id)
    await sync_to_async(allow)(noor, "engine.view_run", "engine.decide_gate", "engine.override_gate")
    assert not await sync_to_async(SEE.covers)(noor, council)
    await sync_to_async(gate_decisions.read_gate)(gate.pk, noor)
    assert await sync_to_async(SEE.covers)(noor, council)
    assert await sync_to_async(SEE.covering)([noor], council) == {noor.pk}
    assert (await say(gate.pk, noor, "approve")).approved
    assert [(one.decision, one.knew_council) async for one in GateDecision.objects.filter(by_user=noor)] == [
        ("look", False),
        ("approve", True),
    ]
    assert await sync_to_async(problems)() == []


async def test_who_has_not_the_right_may_not_look(asking, mira):
    gate = await asking(BOTH)
    with pytest.raises(NotAnApprover, match="may not look at it before others"):
        await sync_to_async(gate_decisions.read_gate)(gate.pk, mira)


async def test_two_persons_have_to_decide_before_it_is_shown(asking, says, mira, noor):
    gate = await says(await asking({**BOTH, "persons": 2}), "approved")
    assert (await say(gate.pk, mira, "approve")).hides
    await sync_to_async(allow)(noor, "engine.decide_gate")
    gate = await say(gate.pk, noor, "approve")
    assert (gate.hides, gate.approved) == (False, True)


async def test_who_wants_it_otherwise_sees_it_at_once(asking, says, mira):
    gate = await says(await asking({**BOTH, "blind": False}), "approved")
    assert (gate.hides, gate.council_said) == (False, "approve")
    assert (await say(gate.pk, mira, "approve")).last_decision.knew_council


# ---- rules ---------------------------------------------------------------------------------------------------


async def test_nobody_is_asked_where_it_is_open_and_that_is_on_record(asking, models):
    gate = await asking({"who": "open"})
    assert (gate.state, await ended(gate, models)) == ("approved", "approved: ")
    assert await sync_to_async(problems)() == []


async def test_a_rule_of_the_installation_makes_it_stricter(asking):
    await GateRule.objects.acreate(procedure="polite", who="council", council="Trio")
    gate = await asking(None)
    assert (gate.policy["who"], gate.policy["council"]) == ("both", "Trio")


# ---- on record -----------------------------------------------------------------------------------------------


async def test_what_a_council_decided_is_changed_by_nobody(asking, says):
    gate = await says(await asking(COUNCIL), "approved")
    for change in (
        partial(GateDecision.objects.update, judged_by=None),
        partial(Gate.objects.filter(pk=gate.pk).update, council=gate.run_id),
    ):
        assert await sync_to_async(refused)(change)

    def change():
        with tampering():
            GateDecision.objects.update(judged_by=gate.run_id)
        assert problems()

    await sync_to_async(change)()


async def test_who_decides_twice_is_told(asking, says, mira):
    gate = await asking({**BOTH, "persons": 2})
    await say(gate.pk, mira, "approve")
    with pytest.raises(GateClosed, match="You have decided already"):
        await say(gate.pk, mira, "approve")
