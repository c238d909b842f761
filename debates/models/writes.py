"""Writes of a debate's engine and its people. Each is part of a transaction that has locked the run's row."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db.models import Max
from django.utils import timezone

from engine.llm.errors import TRUNCATED_CODE
from engine.models import Gate, ModelCall, Run
from engine.text.search_terms import index_words, label_term
from runs.models import SearchText

from ..prompt_context import PromptPoint
from ..prompts import DebateAnswer, is_unfinished
from ..rules import state as rules
from ..rules.outcome import DebateOutcome
from .constants import DebateFlag
from .debates import Debate, DebateMember, DebateOption
from .messages import DebateMessage, DebateTurn, FirstVerdict, MessagePoint, SteeringAction
from .messages import MessagePoint as PointRow


def save_first_verdict(debate: UUID, seat: int, call: ModelCall, said: DebateAnswer) -> None:
    FirstVerdict.objects.create(
        member=_member(debate, seat),
        reasoning=said.reasoning,
        confidence=said.confidence,
        call=call,
        **_stated(debate, said.verdict),
    )


def save_missing_first_verdict(debate: UUID, seat: int, code: str) -> None:
    FirstVerdict.objects.create(member=_member(debate, seat), missing=code)


def save_turn(debate: UUID, turn: rules.TurnState) -> None:
    DebateTurn.objects.create(
        debate_id=debate,
        number=turn.number,
        member=_member(debate, turn.seat),
        why=turn.why,
        after=turn.after,
        asked_by=turn.asked_by,
        steer=turn.steer,
        weights=[list(one) for one in turn.weights],
        ticket=turn.ticket,
        series=turn.series,
    )
    if turn.steer is not None:
        SteeringAction.objects.filter(debate=debate, number=turn.steer, done=None).update(done=timezone.now())


def save_skip(debate: UUID, number: int, reason: str) -> None:
    """Skip a turn; void the gate if a person is being asked.

    The record orders skips by their times, whichever host's clock gave them: each must be later than all before. Call
    it in a transaction that has locked the run's row.
    """
    Gate.objects.filter(run=debate, step=f"turn-{number}").void()
    turns = DebateTurn.objects.filter(debate=debate)
    before = turns.filter(state=rules.MemberStatus.SKIPPED).aggregate(Max("closed"))["closed__max"]
    now = timezone.now()
    closed = max(now, before + timedelta(microseconds=1)) if before else now
    turns.filter(number=number, state=rules.MemberStatus.OPEN).update(
        state=rules.MemberStatus.SKIPPED, reason_skipped=reason, closed=closed
    )


def save_member_failure(debate: UUID, seat: int) -> None:
    """Give up a seat whose person cannot return: it is silent at once, by an act of the timekeeper. Has no effect
    in the closing, where nobody is asked again."""
    found = Debate.objects.with_messages().get(pk=debate)
    course = found.state()
    if course.because or seat in course.silent or seat in course.withdrawn:
        return
    SteeringAction.objects.create(
        debate=found,
        number=len(course.steers) + 1,
        by_name=found.at_seat(0).name,
        act=rules.SteeringKind.GIVE_UP,
        member=found.at_seat(seat),
        after=course.newest,
        done=timezone.now(),
    )


def save_message(
    debate: UUID,
    in_turn: int,
    said: DebateAnswer,
    *,
    heard: int = 0,
    continues: int | None = None,
    calls: Sequence[int] = (),
    cut: bool = False,
) -> DebateMessage:
    """Write the message of turn `in_turn`, close the turn and index the texts. `heard`: the newest message that its
    speaker had read; `calls`: the model calls that it took; `cut`: it is incomplete in spite of its
    continuations."""
    turn = DebateTurn.objects.select_related("member").get(debate=debate, number=in_turn)
    closing = turn.why == rules.TurnReason.CLOSING
    counts = not closing and continues is None and rules.TURNS[turn.member.kind].counts
    now, (number, clock) = timezone.now(), _next(debate)
    number = _in_closing(turn) if closing else number
    message = DebateMessage.objects.create(
        debate_id=debate,
        number=number,
        clock=clock if counts else None,
        kind=rules.StatementKind.CLOSING if closing else rules.StatementKind.SAID,
        turn=turn,
        member=turn.member,
        speaking_to=list(said.to),
        expects_answer=said.wants_answer,
        content=said.content,
        reasoning=said.reasoning,
        artifact=json.dumps(asdict(said.artifact), ensure_ascii=False) if said.artifact else "",
        moved_by=list(said.moved_by),
        withdrawn=said.withdrawn,
        continues=continues,
        heard=heard,
        cut=cut,
        calls=list(calls),
        made=now,
        **_stated(debate, said.verdict),
    )
    _keep_points(message, said.points)
    DebateTurn.objects.filter(pk=turn.pk).update(state=rules.MemberStatus.SPOKEN, closed=now)
    if not closing:  # last words are indexed once all may read them
        texts = [said.content, said.reasoning, *(point.claim for point in said.points)]
        SearchText.objects.add(debate, index_words("\n".join(texts)))
    return message


def _keep_points(message: DebateMessage, points: Iterable[PromptPoint]) -> None:
    PointRow.objects.bulk_create(
        PointRow(
            message=message,
            number=number,
            claim=point.claim,
            option=point.option,
            side=point.side,
            document=point.document,
            line=point.line or None,
            answers=point.answers,
        )
        for number, point in enumerate(points, 1)
    )


def save_note(debate: UUID, note: str, after: int, facts: Mapping[str, Any], words: str, claim: int) -> None:
    """Write a note. `facts`: its numbers and names; `words`: a model's wording."""
    DebateMessage.objects.create(
        debate_id=debate,
        number=_next(debate)[0],
        kind=rules.StatementKind.NOTE,
        note=note,
        after=after,
        facts=dict(facts),
        content=words,
        claim=claim,
    )


def begin_closing(debate: UUID, because: str, turns: Sequence[rules.TurnState], *, known: int) -> None:
    """Write the turns of the closing. Has no effect if the chair has extended the debate since the read that found
    its end: the next read decides. `known`: the newest act of that read."""
    if SteeringAction.objects.filter(debate=debate, act=rules.SteeringKind.EXTEND, number__gt=known).exists():
        return
    for turn in turns:
        save_turn(debate, turn)
    Debate.objects.filter(pk=debate).update(ended_because=because)
    SteeringAction.objects.filter(debate=debate, done=None).update(done=timezone.now())


def conclude(debate: UUID, because: str) -> None:
    """Write the outcome of the verdicts by the rule, in the transaction that ends the run."""
    found = Debate.objects.with_messages().get(pk=debate)
    course = found.state()
    outcome = found.result(course)
    Debate.objects.filter(pk=debate).update(no_decision=outcome.code)
    Debate.objects.filter(pk=debate, ended_because="").update(ended_because=because)
    Run.objects.filter(pk=debate).update(outcome=outcome.word)
    named = any(message.names_option for message in found.messages.all())
    closings = [one for one in found.messages.all() if one.kind == rules.StatementKind.CLOSING]
    last_words = "\n".join(f"{one.content}\n{one.reasoning}" for one in closings)
    labels = [label_term("outcome", outcome.word), *flags_of(course, outcome, named=named)]
    SearchText.objects.add(debate, [*labels, *index_words(last_words)])


def flags_of(course: rules.DebateState, outcome: DebateOutcome, *, named: bool) -> list[str]:
    """Return the search labels of an ended debate. `named`: the chair named an option."""
    known = {
        DebateFlag.CHANGED: bool(course.changes),
        DebateFlag.MINORITY: bool(outcome.option) and sum(outcome.tally.values()) > outcome.tally[outcome.option],
        DebateFlag.UNANIMOUS: bool(outcome.option) and outcome.tally[outcome.option] == outcome.base,
        DebateFlag.NO_DECISION: not outcome.option,
        DebateFlag.CHALLENGED: course.challenged is not None,
        DebateFlag.PERSON: any(seat.person for seat in course.seats),
        DebateFlag.SILENT: bool(course.silent),
        DebateFlag.CHAIR_NAMED_OPTION: named,
    }
    return [label_term("flag", flag) for flag, holds in known.items() if holds]


def calls_of(last: ModelCall) -> list[int]:
    """Return the calls that gave an answer: the last one, and those before it that were truncated."""
    if last.attempt == 1:
        return [last.pk]
    same = {"run": last.run_id, "step": last.step, "series": last.series}
    parts = ModelCall.objects.filter(**same, error_code=TRUNCATED_CODE, attempt__lt=last.attempt).order_by("attempt")
    return [*parts.values_list("pk", flat=True), last.pk]


def is_cut(calls: Sequence[int]) -> bool:
    """Return whether the answer of these calls is incomplete."""
    if len(calls) < 2:
        return False
    return is_unfinished(
        list(ModelCall.objects.filter(pk__in=calls).order_by("attempt").values_list("answer", flat=True))
    )


def _next(debate: UUID) -> tuple[int, int]:
    """Return the number and clock of the next message."""
    newest = DebateMessage.objects.filter(debate=debate).aggregate(number=Max("number"), clock=Max("clock"))
    return (newest["number"] or 0) + 1, (newest["clock"] or 0) + 1


def _in_closing(turn: DebateTurn) -> int:
    """Return the number of a last word. All members give it at the same time, so the seats number it and not
    the order of arrival; one that is missing leaves a gap."""
    closings = DebateTurn.objects.filter(debate=turn.debate_id, why=rules.TurnReason.CLOSING)
    said = DebateMessage.objects.filter(debate=turn.debate_id).exclude(kind=rules.StatementKind.CLOSING)
    newest = said.aggregate(Max("number"))["number__max"] or 0
    return newest + 1 + closings.filter(number__lt=turn.number).count()


def _member(debate: UUID, seat: int) -> DebateMember:
    return DebateMember.objects.get(debate=debate, seat=seat)


def _stated(debate: UUID, verdict: str) -> dict[str, Any]:
    if not verdict or verdict == rules.ABSTAIN:
        return {"verdict": None, "abstained": verdict == rules.ABSTAIN}
    return {"verdict": DebateOption.objects.get(debate=debate, word=verdict), "abstained": False}


def erase(pk: UUID) -> None:
    """Erase all texts that people or models wrote; seats, options, verdicts, changes, numbers and times stay."""
    Debate.objects.filter(pk=pk).update(question="", seed_word="")
    DebateOption.objects.filter(debate=pk).update(meaning="")
    DebateMember.objects.filter(debate=pk).update(who="")
    FirstVerdict.objects.filter(member__debate=pk).update(reasoning="")
    DebateTurn.objects.filter(debate=pk).update(reason_skipped="")
    MessagePoint.objects.filter(message__debate=pk).update(claim="")
    DebateMessage.objects.filter(debate=pk).update(content="", reasoning="", artifact="", request="")
    SteeringAction.objects.filter(debate=pk).update(text="", reasoning="", request="")
