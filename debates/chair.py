"""What people do to a debate while it goes on, from any door: rows in one transaction of which the run hears.

Who may do it, the doors ask first. Each act is done once for the key of its form, however often that comes.
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

from engine import steering
from engine.live import tell_of_cancelled, tell_watchers, wake_engines
from engine.models import Part, Run, RunAuthor, record_name
from engine.models.budgets import Budget
from engine.search import words_of
from runs.forms import Text
from runs.models import SearchText
from runs.rights import Right

from .estimate import estimate
from .models import CONTENT_LENGTH, Debate, Member, Message, Steer
from .models.secret import firsts_hidden
from .models.values import is_named
from .rules import course as rules
from .rules.course import Act

MOST_MESSAGES = 40
OVER = "The debate is over."
CLOSING = "The closing has begun: who has the floor now speaks last."
DONE_AT_ONCE = (Act.EXTEND, Act.GIVE_UP, Act.LOOK)
LOOK = Right("debates.look_at_firsts", "look at what its members said alone before it is over", own=False)
NOTHING_HIDDEN = "What the members said alone is not hidden, or there is nothing of it yet."
SITS = "You sit at this table: what the others said alone would sway you."

_WORDS = Text(max_length=CONTENT_LENGTH, needed="Write what is to be said. It is empty.", lines=True)


class Refused(Exception):
    """Nothing was done. The text is a sentence for people."""


@dataclass(frozen=True)
class Deed:
    """One act on one debate, and where that stood before it. `request`: a digest of the key that it came with."""

    debate: Debate
    by: Any
    request: str

    @cached_property
    def course(self) -> rules.Course:
        return self.debate.course()

    def member(self, seat: int | None) -> Member:
        """One with the floor now and then: nobody asks the timekeeper."""
        found = next((one for one in self.debate.seated if one.seat == seat), None)
        if found is None:
            raise Refused("Nobody sits there. Name the seat of a member.")
        return found

    def say(self, text: str, to: int | None, expects_answer: bool) -> None:
        Message.objects.create(
            debate=self.debate,
            number=self.course.newest + 1,
            kind=rules.Sort.CHAIR,
            by=self.by,
            by_name=record_name(self.by),
            speaking_to=[] if to is None else [to],
            expects_answer=expects_answer,
            content=text,
            names_option=any(is_named(word, text) for word in self.course.settings.options),
            request=self.request,
        )
        RunAuthor.objects.note(self.debate.pk, self.by, Part.SAID)

    def leave(self, member: Member, **stated: Any) -> None:
        """A message like any other, so that whoever is told of it hears what that person stood by, and why."""
        Message.objects.create(
            debate=self.debate,
            number=self.course.newest + 1,
            kind=rules.Sort.LEAVING,
            member=member,
            by=self.by,
            by_name=member.user_name,
            withdrawn=True,
            heard=self.course.newest,
            request=self.request,
            **stated,
        )
        if stated["reasoning"]:
            RunAuthor.objects.note(self.debate.pk, self.by, Part.SAID)

    def steer(self, act: Act, member: Member | None = None, request: str = "", **more: Any) -> None:
        Steer.objects.create(
            debate=self.debate,
            number=max((one.number for one in self.debate.steers.all()), default=0) + 1,
            by=self.by,
            by_name=record_name(self.by),
            act=act,
            member=member,
            after=self.course.newest,
            done=timezone.now() if act in DONE_AT_ONCE else None,
            request=request,
            **more,
        )


# ---- the doors --------------------------------------------------------------------------------------------


def say(pk: UUID, by: Any, text: str, *, to: int | None = None, ask: bool = False, key: str = "") -> None:
    """Let all hear it, as said to the member on this seat or to everyone. `ask`: that member has the floor next.

    Raises Refused.
    """
    _do(pk, by, key, partial(_say, text=_checked(text), to=to, ask=ask))


def steer(pk: UUID, by: Any, act: str, *, seat: int | None = None, amount: int = rules.SPAN, key: str = "") -> None:
    """`seat`: of whom it is about; `amount`: of messages more. Raises Refused, and BudgetUsedUp where more messages
    need more money than there is."""
    if act not in _ACTS:
        raise Refused(f"There is no such way to steer. There are: {', '.join(_ACTS)}.")
    _do(pk, by, key, partial(_steer, act=Act(act), seat=seat, amount=amount))


def withdraw(pk: UUID, by: Any, verdict: str, reasoning: str, key: str = "") -> None:
    """What a person on a seat may do at any time: leave with an option, ABSTAIN, or as it stands. Raises Refused."""
    _do(pk, by, key, partial(_withdraw, verdict=verdict, reasoning=reasoning))


def look(pk: UUID, by: Any) -> None:
    """Put on record that this person sees what the members said alone before it is shown. Raises Refused."""
    _do(pk, by, "", _look)


def has_looked(debate: Debate, user: Any) -> bool:
    return any(one.act == Act.LOOK and one.by_id == user.pk for one in debate.steers.all())


def may_look(debate: Debate, user: Any) -> bool:
    return not debate.run.over and LOOK.covers(user, debate.run) and not _why_not_looked(debate, user)


def may_withdraw(debate: Debate, user: Any) -> bool:
    member = _seat_of(debate, user)
    return member is not None and not debate.run.over and member.seat not in debate.course().withdrawn


Do = Callable[[Deed], bool]
"""Writes its rows, and says whether it takes away what somebody is being asked just now."""


def _do(pk: UUID, by: Any, key: str, do: Do) -> None:
    request = sha256(f"{by.pk}\n{key}".encode()).hexdigest() if key else ""
    if _was_done(pk, request):
        return
    try:
        drops = steering.act(pk, partial(_act, pk, by, request, do))
    except steering.Over as error:
        raise Refused(OVER) from error
    if drops:
        async_to_sync(tell_of_cancelled)(pk)
    async_to_sync(wake_engines)()
    async_to_sync(tell_watchers)(pk)


def _act(pk: UUID, by: Any, request: str, do: Do) -> bool:
    """The run's row is ours by now: numbers and states are those that will be."""
    if _was_done(pk, request):
        return False
    drops = do(Deed(Debate.objects.talked().get(pk=pk), by, request))
    if drops:
        steering.interrupt(pk)
    return drops


def _was_done(pk: UUID, request: str) -> bool:
    rows = (Message.objects, Steer.objects)
    return bool(request) and any(one.filter(debate=pk, request=request).exists() for one in rows)


# ---- what it comes to -------------------------------------------------------------------------------------


def _checked(text: str) -> str:
    try:
        return _WORDS.clean(text)
    except ValidationError as error:
        raise Refused(error.messages[0]) from error


def _say(deed: Deed, text: str, to: int | None, ask: bool) -> bool:
    _refuse_closing(deed)
    if sum(one.sort == rules.Sort.CHAIR for one in deed.course.messages) >= MOST_MESSAGES:
        raise Refused(f"The chair has spoken {MOST_MESSAGES} times, as often as it may.")
    member = None if to is None else deed.member(to)
    if ask:
        if member is None:
            raise Refused("Say who is to answer: one member.")
        _refuse_unable(deed, member)
        _refuse_second_recall(deed, member)
    deed.say(text, to, ask)
    if ask:
        deed.steer(Act.ASK, member)
    SearchText.objects.add(deed.debate.pk, words_of(text))
    return False


def _steer(deed: Deed, act: Act, seat: int | None, amount: int) -> bool:
    return _ACTS[act](deed, seat, amount)


def _extend(deed: Deed, seat: int | None, amount: int) -> bool:
    _refuse_closing(deed)
    most = deed.course.most
    if deed.course.acts(Act.CLOSE, Act.CLOSE_AT_ONCE, Act.END):
        raise Refused("It is being closed: there is no more time to give.")
    if amount <= 0 or amount % rules.SPAN:
        raise Refused(f"Time is given in steps of {rules.SPAN} messages.")
    if most + amount > rules.MOST:
        raise Refused(f"A debate has at most {rules.MOST} messages. This one may have {most} already.")
    _set_aside(deed.debate, most, most + amount)
    deed.steer(Act.EXTEND, None, deed.request, amount=amount)
    return False


def _set_aside(debate: Debate, before: int, after: int) -> None:
    """What the messages more may cost, from the budgets that the run draws on."""
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


def _close(deed: Deed, seat: int | None, amount: int) -> bool:
    _refuse_closing(deed)
    if deed.course.acts(Act.CLOSE, Act.CLOSE_AT_ONCE, Act.END):
        raise Refused("It is being closed already.")
    deed.steer(Act.CLOSE, None, deed.request)
    return False


def _close_at_once(deed: Deed, seat: int | None, amount: int) -> bool:
    _refuse_closing(deed)
    if deed.course.acts(Act.CLOSE_AT_ONCE, Act.END):
        raise Refused("It is being closed already.")
    deed.steer(Act.CLOSE_AT_ONCE, None, deed.request)
    return deed.course.open_turn is not None


def _end(deed: Deed, seat: int | None, amount: int) -> bool:
    """Also while its closing goes on: who has not said a last word then says none."""
    if deed.course.acts(Act.END):
        raise Refused("It is being ended already.")
    deed.steer(Act.END, None, deed.request)
    return deed.course.open_turn is not None or bool(deed.debate.ended_because)


def _ask(deed: Deed, seat: int | None, amount: int) -> bool:
    """Without a word: that member has the floor next."""
    _refuse_closing(deed)
    member = deed.member(seat)
    _refuse_unable(deed, member)
    _refuse_second_recall(deed, member)
    deed.steer(Act.ASK, member, deed.request)
    return False


def _recall(deed: Deed, seat: int | None, amount: int) -> bool:
    _refuse_closing(deed)
    member = deed.member(seat)
    _refuse_unable(deed, member)
    if member.seat not in deed.course.withdrawn:
        raise Refused(f"{member.name} has not withdrawn. To give it the floor, ask it something.")
    _refuse_second_recall(deed, member)
    deed.steer(Act.RECALL, member, deed.request)
    return False


def _give_up(deed: Deed, seat: int | None, amount: int) -> bool:
    _refuse_closing(deed)
    member = deed.member(seat)
    _refuse_unable(deed, member)
    if member.seat in deed.course.withdrawn:
        raise Refused(f"{member.name} has withdrawn: there is nothing to give up.")
    deed.steer(Act.GIVE_UP, member, deed.request)
    turn = deed.course.open_turn
    return turn is not None and turn.seat == seat


def _withdraw(deed: Deed, verdict: str, reasoning: str) -> bool:
    member, course = _seat_of(deed.debate, deed.by), deed.course
    if member is None:
        raise Refused("You have no seat in this debate.")
    _refuse_closing(deed)
    if member.seat in course.withdrawn:
        raise Refused("You have withdrawn already.")
    stands_by = course.stands_by.get(member.seat, "")
    verdict = verdict or (stands_by if reasoning else "")
    if not verdict and not stands_by:
        raise Refused("You have no verdict yet. Name one, or abstain, and say why.")
    option = deed.debate.option_called(verdict)
    if verdict not in ("", rules.ABSTAIN) and option is None:
        raise Refused(f"There is no such option. There are: {', '.join(course.settings.options)}, {rules.ABSTAIN}.")
    if verdict and verdict != stands_by and len(reasoning.split()) < 2:
        raise Refused("Say in a sentence why: a verdict needs a reason.")
    stated: dict[str, Any] = {"verdict": option, "abstained": verdict == rules.ABSTAIN}
    stated["reasoning"] = _checked(reasoning) if reasoning else ""
    deed.leave(member, **stated)
    SearchText.objects.add(deed.debate.pk, words_of(reasoning))
    return False


def _look(deed: Deed) -> bool:
    """Once for each person: whoever has looked has seen it."""
    if reason := _why_not_looked(deed.debate, deed.by):
        raise Refused(reason)
    if not has_looked(deed.debate, deed.by):
        deed.steer(Act.LOOK)
    return False


_ACTS: Mapping[str, Callable[[Deed, int | None, int], bool]] = {
    Act.EXTEND: _extend,
    Act.CLOSE: _close,
    Act.CLOSE_AT_ONCE: _close_at_once,
    Act.END: _end,
    Act.ASK: _ask,
    Act.RECALL: _recall,
    Act.GIVE_UP: _give_up,
}


# ---- what speaks against it -------------------------------------------------------------------------------


def _seat_of(debate: Debate, user: Any) -> Member | None:
    return next((one for one in debate.seated if one.user_id == user.pk), None)


def _why_not_looked(debate: Debate, user: Any) -> str:
    if _seat_of(debate, user):
        return SITS
    said = firsts_hidden(debate) and any(hasattr(one, "first") for one in debate.seated)
    return "" if said else NOTHING_HIDDEN


def _refuse_closing(deed: Deed) -> None:
    if deed.debate.ended_because:
        raise Refused(CLOSING)


def _refuse_unable(deed: Deed, member: Member) -> None:
    if member.seat in deed.course.silent:
        raise Refused(f"{member.name} is silent: its model failed, or it was given up.")


def _refuse_second_recall(deed: Deed, member: Member) -> None:
    """Who has withdrawn may be given the floor once."""
    if member.seat in deed.course.withdrawn and _recalled(deed.debate, member):
        raise Refused(f"{member.name} has withdrawn and was recalled once. That is as often as it goes.")


def _recalled(debate: Debate, member: Member) -> bool:
    left = [one.made for one in debate.messages.all() if one.withdrawn and one.member_id == member.pk]
    left += [one.made for one in debate.steers.all() if one.act == Act.WITHDRAW and one.member_id == member.pk]
    acts = (one for one in debate.steers.all() if one.act in (Act.ASK, Act.RECALL) and one.member_id == member.pk)
    return any(one.made >= min(left) for one in acts)
