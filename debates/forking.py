"""Forks of debates: a new debate that continues from a message of another one.

Why so: runs/DESIGN.md, Forks.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

from engine.models import NewDocument
from runs.forking import ForkEffects, ForkRefused, NoForkPoint, Section
from runs.procedure.schemas import NewFork

from . import procedure
from .models import SWITCHES, Debate, DebateMember
from .models.forks import DebateMoment, bring_along
from .rules.state import TURNS
from .schemas import NewDebateFork

LONGEST = 300  # characters of a message on the page
NOT_OVER = (
    "A debate that goes on cannot be forked: nobody may know its seed, nor what members said alone. Fork it when it is "
    "over."
)
TIME = "The debate ended at a moment at the latest. The fork has no such moment."
ENDED = "The chair's orders to end it do not come along."


class DebateForks:
    unit, template = "message", ""
    body: type[NewFork] = NewDebateFork
    styles: tuple[str, ...] = ()
    along = (
        "The panel, first positions, turns and messages up to there come along and count in the tally as stated then. "
        "Draws come from the same seed. What you write is said first, by the chair."
    )

    def preview(self, row: Debate, number: int) -> ForkEffects:
        moment = _moment(row, number)
        return ForkEffects(number, len(moment.all), f"message {number}", tuple(_undone(moment)), (), tuple(_notes(row)))

    def submit(self, row: Debate, number: int, *, words: str, spend: int | None, **asked: Any) -> Debate:
        moment = _moment(row, number)
        version = row.panel_version
        is_current = version is not None and version.panel.current_id == version.pk
        return procedure.submit(
            question=row.question,
            options=[{name: getattr(one, name) for name in ("word", "meaning", "direction")} for one in _options(row)],
            members=[_member(one) for one in row.seated],
            title=row.run.title,
            timekeeper=row.at_seat(0).model,
            rule=row.rule,
            most=row.most,
            spend=spend,
            reply_within=row.reply_within,
            view=row.view,
            switches={name: getattr(row, name) for name in SWITCHES},
            seed=bytes.fromhex(row.seed),
            documents=[_document(one) for one in row.run.documents.all()],
            panel=version if is_current else None,
            earlier=row,
            carry=partial(bring_along, moment, words=words, user=asked.get("owner")),
            **asked,
        )


def _options(row: Debate) -> list[Any]:
    return sorted(row.options.all(), key=lambda one: one.number)


def _member(one: DebateMember) -> Any:
    return {"name": one.name, "who": one.who, "model": one.model, "fallback": one.fallback, "user": one.user}


def _document(one: Any) -> NewDocument:
    return NewDocument(one.title, one.kind, tuple(one.lines), one.digest)


def _moment(row: Debate, number: int) -> DebateMoment:
    """Return the moment after message `number`. Raises NoForkPoint without such a message, and ForkRefused if the
    debate cannot be forked there."""
    if not row.run.is_ended:
        raise ForkRefused(NOT_OVER)
    moment = DebateMoment(row, number)
    if not 0 < number <= len(moment.all):
        raise NoForkPoint(f"There is no message {number} before the last words: there are {len(moment.all)}.")
    if number < len(moment.all) and moment.all[number].continues == number:
        raise ForkRefused(f"Message {number} goes on in message {number + 1}. Choose that one.")
    if moment.entry() is None:
        raise ForkRefused("The record does not have this message. Choose an earlier one.")
    if any(one.user_name and one.user is None for one in row.seated):
        raise ForkRefused("Somebody who sat there has no account any more, so the panel cannot meet again.")
    return moment


# ---- the page -------------------------------------------------------------------------------------------------


def _undone(moment: DebateMoment) -> Iterator[Section]:
    names = {one.pk: one.name for one in moment.debate.members_by_seat}
    said = []
    for one in moment.later:
        who = names.get(one.member_id or 0, one.by_name or "The timekeeper")
        said.append(f"{one.number}, {who}: {one.content[:LONGEST] or one.note or one.kind}")
    yield Section("Messages", tuple(said), "No message came after it.")
    yield Section("Positions", tuple(_positions(moment)), "They are as they were at the end.")


def _positions(moment: DebateMoment) -> Iterator[str]:
    """Yield the members whose position at the fork differs from their last one."""
    course = moment.debate.shown_state
    then = course.verdict_at(moment.number)
    for seat in course.speakers:
        before, after = then.get(seat.seat, ""), course.verdict_of.get(seat.seat, "")
        if TURNS[seat.kind].votes and before != after:
            yield f"{seat.name}: {before or 'none'} then, {after or 'none'} at the end"


def _notes(row: Debate) -> Iterator[str]:
    yield ENDED
    if row.until:
        yield TIME
