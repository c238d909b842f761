"""A tool is used by who may, with what was allowed, and what came of it is kept."""

import pytest
from asgiref.sync import sync_to_async
from django.core.exceptions import ImproperlyConfigured
from django.db import transaction

from engine import run_control
from engine.audit import sealing
from engine.audit.entries_from_rows import names_of
from engine.ledger.entries import AuditEntry
from engine.models import Budget, Effect, Gate, Run, ToolCall
from engine.queue.worker import Worker
from engine.tools import Tool, available_tools
from tests.databases import tampering
from tests.engine.guarded import refused
from tests.engine.test_waiting import perform_until, queued
from tests.engine.tools.user import (
    DONE,
    STEPS,
    LetterArguments,
    Using,
    assert_sound,
    calls,
    decide,
    one,
    problems,
    send,
    statuses,
    tool,
)

pytestmark = pytest.mark.django_db

TOOLS: tuple = ()


# ---- the registry -------------------------------------------------------------------------------------------


def test_two_tools_of_one_name_stop_the_start(settings, monkeypatch):
    monkeypatch.setattr(Using, "tools", (*Using.tools, Using.tools[0]))
    settings.PROCEDURES = {"twice": "tests.engine.tools.user.Using"}
    with pytest.raises(ImproperlyConfigured, match="Two tools are called send: of twice and twice"):
        available_tools()


def test_a_tool_acts_in_the_database_or_outside_of_it(settings, monkeypatch):
    monkeypatch.setattr(Using, "tools", (tool("neither", Effect.READS),))
    settings.PROCEDURES = {"neither": "tests.engine.tools.user.Using"}
    with pytest.raises(ImproperlyConfigured, match="neither of neither needs either perform or change"):
        available_tools()


def test_another_description_is_another_tool():
    before, after = (
        tool("a", Effect.READS, perform=send),
        Tool("a", "Other.", LetterArguments, Effect.READS, perform=send),
    )
    assert (before.definition != after.definition, len(before.definition)) == (True, 64)


# ---- one use ------------------------------------------------------------------------------------------------


async def test_what_came_of_it_is_kept(using):
    run = await using(one("write"))
    [call] = await calls()
    assert (run.outcome, DONE, call.output, call.arguments) == (
        "done",
        ["mira"],
        "Sent to mira.",
        '{"times":1,"to":"mira"}',
    )
    assert (call.source, call.number, call.seconds is not None) == ("using", 1, True)
    await assert_sound()


@pytest.mark.parametrize(
    ("name", "arguments", "complaint"),
    [
        ("send", {"to": 1}, "These arguments do not fit send: to: Input should be a valid string."),
        ("send", {"to": "a", "cc": "b"}, "These arguments do not fit send: cc: Extra inputs are not permitted."),
        ("send", "{", "The arguments of send are no JSON"),
        ("send", dict.fromkeys(map(str, range(1_000)), ""), "These arguments do not fit send: to: Field required"),
        ("sned", {}, "There is no tool named sned. The tools are "),
    ],
)
async def test_what_does_not_fit_is_an_answer_and_no_row(mira, models, monkeypatch, name, arguments, complaint):
    said = []

    async def perform(self, run):
        said.append(await run.execute_tool("1", name, arguments))
        return lambda: None

    monkeypatch.setattr(Using, "perform", perform)
    run = await queued("using", owner=mira)
    await perform_until(run, models, "finished")
    assert (said[0].status, said[0].pk, await ToolCall.objects.aexists()) == ("failed", None, False)
    assert (said[0].error.startswith(complaint), len(said[0].error) <= 4_000) == (True, True)


async def test_what_a_tool_refuses_is_its_own_sentence(using):
    run = await using(one("write", "nobody"))
    [call] = await calls()
    assert (run.outcome, call.error) == ("failed", "Nobody lives there.")
    await assert_sound()


async def test_a_change_that_is_refused_has_changed_nothing(using):
    run = await using(one("book", "nobody"), one("book"))
    assert (run.outcome, await Budget.objects.acount()) == ("failed done", 1)


async def test_what_is_too_long_is_cut_and_said(using):
    await using(one("page"))
    [call] = await calls()
    assert (call.output, call.output_size, call.outside) == ("x" * 20, 30, True)
    assert available_tools()["page"].describe_result(call) == "x" * 10 + "\n[20 more characters are left out]"


# ---- gates --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("used", "asks"),
    [
        (one("page", policy=None), False),
        (one("tell", policy=None), False),
        (one("mine", policy=None), False),
        (one("mine", "noor", policy=None), True),
        (one("write", policy=None), True),
        (one("write"), False),
        (one("send"), True),
        (one("page", policy={"persons": 2}), True),
    ],
)
async def test_who_is_asked_first(using, used, asks):
    assert ((await using(used)).status == "waiting", await Gate.objects.acount()) == (asks, int(asks))


async def test_after_text_of_strangers_a_person_sees_what_has_an_effect(using):
    run = await using(one("page"), one("tell"), one("write"))
    gate = await Gate.objects.aget()
    assert (run.status, gate.tool, gate.step, len(await calls())) == ("waiting", "write", "3", 2)


async def test_what_a_run_of_its_own_has_read_counts_too(using, going_on, mira):
    run = await using(one("send"))
    child = await queued("using", owner=mira, parent=run, root=run)
    STEPS[child.pk] = [one("page")]
    await going_on(child)
    STEPS[run.pk] = [one("write")]
    await decide((await Gate.objects.aget()).pk, mira, "approve")
    await going_on(run)
    assert [gate.tool async for gate in Gate.objects.all()] == ["send", "write"]


async def test_what_a_council_was_asked_alone_before_that_is_asked_anew(using, going_on, mira, models):
    run = await using(one("write", policy={"who": "council", "council": "Trio"}))
    child = await queued("using", owner=mira, parent=run, root=run)
    STEPS[child.pk] = [one("page")]
    alone = Worker(only=child.pk, models=models)  # the end of the child wakes the run, which would ask anew at once
    await perform_until(child, models, "finished", engine=alone)
    await decide((await Gate.objects.aget()).pk, mira, "approve")
    assert (await going_on(run)).status == "waiting"
    assert [gate.policy["who"] async for gate in Gate.objects.all()] == ["council", "both"]


async def test_what_was_allowed_is_done_once_to_the_letter(using, going_on, mira):
    run = await using(one("send"))
    gate = await Gate.objects.aget()
    assert (gate.kind, gate.tool, DONE) == ("tool", "send", [])
    assert '"to": "mira"' in gate.text
    await decide(gate.pk, mira, "approve")
    ended = await going_on(run)
    [call] = await calls()
    assert (ended.outcome, DONE, call.gate_id) == ("done", ["mira"], gate.pk)
    assert (await Gate.objects.aget()).used
    await assert_sound()


async def test_another_description_needs_another_approval(using, going_on, mira, monkeypatch, settings):
    run = await using(one("send"))
    await decide((await Gate.objects.aget()).pk, mira, "approve")
    other = Tool("send", "Sends more than you think.", LetterArguments, Effect.REACHES_OUT, perform=send)
    monkeypatch.setattr(Using, "tools", (other,))
    settings.SHARED_TOOLS = [__name__]
    assert (await going_on(run)).status == "waiting"
    assert (DONE, [gate.state async for gate in Gate.objects.all()]) == ([], ["approved", "pending"])


async def test_what_was_refused_is_never_done_and_says_by_whom(using, going_on, mira):
    run = await using(one("send"))
    await decide((await Gate.objects.aget()).pk, mira, "reject", "Not to her.")
    ended = await going_on(run)
    [call] = await calls()
    assert (ended.outcome, DONE, call.error) == ("failed", [], "This was not done. mira refused it: Not to her.")
    assert (call.gate.used is not None, call.started) == (True, None)
    await assert_sound()


# ---- the record ---------------------------------------------------------------------------------------------


async def test_a_call_that_is_open_holds_back_what_comes_after_it(cut, mira):
    run = await cut(one("page", "stranger"), one("tell"))
    await sync_to_async(run_control.apply_action)(run.pk, lambda: None)
    kinds = [kind async for kind in AuditEntry.objects.filter(run=run.pk).values_list("kind", flat=True)]
    assert kinds == ["submitted", "tool"]
    await sync_to_async(run_control.cancel)(run.pk, mira)
    assert await statuses() == ["done", "interrupted"]
    await assert_sound()


async def test_what_is_changed_afterwards_is_found(using):
    await using(one("write"))

    def tamper():
        with tampering():
            ToolCall.objects.update(output="Sent to noor.")
        return problems()

    assert "The output of tool 1 was changed" in str(await sync_to_async(tamper)())


async def test_a_closed_call_never_changes(using):
    await using(one("write"))
    for change in ({"output": "Other."}, {"status": "open"}, {"effect": "reads"}, {"outside": True}):
        assert await sync_to_async(refused)(lambda change=change: ToolCall.objects.update(**change))


async def test_its_texts_are_erased_with_the_run(using):
    run = await using(one("write"), one("write", "nobody"))

    def redact():
        with transaction.atomic():
            sealing.record_redaction(run.pk, "mira", "Asked for it.", names=names_of(Run.objects.get()))
            Run.objects.erase(run.pk, names=False)
        return {(call.arguments, call.output, call.error) for call in ToolCall.objects.all()}

    assert await sync_to_async(redact)() == {("", "", "")}
    await assert_sound()
