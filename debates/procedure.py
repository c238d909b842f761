"""Performs a debate: the next step follows from the rows alone, so an interrupted debate resumes where it stopped.

Why so: debates/DESIGN.md, Debating.
"""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any
from uuid import UUID

from django.db.models import Sum

from engine.llm.errors import CallFailed, RunFailed
from engine.llm.response_format import ChatMessage, ContinuedAnswer, ResponseFormat, tokens_for
from engine.llm.tokens import prompt_tokens, room_of
from engine.models import Budget, Gate, ModelCall, Run
from engine.runtime.procedure import CommitChange, TruncatedAnswer
from engine.runtime.run_context import RunContext
from runs import submissions

from . import human_turns, prompts, rehearsal
from .estimate import turn_cost
from .models import Debate, PanelChanged, writes
from .models.incremental_read import DebateSnapshot, IncrementalDebate
from .rules import state as rules
from .rules import turn_taking

TIMEKEEPER = 0  # the timekeeper's seat
COMPLAINT = 150  # tokens of a retry message that may follow
CONTINUING = ContinuedAnswer(prompts.continuation_messages, prompts.join_parts)


def submit(**asked: Any) -> Debate:
    """Queue a debate and wake a worker. Takes the arguments of `Debate.objects.submit` and
    `submissions.submit_run`."""
    return submissions.submit_run(Debate.objects, refusals=(PanelChanged,), waits_as="debate", **asked)


def next_step_of(unfolding: IncrementalDebate, claim: int, now: datetime) -> DebateSnapshot:
    seen = unfolding.read(claim, now)
    course = replace(seen.course, affords=_affords(seen))
    return replace(seen, table=replace(seen.table, course=course))


def _affords(seen: DebateSnapshot) -> bool:
    """Return whether its spending limit and budgets cover one more turn and the closing after it."""
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
    """Return whether budgets cover `needed`. The amount that this run has reserved is its own; others may use the
    rest."""
    aside, where = Run.objects.values_list("reserved", "reserved_in").get(pk=run.pk)
    budgets = Budget.objects.charged_by(run.owner_id) if aside < needed else ()
    return all(one.remaining + (aside if one.pk in where else 0) >= needed for one in budgets)


def _costs(debate: Debate, said: int) -> list[int]:
    """Return the cost of one more answer of each member that has a model."""
    read = debate.read
    return [turn_cost(read, vars(one), said) for one in debate.seated if one.model]


def held_back(run: Run) -> int:
    """Return the cost of the closing until it has begun: it stays reserved, so that spending by others cannot
    prevent it."""
    if not Run.objects.filter(pk=run.pk, reserved__gt=0).exists():
        return 0
    debate = Debate.objects.prefetch_related("members", "run__documents").get(pk=run.pk)
    return 0 if debate.ended_because else sum(_costs(debate, debate.messages.count()))


async def perform(run: RunContext) -> CommitChange:
    unfolding = IncrementalDebate(run.pk)
    while True:
        seen = await run.read_snapshot(partial(next_step_of, unfolding, run.claimed.claims, run.now))
        step = turn_taking.next_step(seen.course)
        if isinstance(step, turn_taking.EndDebate):
            return partial(writes.conclude, run.pk, step.because)
        await _take(run, seen, step)


async def _take(run: RunContext, seen: DebateSnapshot, step: turn_taking.NextStep) -> None:
    match step:
        case turn_taking.CollectFirstVerdicts(seats):
            await run.gather(*(_first(run, seen, seat) for seat in seats))
        case turn_taking.AddTimekeeperNote(note, after):
            await _keep_time(run, seen, note, after)
        case turn_taking.AwaitAnswer(turn, continues):
            await _hear(run, seen, turn, continues)
        case turn_taking.CollectClosing(turns):
            await run.gather(*(_hear(run, seen, turn) for turn in turns))
        case turn_taking.WaitUntil():
            await run.yield_to_others()
        case turn_taking.EndForLackOfMembers():
            raise RunFailed("member_failed", sentence_of_too_few(seen.course))
        case _:
            await run.write(partial(_written(seen.course, step), run.pk), "turn")


def _written(course: rules.DebateState, step: turn_taking.NextStep) -> Callable[[UUID], None]:
    """Return the write for a step that asks nobody."""
    match step:
        case turn_taking.GiveTurn(turn):
            return partial(writes.save_turn, turn=turn)
        case turn_taking.SkipTurn(turn, reason):
            return partial(writes.save_skip, number=turn.number, reason=reason)
        case turn_taking.BeginClosing(because, turns):
            return partial(writes.begin_closing, because=because, turns=turns, known=course.newest_act)
    raise AssertionError(f"no such step: {step}")


def _form(form: prompts.AnswerSpec) -> ResponseFormat[Any]:
    said = form._asdict()
    return ResponseFormat(max_tokens=tokens_for(said.pop("longest")), **said)


async def _first(run: RunContext, seen: DebateSnapshot, seat: int) -> None:
    member = seen.member(seat)

    def keep(call: ModelCall, said: prompts.DebateAnswer) -> None:
        writes.save_first_verdict(run.pk, seat, call, said)

    form = _form(prompts.first_verdict_spec(seen.table, seat))
    try:
        await run.request_model(
            f"first-{seat}", member.model, prompts.first_verdict_messages(seen.table, seat), form, keep, member.fallback
        )
    except CallFailed as failure:
        await run.write(partial(writes.save_missing_first_verdict, run.pk, seat, failure.code))


async def _hear(run: RunContext, seen: DebateSnapshot, turn: rules.TurnState, continues: int | None = None) -> None:
    hear = _hear_person if seen.member(turn.seat).is_person else _hear_model
    await hear(run, seen, turn, continues)


async def _hear_person(run: RunContext, seen: DebateSnapshot, turn: rules.TurnState, continues: int | None) -> None:
    """Wait until this person has answered, which is written in the transaction of the decision."""
    member, step = seen.member(turn.seat), human_turns.step_of(turn)
    user = await run.read(partial(human_turns.user_of, member))
    if user is None:
        await run.write(partial(human_turns.leave_seat, run.pk, turn, member.name, human_turns.LEFT_TEXT))
        return
    asked: dict[str, Any] = {
        "title": human_turns.gate_title(seen.debate),
        "text": human_turns.text_of(seen.table, turn, continues),
    }
    policy = human_turns.policy_of(seen.debate)
    gate = await run.gate(step, kind=human_turns.KIND, policy=policy, choices=human_turns.CHOICES, asked=user, **asked)
    if gate.state == Gate.State.EXPIRED:
        await run.write(partial(human_turns.leave_seat, run.pk, turn, member.name, human_turns.ABSENT_TEXT))


async def _hear_model(run: RunContext, seen: DebateSnapshot, turn: rules.TurnState, continues: int | None) -> None:
    member, step = seen.member(turn.seat), human_turns.step_of(turn)

    def keep(call: ModelCall, said: prompts.DebateAnswer) -> None:
        calls = writes.calls_of(call)
        heard, cut = seen.course.newest_read(turn), writes.is_cut(calls)
        writes.save_message(run.pk, turn.number, said, heard=heard, continues=continues, calls=calls, cut=cut)

    room = room_of([member.model, member.fallback])
    asked, short = prompts.in_room(seen.table, turn, continues, partial(fits, room))
    about: dict[str, Any] = {"on_cut": CONTINUING, "left_out": short.sentence}
    form = _form(prompts.message_spec(seen.table, turn))
    try:
        await run.request_model(step, member.model, asked, form, keep, member.fallback, **about)
    except CallFailed as failure:
        await run.write(partial(writes.save_skip, run.pk, turn.number, sentence_of_skip(member.name, failure)))


def fits(room: int | None, asked: list[ChatMessage]) -> bool:
    return room is None or prompt_tokens(asked) + COMPLAINT <= room


async def _keep_time(run: RunContext, seen: DebateSnapshot, note: rules.NoteKind, after: int) -> None:
    """Write a note in stated sentences. The timekeeper's model, if there is one, rewords them in a single attempt:
    a debate does not wait for it."""
    facts = prompts.note_facts(seen.table, _minutes_left(seen.debate, run.now), seen.debate.prompt_version)
    kept = partial(writes.save_note, run.pk, note, after, facts.told, claim=run.claimed.claims)
    keeper = seen.member(TIMEKEEPER)
    if not keeper.model:
        await run.write(partial(kept, words=""), "note")
        return
    asked = prompts.timekeeper_messages(seen.table, keeper.seat, note, facts)
    stated = prompts.note_sentences(note, facts, seen.table.names)
    form = _form(prompts.timekeeper_spec(seen.table, keeper.seat, stated))
    try:
        step = f"note-{after}"
        await run.request_model(step, keeper.model, asked, form, lambda call, words: kept(words=words), attempts=1)
    except CallFailed:
        await run.write(partial(kept, words=""), "note")


def _minutes_left(debate: Debate, now: datetime) -> int | None:
    return int((debate.until - now).total_seconds() // 60) if debate.until else None


def sentence_of_skip(name: str, failure: CallFailed) -> str:
    return f"{name} could not speak: {failure.problem}"


def sentence_of_too_few(course: rules.DebateState) -> str:
    silent = [one.name for one in course.voters if one.seat in course.silent]
    return f"Fewer than two members can speak. Silent: {', '.join(silent)}."


def rehearsed_message(messages: list[dict[str, str]]) -> str:
    """Return the message of the rehearsal; a cut one is a TruncatedAnswer."""
    part = rehearsal.continue_message(messages)
    return TruncatedAnswer(part) if part else rehearsal.message(messages)
