"""What was cut short is found, and nothing is done twice, however often the engine ends meanwhile."""

from datetime import timedelta

import pytest
from asgiref.sync import sync_to_async
from django.utils import timezone

from engine import fault_injection, run_control
from engine.models import Budget, Gate, GateDecision
from engine.runtime import tool_execution
from engine.tools import available_tools
from tests.engine.test_blame import fail_after_five_deaths
from tests.engine.test_waiting import queued
from tests.engine.tools.user import (
    DONE,
    KEYS,
    RUNS_OUT,
    STEPS,
    assert_sound,
    calls,
    decide,
    one,
    statuses,
)

pytestmark = pytest.mark.django_db
killed_five_times = sync_to_async(fail_after_five_deaths)


# ---- cut short ----------------------------------------------------------------------------------------------


async def test_what_may_be_done_twice_is_begun_anew(cut, going_on):
    run = await cut(one("again"))
    assert (await going_on(run)).outcome == "done"
    assert (await statuses(), DONE, len(set(KEYS))) == (["interrupted", "done"], ["mira", "mira"], 1)
    await assert_sound()


async def test_what_was_allowed_is_not_asked_about_again_when_it_is_begun_anew(cut, going_on):
    run = await cut(one("page"))
    assert (await going_on(run)).outcome == "done"
    assert not await Gate.objects.aexists()


async def test_once_more_only_while_its_council_has_not_been_decided_otherwise(cut, going_on, mira):
    run = await cut(one("again", policy={"who": "person"}))
    judged = await queued("using", owner=mira, override="rejected")
    STEPS[judged.pk] = []
    await GateDecision.objects.acreate(gate=await Gate.objects.aget(), decision="approve", judged_by=judged)
    assert (await going_on(run)).status == "waiting"
    assert (DONE, await Gate.objects.filter(state="pending").acount()) == (["mira"], 1)


async def test_what_outlived_its_engine_comes_to_its_end(cut, going_on):
    run = await cut(one("command"))
    assert (await going_on(run)).outcome == "done"
    [call] = await calls()
    assert (call.output, DONE) == ("It went on.", ["mira"])
    await assert_sound()


async def test_what_did_not_outlive_it_was_cut(cut, going_on):
    run = await cut(one("command", "noor"))
    await going_on(run)
    assert (await statuses(), DONE) == (["interrupted"], ["noor"])


async def test_what_outlived_its_engine_has_the_whole_time_of_its_tool_an_hour_later(cut, going_on, monkeypatch):
    run = await cut(one("command"))
    given, within, an_hour_later = [], tool_execution._within, timezone.now() + timedelta(hours=1)
    monkeypatch.setattr(tool_execution, "_within", lambda *about: given.append(about[0]) or within(*about))
    monkeypatch.setattr(tool_execution.timezone, "now", lambda: an_hour_later)
    await going_on(run)
    assert given == [available_tools()["command"].timeout]


async def test_who_is_told_that_it_was_cut_looks_for_itself(cut, going_on):
    run = await cut(one("tell"))
    assert ((await going_on(run)).outcome, DONE) == ("interrupted", ["mira"])
    [call] = await calls()
    assert "nobody knows whether it happened" in available_tools()["tell"].describe_result(call)
    await assert_sound()


# ---- a run that failed with an open call -----------------------------------------------------------------------


async def test_a_retry_asks_what_became_of_a_call_that_was_open_when_the_run_failed(cut, going_on):
    run = await cut(one("command"))
    await killed_five_times(run)
    await sync_to_async(run_control.retry)(run.pk)
    assert (await going_on(run)).outcome == "done"
    first, last = await calls()
    assert (first.status, last.output, last.started, DONE) == ("interrupted", "It went on.", first.started, ["mira"])
    await assert_sound()


async def test_a_second_retry_asks_when_the_first_one_came_to_nothing(cut, going_on):
    run = await cut(one("command"))
    for _ in range(2):
        await killed_five_times(run)
        await sync_to_async(run_control.retry)(run.pk)
    assert (await going_on(run)).outcome == "done"
    assert (await statuses(), DONE) == (["interrupted", "done"], ["mira"])


async def test_a_retry_asks_also_where_an_error_of_the_run_closed_the_call(cut, going_on):
    run = await cut(one("command"))
    step = STEPS.pop(run.pk)
    assert (await going_on(run)).status == "failed"
    STEPS[run.pk] = step
    await sync_to_async(run_control.retry)(run.pk)
    assert ((await going_on(run)).outcome, DONE) == ("done", ["mira"])
    await assert_sound()


async def test_a_retry_takes_what_did_not_outlive_the_engine_as_cut(cut, going_on):
    run = await cut(one("command", "noor"))
    await killed_five_times(run)
    await sync_to_async(run_control.retry)(run.pk)
    await going_on(run)
    assert (await statuses(), DONE) == (["interrupted", "interrupted"], ["noor"])
    assert (await Gate.objects.aget()).kind == "uncertain"
    await assert_sound()


async def test_a_retry_begins_nothing_of_a_tool_that_has_another_definition_by_now(cut, going_on, monkeypatch):
    run = await cut(one("command"))
    await killed_five_times(run)
    await sync_to_async(run_control.retry)(run.pk)
    monkeypatch.setitem(vars(available_tools()["command"]), "definition", "another")
    assert (await going_on(run)).status == "waiting"
    assert (await statuses(), DONE) == (["interrupted"], ["mira"])


async def test_a_cancelled_run_leaves_no_call_to_ask_about(cut, mira):
    run = await cut(one("command"))
    await sync_to_async(run_control.cancel)(run.pk, mira)
    [call] = await calls()
    assert (call.status, call.was_left_open) == ("interrupted", False)


@pytest.mark.parametrize(
    ("said", "outcome", "done", "told"),
    [
        ({"decision": "answer", "choice": "happened", "text": "I saw it."}, "done", 1, "it happened. I saw it."),
        ({"decision": "answer", "choice": "do"}, "done", 2, "Sent to mira."),
        ({"decision": "answer", "choice": "leave"}, "failed", 1, "mira says to leave it."),
        ({"decision": "reject", "choice": "end"}, "failed", 1, "mira says to leave it."),
    ],
)
async def test_a_person_says_what_became_of_it_once(cut, going_on, mira, said, outcome, done, told):
    run = await cut(one("write", choices=RUNS_OUT))
    assert (await going_on(run)).status == "waiting"
    gate = await Gate.objects.aget()
    assert (gate.kind, gate.tool, [one["word"] for one in gate.choices]) == (
        "uncertain",
        "write",
        ["happened", "do", "leave", "end"],
    )
    await decide(gate.pk, mira, **said)
    assert (await going_on(run)).outcome == outcome
    last = (await calls())[-1]
    assert (len(DONE), last.number, last.gate_id, await Gate.objects.acount()) == (done, 2, gate.pk, 1)
    assert told in available_tools()["write"].describe_result(last)
    await assert_sound()


@pytest.mark.parametrize("policy", [{"who": "person", "persons": 2}, {"who": "person", "four_eyes": True}])
async def test_do_it_now_allows_no_more_than_one_person_may(cut, going_on, mira, policy):
    run = await cut(one("write"))
    STEPS[run.pk] = [one("write", policy=policy)]
    await going_on(run)
    await decide((await Gate.objects.aget()).pk, mira, decision="answer", choice="do")
    for _ in range(2):
        assert (await going_on(run)).status == "waiting"
    gate = await Gate.objects.alatest("pk")
    assert (gate.kind, gate.number, gate.policy | policy, DONE) == ("tool", 2, gate.policy, ["mira"])
    await assert_sound()


async def test_what_was_cut_is_asked_about_also_where_something_else_is_wanted_by_now(cut, going_on, monkeypatch):
    run = await cut(one("write"))
    STEPS[run.pk] = [one("write", "noor")]
    await going_on(run)
    gate = await Gate.objects.aget()
    assert (gate.kind, DONE) == ("uncertain", ["mira"])
    assert 'It was then: write {"times":1,"to":"mira"}\nIt would now be:' in gate.text


async def test_what_breaks_with_an_effect_is_uncertain(using):
    run = await using(one("write", "broken"))
    gate = await Gate.objects.aget()
    assert (run.status, gate.kind, await statuses()) == ("waiting", "uncertain", ["interrupted"])
    assert "It broke: ZeroDivisionError: a fuse" in gate.text


async def test_what_was_not_kept_of_a_long_error_is_named_where_it_is_asked_about(using):
    await using(one("write", "wordy"))
    text = (await Gate.objects.aget()).text
    assert (text.count("a fuse ") > 500, "more characters were not kept]" in text) == (True, True)


async def test_what_takes_too_long_is_uncertain(using):
    assert (await using(one("write", "slow"))).status == "waiting"
    assert "It was not done within 0.5 s." in (await Gate.objects.aget()).text


async def test_what_reads_and_breaks_is_tried_twice(using):
    run = await using(one("page", "broken"))
    assert (run.outcome, await statuses(), len(DONE)) == ("failed", ["interrupted", "failed"], 2)
    assert (await calls())[-1].error == "It broke: ZeroDivisionError: a fuse"


@pytest.mark.parametrize("point", fault_injection.POINTS_OF_TOOLS)
async def test_an_error_around_a_commit_does_nothing_twice(using, point):
    fault_injection.arm_fault(f"{point}=raise@1")
    try:
        run = await using(one("write"), one("book"))
    finally:
        fault_injection.arm_fault("")
    assert (run.outcome, DONE, await Budget.objects.acount()) == ("done done", ["mira"], 1)
    await assert_sound()
