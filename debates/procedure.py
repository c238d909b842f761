"""A debate, performed: what comes next follows from the rows alone, so it goes on where it was left.

Why so: docs/decisions.md, Debating.
"""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any
from uuid import UUID

from django.db.models import Sum

from engine.context import RunContext
from engine.llm.failures import CallFailed, RunFailed
from engine.llm.forms import AnswerForm, Continuing, Message, tokens_for
from engine.llm.tokens import prompt_tokens, room_of
from engine.models import Budget, Gate, ModelCall, Run
from engine.procedure import Change, CutShort
from runs import submissions

from . import people, prompts, rehearsal
from .estimate import turn_cost
from .models import Debate, PanelChanged, keeping
from .models.unfolding import Seen, Unfolding
from .rules import course as rules
from .rules import floor

TIMEKEEPER = 0  # the seat
COMPLAINT = 150  # tokens of one that may follow
CONTINUING = Continuing(prompts.carry_on, prompts.join)


def submit(**asked: Any) -> Debate:
    """Queue a debate and wake the engine. Takes what `Debate.objects.submit` and `submissions.submit` take."""
    return submissions.submit(Debate.objects, refusals=(PanelChanged,), waits_as="debate", **asked)


def look(unfolding: Unfolding, claim: int, now: datetime) -> Seen:
    seen = unfolding.look(claim, now)
    course = replace(seen.course, affords=_affords(seen))
    return replace(seen, table=replace(seen.table, course=course))


def _affords(seen: Seen) -> bool:
    """Whether its own money, and the budgets that it draws on, pay one more turn and the closing after it."""
    run, more = seen.debate.run, _costs(seen.debate, len(seen.course.messages))
    needed = sum(more) + max(more, default=0)
    if not needed:
        return True
    if run.spend is not None:
        spent = ModelCall.objects.filter(run=run.pk).aggregate(cost=Sum("cost"))["cost"] or 0
        if run.spend - spent < needed:
            return False
    return _in_budget(run, needed)


def _in_budget(run: Run, needed: int) -> bool:
    """What was set aside is its own, whatever others have spent; the rest is there for all."""
    aside, where = Run.objects.values_list("reserved", "reserved_in").get(pk=run.pk)
    budgets = Budget.objects.drawn_on(run.owner_id) if aside < needed else ()
    return all(one.left + (aside if one.pk in where else 0) >= needed for one in budgets)


def _costs(debate: Debate, said: int) -> list[int]:
    """Of one more answer by each member that has a model."""
    read = debate.read
    return [turn_cost(read, vars(one), said) for one in debate.seated if one.model]


def held_back(run: Run) -> int:
    """The closing, until it has begun: no debate ends without one because others have spent what there was."""
    if not Run.objects.filter(pk=run.pk, reserved__gt=0).exists():
        return 0
    debate = Debate.objects.prefetch_related("members", "run__documents").get(pk=run.pk)
    return 0 if debate.ended_because else sum(_costs(debate, debate.messages.count()))


async def debate(run: RunContext) -> Change:
    unfolding = Unfolding(run.pk)
    while True:
        seen = await run.look(partial(look, unfolding, run.claimed.claims, run.now))
        step = floor.next_step(seen.course)
        if isinstance(step, floor.End):
            return partial(keeping.conclude, run.pk, step.because)
        await _take(run, seen, step)


async def _take(run: RunContext, seen: Seen, step: floor.Step) -> None:
    match step:
        case floor.FirstVerdicts(seats):
            await run.together(*(_first(run, seen, seat) for seat in seats))
        case floor.KeepTime(note, after):
            await _keep_time(run, seen, note, after)
        case floor.Hear(turn, continues):
            await _hear(run, seen, turn, continues)
        case floor.Closing(turns):
            await run.together(*(_hear(run, seen, turn) for turn in turns))
        case floor.Rest():
            await run.rest()
        case floor.TooFew():
            raise RunFailed("member_failed", sentence_of_too_few(seen.course))
        case _:
            await run.write(partial(_written(seen.course, step), run.pk), "turn")


def _written(course: rules.Course, step: floor.Step) -> Callable[[UUID], None]:
    """The steps that ask nobody."""
    match step:
        case floor.Give(turn):
            return partial(keeping.keep_turn, turn=turn)
        case floor.Skip(turn, reason):
            return partial(keeping.skip, number=turn.number, reason=reason)
        case floor.BeginClosing(because, turns):
            return partial(keeping.begin_closing, because=because, turns=turns, known=course.newest_act)
    raise AssertionError(f"no such step: {step}")


def _form(form: prompts.Form) -> AnswerForm[Any]:
    said = form._asdict()
    return AnswerForm(max_tokens=tokens_for(said.pop("longest")), **said)


async def _first(run: RunContext, seen: Seen, seat: int) -> None:
    member = seen.member(seat)

    def keep(call: ModelCall, said: prompts.Answer) -> None:
        keeping.keep_first(run.pk, seat, call, said)

    form = _form(prompts.first_form(seen.table, seat))
    try:
        await run.ask(f"first-{seat}", member.model, prompts.first(seen.table, seat), form, keep, member.fallback)
    except CallFailed as failure:
        await run.write(partial(keeping.keep_first_missing, run.pk, seat, failure.code))


async def _hear(run: RunContext, seen: Seen, turn: rules.Turn, continues: int | None = None) -> None:
    hear = _hear_person if seen.member(turn.seat).is_person else _hear_model
    await hear(run, seen, turn, continues)


async def _hear_person(run: RunContext, seen: Seen, turn: rules.Turn, continues: int | None) -> None:
    """Waits until this person has spoken, which is written in the decision's own transaction."""
    member, step = seen.member(turn.seat), people.step_of(turn)
    user = await run.read(partial(people.user_of, member))
    if user is None:
        await run.write(partial(people.leave, run.pk, turn, member.name, people.HAS_LEFT))
        return
    asked: dict[str, Any] = {"title": people.title_of(seen.debate), "text": people.text_of(seen.table, turn, continues)}
    policy = people.policy_of(seen.debate)
    gate = await run.gate(step, kind=people.KIND, policy=policy, choices=people.CHOICES, asked=user, **asked)
    if gate.state == Gate.State.EXPIRED:
        await run.write(partial(people.leave, run.pk, turn, member.name, people.WAS_NOT_THERE))


async def _hear_model(run: RunContext, seen: Seen, turn: rules.Turn, continues: int | None) -> None:
    member, step = seen.member(turn.seat), people.step_of(turn)

    def keep(call: ModelCall, said: prompts.Answer) -> None:
        calls = keeping.calls_of(call)
        heard, cut = seen.course.newest_heard(turn), keeping.is_cut(calls)
        keeping.keep_message(run.pk, turn.number, said, heard=heard, continues=continues, calls=calls, cut=cut)

    room = room_of([member.model, member.fallback])
    asked, short = prompts.in_room(seen.table, turn, continues, partial(fits, room))
    about: dict[str, Any] = {"on_cut": CONTINUING, "left_out": short.sentence}
    form = _form(prompts.form(seen.table, turn))
    try:
        await run.ask(step, member.model, asked, form, keep, member.fallback, **about)
    except CallFailed as failure:
        await run.write(partial(keeping.skip, run.pk, turn.number, sentence_of_skip(member.name, failure)))


def fits(room: int | None, asked: list[Message]) -> bool:
    return room is None or prompt_tokens(asked) + COMPLAINT <= room


async def _keep_time(run: RunContext, seen: Seen, note: rules.Note, after: int) -> None:
    """By stated sentences; a model, where there is one, words them besides, and is asked once: the clock waits for
    nobody."""
    facts = prompts.facts_of(seen.table, _minutes_left(seen.debate, run.now), seen.debate.prompt_version)
    kept = partial(keeping.keep_note, run.pk, note, after, facts.told, claim=run.claimed.claims)
    keeper = seen.member(TIMEKEEPER)
    if not keeper.model:
        await run.write(partial(kept, words=""), "note")
        return
    asked = prompts.timekeeper(seen.table, keeper.seat, note, facts)
    stated = prompts.stated(note, facts, seen.table.names)
    form = _form(prompts.timekeeper_form(seen.table, keeper.seat, stated))
    try:
        step = f"note-{after}"
        await run.ask(step, keeper.model, asked, form, lambda call, words: kept(words=words), attempts=1)
    except CallFailed:
        await run.write(partial(kept, words=""), "note")


def _minutes_left(debate: Debate, now: datetime) -> int | None:
    return int((debate.until - now).total_seconds() // 60) if debate.until else None


def sentence_of_skip(name: str, failure: CallFailed) -> str:
    return f"{name} could not speak: {failure.problem}"


def sentence_of_too_few(course: rules.Course) -> str:
    silent = [one.name for one in course.voters if one.seat in course.silent]
    return f"Fewer than two members can speak. Silent: {', '.join(silent)}."


def rehearsed(messages: list[dict[str, str]]) -> str:
    """A message in the rehearsal, as it would arrive."""
    part = rehearsal.cut(messages)
    return CutShort(part) if part else rehearsal.message(messages)
