"""What people do to a running debate from any interface: rows in one transaction that wakes the run.

The interfaces check permissions first. Each act is done once for the key of its form, however often it is sent.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from hashlib import sha256
from typing import Any
from uuid import UUID

from asgiref.sync import async_to_sync
from django.core.exceptions import ValidationError
from django.db.models import F
from django.utils import timezone

from engine import run_control
from engine.models import AuthorContribution, Run, RunAuthor, record_name
from engine.models.budgets import Budget
from engine.pubsub import publish_cancelled, publish_revision, wake_workers
from engine.text.search_terms import index_words
from runs.forms import PlainTextField
from runs.models import SearchText
from runs.rights import RunRight

from .estimate import estimate
from .models import CONTENT_LENGTH, Debate, DebateMember, DebateMessage, SteeringAction
from .models.constants import is_named
from .models.visibility import hides_first_verdicts
from .rules import state as rules
from .rules.state import SteeringKind

MOST_MESSAGES = 40
ENDED_TEXT = "The debate is over."
CLOSING_TEXT = "The closing has begun: who has the floor now speaks last."
IMMEDIATE_ACTIONS = (SteeringKind.EXTEND, SteeringKind.GIVE_UP, SteeringKind.LOOK)
READ_FIRSTS_RIGHT = RunRight(
    "debates.look_at_firsts", "look at what its members said alone before it is over", own=False
)
NOTHING_HIDDEN = "What the members said alone is not hidden, or there is nothing of it yet."
SEATED_TEXT = "You sit at this table: what the others said alone would sway you."

_WORDS = PlainTextField(max_length=CONTENT_LENGTH, needed="Write what is to be said. It is empty.", lines=True)


class ModerationRefused(Exception):
    """An act was refused and nothing was written. The message is a sentence for people."""


@dataclass(frozen=True)
class Moderation:
    """One act on one debate, with the state before it. `request`: a digest of the key that it came with."""

    debate: Debate
    by: Any
    request: str

    @cached_property
    def course(self) -> rules.DebateState:
        return self.debate.state()

    def member(self, seat: int | None) -> DebateMember:
        """Return the member on a seat; the timekeeper is none. Raises ModerationRefused."""
        found = next((one for one in self.debate.seated if one.seat == seat), None)
        if found is None:
            raise ModerationRefused("Nobody sits there. Name the seat of a member.")
        return found

    def say(self, text: str, to: int | None, expects_answer: bool) -> None:
        DebateMessage.objects.create(
            debate=self.debate,
            number=self.course.newest + 1,
            kind=rules.StatementKind.CHAIR,
            by=self.by,
            by_name=record_name(self.by),
            speaking_to=[] if to is None else [to],
            expects_answer=expects_answer,
            content=text,
            names_option=any(is_named(word, text) for word in self.course.settings.options),
            request=self.request,
        )
        RunAuthor.objects.note(self.debate.pk, self.by, AuthorContribution.SAID)

    def leave(self, member: DebateMember, **stated: Any) -> None:
        """Write the withdrawal as a message, so that all who read it see the person's verdict and reason."""
        DebateMessage.objects.create(
            debate=self.debate,
            number=self.course.newest + 1,
            kind=rules.StatementKind.LEAVING,
            member=member,
            by=self.by,
            by_name=member.user_name,
            withdrawn=True,
            heard=self.course.newest,
            request=self.request,
            **stated,
        )
        if stated["reasoning"]:
            RunAuthor.objects.note(self.debate.pk, self.by, AuthorContribution.SAID)

    def steer(self, act: SteeringKind, member: DebateMember | None = None, request: str = "", **more: Any) -> None:
        SteeringAction.objects.create(
            debate=self.debate,
            number=max((one.number for one in self.debate.steers.all()), default=0) + 1,
            by=self.by,
            by_name=record_name(self.by),
            act=act,
            member=member,
            after=self.course.newest,
            done=timezone.now() if act in IMMEDIATE_ACTIONS else None,
            request=request,
            **more,
        )


# ---- the public functions ---------------------------------------------------------------------------------


def post_message(pk: UUID, by: Any, text: str, *, to: int | None = None, ask: bool = False, key: str = "") -> None:
    """Post a message of the chair to the member on seat `to`, or to everyone. `ask`: that member has the floor
    next.

    Raises ModerationRefused.
    """
    _do(pk, by, key, partial(_say, text=_checked(text), to=to, ask=ask))


def apply_steering(
    pk: UUID, by: Any, act: str, *, seat: int | None = None, amount: int = rules.SPAN, key: str = ""
) -> None:
    """Apply an act of the chair. `seat`: the member that it concerns; `amount`: additional messages. Raises
    ModerationRefused, and BudgetExceeded if more messages cost more than is left."""
    if act not in _ACTS:
        raise ModerationRefused(f"There is no such way to steer. There are: {', '.join(_ACTS)}.")
    _do(pk, by, key, partial(_steer, act=SteeringKind(act), seat=seat, amount=amount))


def withdraw_member(pk: UUID, by: Any, verdict: str, reasoning: str, key: str = "") -> None:
    """Withdraw a person on a seat, at any time: with an option, ABSTAIN, or the current verdict. Raises
    ModerationRefused."""
    _do(pk, by, key, partial(_withdraw, verdict=verdict, reasoning=reasoning))


def read_first_statements(pk: UUID, by: Any) -> None:
    """Log that this person sees the first verdicts before they are published. Raises ModerationRefused."""
    _do(pk, by, "", _look)


def has_read_first_statements(debate: Debate, user: Any) -> bool:
    return any(one.act == SteeringKind.LOOK and one.by_id == user.pk for one in debate.steers.all())


def may_read_first_statements(debate: Debate, user: Any) -> bool:
    return not debate.run.is_ended and READ_FIRSTS_RIGHT.covers(user, debate.run) and not _why_not_looked(debate, user)


def may_withdraw(debate: Debate, user: Any) -> bool:
    member = _seat_of(debate, user)
    return member is not None and not debate.run.is_ended and member.seat not in debate.state().withdrawn


ModerationCommand = Callable[[Moderation], bool]
"""Writes its rows and returns whether it ends the request that is running now."""


def _do(pk: UUID, by: Any, key: str, do: ModerationCommand) -> None:
    request = sha256(f"{by.pk}\n{key}".encode()).hexdigest() if key else ""
    if _was_done(pk, request):
        return
    try:
        drops = run_control.apply_action(pk, partial(_act, pk, by, request, do))
    except run_control.RunEnded as error:
        raise ModerationRefused(ENDED_TEXT) from error
    if drops:
        async_to_sync(publish_cancelled)(pk)
    async_to_sync(wake_workers)()
    async_to_sync(publish_revision)(pk)


def _act(pk: UUID, by: Any, request: str, do: ModerationCommand) -> bool:
    """Perform the act unless it was done for this key. The run's row is locked, so that numbers and states are
    final."""
    if _was_done(pk, request):
        return False
    drops = do(Moderation(Debate.objects.with_messages().get(pk=pk), by, request))
    if drops:
        run_control.signal_worker(pk)
    return drops


def _was_done(pk: UUID, request: str) -> bool:
    rows = (DebateMessage.objects, SteeringAction.objects)
    return bool(request) and any(one.filter(debate=pk, request=request).exists() for one in rows)


# ---- the acts ---------------------------------------------------------------------------------------------


def _checked(text: str) -> str:
    try:
        return _WORDS.clean(text)
    except ValidationError as error:
        raise ModerationRefused(error.messages[0]) from error


def _say(deed: Moderation, text: str, to: int | None, ask: bool) -> bool:
    _refuse_closing(deed)
    if sum(one.sort == rules.StatementKind.CHAIR for one in deed.course.messages) >= MOST_MESSAGES:
        raise ModerationRefused(f"The chair has spoken {MOST_MESSAGES} times, as often as it may.")
    member = None if to is None else deed.member(to)
    if ask:
        if member is None:
            raise ModerationRefused("Say who is to answer: one member.")
        _refuse_unable(deed, member)
        _refuse_second_recall(deed, member)
    deed.say(text, to, ask)
    if ask:
        deed.steer(SteeringKind.ASK, member)
    SearchText.objects.add(deed.debate.pk, index_words(text))
    return False


def _steer(deed: Moderation, act: SteeringKind, seat: int | None, amount: int) -> bool:
    return _ACTS[act](deed, seat, amount)


def _extend(deed: Moderation, seat: int | None, amount: int) -> bool:
    _refuse_closing(deed)
    most = deed.course.most
    if deed.course.acts(SteeringKind.CLOSE, SteeringKind.CLOSE_AT_ONCE, SteeringKind.END):
        raise ModerationRefused("It is being closed: there is no more time to give.")
    if amount <= 0 or amount % rules.SPAN:
        raise ModerationRefused(f"Time is given in steps of {rules.SPAN} messages.")
    if most + amount > rules.MOST:
        raise ModerationRefused(f"A debate has at most {rules.MOST} messages. This one may have {most} already.")
    _set_aside(deed.debate, most, most + amount)
    deed.steer(SteeringKind.EXTEND, None, deed.request, amount=amount)
    return False


def _set_aside(debate: Debate, before: int, after: int) -> None:
    """Reserve the cost of the additional messages in the budgets of the run."""
    least, most = _most_costs(debate, before), _most_costs(debate, after)
    amount = None if least is None or most is None else max(0, most - least)
    taken = Budget.objects.reserve(debate.run.owner_id, amount)
    known = Run.objects.values_list("reserved_in", flat=True).get(pk=debate.pk)
    where = sorted({*known, *taken["reserved_in"]})
    Run.objects.filter(pk=debate.pk).update(reserved=F("reserved") + taken["reserved"], reserved_in=where)


def _most_costs(debate: Debate, most: int) -> int | None:
    asked: list[Mapping[str, Any]] = [{"model": one.model, "fallback": one.fallback} for one in debate.seated]
    expected, spend = estimate(debate.read, asked, debate.at_seat(0).model, most).cost, debate.run.spend
    return spend if expected is None or (spend is not None and spend < expected) else expected


def _close(deed: Moderation, seat: int | None, amount: int) -> bool:
    _refuse_closing(deed)
    if deed.course.acts(SteeringKind.CLOSE, SteeringKind.CLOSE_AT_ONCE, SteeringKind.END):
        raise ModerationRefused("It is being closed already.")
    deed.steer(SteeringKind.CLOSE, None, deed.request)
    return False


def _close_at_once(deed: Moderation, seat: int | None, amount: int) -> bool:
    _refuse_closing(deed)
    if deed.course.acts(SteeringKind.CLOSE_AT_ONCE, SteeringKind.END):
        raise ModerationRefused("It is being closed already.")
    deed.steer(SteeringKind.CLOSE_AT_ONCE, None, deed.request)
    return deed.course.open_turn is not None


def _end(deed: Moderation, seat: int | None, amount: int) -> bool:
    """End the debate, also during its closing: members without a last word then give none."""
    if deed.course.acts(SteeringKind.END):
        raise ModerationRefused("It is being ended already.")
    deed.steer(SteeringKind.END, None, deed.request)
    return deed.course.open_turn is not None or bool(deed.debate.ended_because)


def _ask(deed: Moderation, seat: int | None, amount: int) -> bool:
    """Give a member the floor next, without a message."""
    _refuse_closing(deed)
    member = deed.member(seat)
    _refuse_unable(deed, member)
    _refuse_second_recall(deed, member)
    deed.steer(SteeringKind.ASK, member, deed.request)
    return False


def _recall(deed: Moderation, seat: int | None, amount: int) -> bool:
    _refuse_closing(deed)
    member = deed.member(seat)
    _refuse_unable(deed, member)
    if member.seat not in deed.course.withdrawn:
        raise ModerationRefused(f"{member.name} has not withdrawn. To give it the floor, ask it something.")
    _refuse_second_recall(deed, member)
    deed.steer(SteeringKind.RECALL, member, deed.request)
    return False


def _give_up(deed: Moderation, seat: int | None, amount: int) -> bool:
    _refuse_closing(deed)
    member = deed.member(seat)
    _refuse_unable(deed, member)
    if member.seat in deed.course.withdrawn:
        raise ModerationRefused(f"{member.name} has withdrawn: there is nothing to give up.")
    deed.steer(SteeringKind.GIVE_UP, member, deed.request)
    turn = deed.course.open_turn
    return turn is not None and turn.seat == seat


def _withdraw(deed: Moderation, verdict: str, reasoning: str) -> bool:
    member, course = _seat_of(deed.debate, deed.by), deed.course
    if member is None:
        raise ModerationRefused("You have no seat in this debate.")
    _refuse_closing(deed)
    if member.seat in course.withdrawn:
        raise ModerationRefused("You have withdrawn already.")
    stands_by = course.verdict_of.get(member.seat, "")
    verdict = verdict or (stands_by if reasoning else "")
    if not verdict and not stands_by:
        raise ModerationRefused("You have no verdict yet. Name one, or abstain, and say why.")
    option = deed.debate.option_called(verdict)
    if verdict not in ("", rules.ABSTAIN) and option is None:
        raise ModerationRefused(
            f"There is no such option. There are: {', '.join(course.settings.options)}, {rules.ABSTAIN}."
        )
    if verdict and verdict != stands_by and len(reasoning.split()) < 2:
        raise ModerationRefused("Say in a sentence why: a verdict needs a reason.")
    stated: dict[str, Any] = {"verdict": option, "abstained": verdict == rules.ABSTAIN}
    stated["reasoning"] = _checked(reasoning) if reasoning else ""
    deed.leave(member, **stated)
    SearchText.objects.add(deed.debate.pk, index_words(reasoning))
    return False


def _look(deed: Moderation) -> bool:
    """Log the view once for each person."""
    if reason := _why_not_looked(deed.debate, deed.by):
        raise ModerationRefused(reason)
    if not has_read_first_statements(deed.debate, deed.by):
        deed.steer(SteeringKind.LOOK)
    return False


_ACTS: Mapping[str, Callable[[Moderation, int | None, int], bool]] = {
    SteeringKind.EXTEND: _extend,
    SteeringKind.CLOSE: _close,
    SteeringKind.CLOSE_AT_ONCE: _close_at_once,
    SteeringKind.END: _end,
    SteeringKind.ASK: _ask,
    SteeringKind.RECALL: _recall,
    SteeringKind.GIVE_UP: _give_up,
}


# ---- reasons for refusal ----------------------------------------------------------------------------------


def _seat_of(debate: Debate, user: Any) -> DebateMember | None:
    return next((one for one in debate.seated if one.user_id == user.pk), None)


def _why_not_looked(debate: Debate, user: Any) -> str:
    if _seat_of(debate, user):
        return SEATED_TEXT
    said = hides_first_verdicts(debate) and any(hasattr(one, "first") for one in debate.seated)
    return "" if said else NOTHING_HIDDEN


def _refuse_closing(deed: Moderation) -> None:
    if deed.debate.ended_because:
        raise ModerationRefused(CLOSING_TEXT)


def _refuse_unable(deed: Moderation, member: DebateMember) -> None:
    if member.seat in deed.course.silent:
        raise ModerationRefused(f"{member.name} is silent: its model failed, or it was given up.")


def _refuse_second_recall(deed: Moderation, member: DebateMember) -> None:
    """Refuse to recall a withdrawn member a second time."""
    if member.seat in deed.course.withdrawn and _recalled(deed.debate, member):
        raise ModerationRefused(f"{member.name} has withdrawn and was recalled once. That is as often as it goes.")


def _recalled(debate: Debate, member: DebateMember) -> bool:
    left = [one.made for one in debate.messages.all() if one.withdrawn and one.member_id == member.pk]
    left += [one.made for one in debate.steers.all() if one.act == SteeringKind.WITHDRAW and one.member_id == member.pk]
    acts = (
        one
        for one in debate.steers.all()
        if one.act in (SteeringKind.ASK, SteeringKind.RECALL) and one.member_id == member.pk
    )
    return any(one.made >= min(left) for one in acts)
