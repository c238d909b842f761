"""A tool is used at most once, by who may, and what came of it is found again however often the engine dies."""

import asyncio

import pytest
from asgiref.sync import sync_to_async
from django.core.exceptions import ImproperlyConfigured
from django.db import transaction
from pydantic import BaseModel, ConfigDict

from engine import faults, gates, steering
from engine.evidence import sealing
from engine.evidence.audit import verify_all
from engine.evidence.entries import Entry
from engine.evidence.told import names_of
from engine.models import Budget, Effect, Gate, Run, ToolCall
from engine.procedure import Procedure
from engine.tools import OPEN, Output, Refused, Tool, tools
from engine.worker import Engine
from tests.databases import tampering
from tests.engine.guarded import refused
from tests.engine.test_waiting import perform_until, queued

pytestmark = pytest.mark.django_db(transaction=True)

DONE: list = []  # stands for the world outside of the database
KEYS: list = []
HANGING: set = set()  # while anything is in it, nobody comes to an end
STEPS: dict = {}  # what each run uses, in order: tool, arguments and more
TOOLS: tuple = ()
RUNS_OUT = [{"word": "end", "decision": "reject", "sentence": "End it"}]


class Letter(BaseModel):
    model_config = ConfigDict(extra="forbid")

    to: str
    times: int = 1


async def send(letter, use):
    DONE.append(letter.to)
    KEYS.append(use.key)
    if letter.to == "nobody":
        raise Refused("Nobody lives there.")
    if letter.to == "broken":
        raise ZeroDivisionError("a fuse")
    while HANGING:
        await asyncio.sleep(0.01)
    if letter.to == "slow":
        await asyncio.sleep(5)
    return f"Sent to {letter.to}."


def book(letter, use):
    """What it changes is a row of the database."""
    Budget.objects.create(limit=1)
    if letter.to == "nobody":
        raise Refused("Nobody lives there.")
    return f"Booked for {letter.to}."


async def went_on(call, use):
    return "It went on." if "mira" in call.arguments else None


async def read_page(letter, use):
    DONE.append(letter.to)
    while HANGING and letter.to != "stranger":
        await asyncio.sleep(0.01)
    if letter.to == "broken":
        raise ZeroDivisionError("a fuse")
    return Output("x" * 30, outside=True)


def tool(name, effect, **values):
    return Tool(name, f"Does {name}.", Letter, effect, **values)


class Using(Procedure):
    tools = (
        tool("send", Effect.REACHES_OUT, perform=send, timeout=0.5),
        tool("write", Effect.WRITES, perform=send, timeout=0.5),
        tool("again", Effect.WRITES, perform=send, repeatable=True),
        tool("tell", Effect.WRITES, perform=send, contained=True, when_cut="tell"),
        tool("command", Effect.WRITES, perform=send, settle=went_on, contained=True),
        tool("book", Effect.WRITES, change=book),
        tool("page", Effect.READS, perform=read_page, shown=10, kept=20),
        tool("mine", Effect.WRITES, perform=send, contained=lambda letter: letter.to == "mira"),
    )

    async def perform(self, run):
        found = [await run.use(f"{number}", *asked, **more) for number, (asked, more) in enumerate(STEPS[run.pk], 1)]
        return lambda: Run.objects.filter(pk=run.pk).update(outcome=" ".join(call.status for call in found))


@pytest.fixture(autouse=True)
def procedures(settings):
    DONE.clear()
    KEYS.clear()
    settings.PROCEDURES = {**settings.PROCEDURES, "using": f"{__name__}.Using"}


def one(tool, to="mira", **more):
    return ((tool, {"to": to}), {"policy": OPEN} | more)


@pytest.fixture
def using(mira, models):
    """Makes a run that uses these, and performs it until it is over or waits."""

    async def use(*steps):
        run = await queued("using", owner=mira)
        STEPS[run.pk] = steps
        return await perform_until(run, models, "waiting", "finished", "failed")

    return use


@pytest.fixture
def going_on(models):
    async def go_on(run):
        return await perform_until(run, models, "waiting", "finished", "failed")

    return go_on


decide = sync_to_async(gates.decide)


async def calls():
    return [call async for call in ToolCall.objects.select_related("gate").order_by("pk")]


async def statuses():
    return [call.status for call in await calls()]


def problems():
    return [str(fault) for fault in verify_all().faults]


async def assert_sound():
    assert await sync_to_async(problems)() == []


# ---- the registry -------------------------------------------------------------------------------------------


def test_two_tools_of_one_name_stop_the_start(settings, monkeypatch):
    monkeypatch.setattr(Using, "tools", (*Using.tools, Using.tools[0]))
    settings.PROCEDURES = {"twice": f"{__name__}.Using"}
    with pytest.raises(ImproperlyConfigured, match="Two tools are called send: of twice and twice"):
        tools()


def test_a_tool_acts_in_the_database_or_outside_of_it(settings, monkeypatch):
    monkeypatch.setattr(Using, "tools", (tool("neither", Effect.READS),))
    settings.PROCEDURES = {"neither": f"{__name__}.Using"}
    with pytest.raises(ImproperlyConfigured, match="neither of neither needs either perform or change"):
        tools()


def test_another_description_is_another_tool():
    before, after = tool("a", Effect.READS, perform=send), Tool("a", "Other.", Letter, Effect.READS, perform=send)
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
        ("sned", {}, "There is no tool named sned. The tools are "),
    ],
)
async def test_what_does_not_fit_is_an_answer_and_no_row(mira, models, monkeypatch, name, arguments, complaint):
    said = []

    async def perform(self, run):
        said.append(await run.use("1", name, arguments))
        return lambda: None

    monkeypatch.setattr(Using, "perform", perform)
    run = await queued("using", owner=mira)
    await perform_until(run, models, "finished")
    assert (said[0].status, said[0].pk, await ToolCall.objects.aexists()) == ("failed", None, False)
    assert said[0].error.startswith(complaint)


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
    assert tools()["page"].told(call) == "x" * 10 + "\n[20 more characters are left out]"


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
    other = Tool("send", "Sends more than you think.", Letter, Effect.REACHES_OUT, perform=send)
    monkeypatch.setattr(Using, "tools", (other,))
    settings.TOOLBOX = [__name__]
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


# ---- cut short ----------------------------------------------------------------------------------------------


@pytest.fixture
def cut(mira, models):
    """A run whose engine ended in the middle of its last use."""

    async def cut_short(*steps):
        HANGING.add(1)
        run = await queued("using", owner=mira)
        STEPS[run.pk] = steps
        engine = Engine(models=models)
        performing = asyncio.create_task(engine.run())
        async with asyncio.timeout(20):
            while not DONE or DONE[-1] == "stranger":
                await asyncio.sleep(0.01)
        await engine.stop(grace=0)
        await performing
        HANGING.clear()
        assert (await statuses())[-1] == "open"
        return run

    yield cut_short
    HANGING.clear()


async def test_what_may_be_done_twice_is_begun_anew(cut, going_on):
    run = await cut(one("again"))
    assert (await going_on(run)).outcome == "done"
    assert (await statuses(), DONE, len(set(KEYS))) == (["interrupted", "done"], ["mira", "mira"], 1)
    await assert_sound()


async def test_what_was_allowed_is_not_asked_about_again_when_it_is_begun_anew(cut, going_on):
    run = await cut(one("page"))
    assert (await going_on(run)).outcome == "done"
    assert not await Gate.objects.aexists()


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


async def test_who_is_told_that_it_was_cut_looks_for_itself(cut, going_on):
    run = await cut(one("tell"))
    assert ((await going_on(run)).outcome, DONE) == ("interrupted", ["mira"])
    [call] = await calls()
    assert "nobody knows whether it happened" in tools()["tell"].told(call)
    await assert_sound()


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
    assert told in tools()["write"].told(last)
    await assert_sound()


async def test_what_was_cut_is_asked_about_also_where_something_else_is_wanted_by_now(cut, going_on):
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


async def test_what_takes_too_long_is_uncertain(using):
    assert (await using(one("write", "slow"))).status == "waiting"
    assert "It was not done within 0.5 s." in (await Gate.objects.aget()).text


async def test_what_reads_and_breaks_is_tried_twice(using):
    run = await using(one("page", "broken"))
    assert (run.outcome, await statuses(), len(DONE)) == ("failed", ["interrupted", "failed"], 2)
    assert (await calls())[-1].error == "It broke: ZeroDivisionError: a fuse"


@pytest.mark.parametrize("point", faults.POINTS_OF_TOOLS)
async def test_an_error_around_a_commit_does_nothing_twice(using, point):
    faults.arm(f"{point}=raise@1")
    try:
        run = await using(one("write"), one("book"))
    finally:
        faults.arm("")
    assert (run.outcome, DONE, await Budget.objects.acount()) == ("done done", ["mira"], 1)
    await assert_sound()


# ---- the record ---------------------------------------------------------------------------------------------


async def test_a_call_that_is_open_holds_back_what_comes_after_it(cut, mira):
    run = await cut(one("page", "stranger"), one("tell"))
    await sync_to_async(steering.act)(run.pk, lambda: None)
    kinds = [kind async for kind in Entry.objects.filter(run=run.pk).values_list("kind", flat=True)]
    assert kinds == ["submitted", "tool"]
    await sync_to_async(steering.cancel)(run.pk, mira)
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
            sealing.redact(run.pk, "mira", "Asked for it.", names=names_of(Run.objects.get()))
            Run.objects.erase(run.pk, names=False)
        return {(call.arguments, call.output, call.error) for call in ToolCall.objects.all()}

    assert await sync_to_async(redact)() == {("", "", "")}
    await assert_sound()
