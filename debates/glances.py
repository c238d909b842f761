"""What a row of a list says of a debate beside what it says of any run: who stands by what, and how it came about."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any
from uuid import UUID

from django.db.models import F, Max, OuterRef, Q, QuerySet, Subquery

from engine.llm.providers import is_rehearsal
from runs import face

from .models import Debate, Member, Message, Option, Steer
from .parts import NO_VERDICT, Look, looks_of
from .rules.course import ABSTAIN, Act, Kind, Statement, Why, changes_of
from .rules.outcome import NO_DECISION
from .sentences import counted

UNDECIDED_SIGN = "stopped"


@dataclass(frozen=True)
class Seat:
    name: str
    look: Look


@dataclass(frozen=True, kw_only=True)
class Glance(face.Glance):
    """`said`: messages of members; `changes`: how often one of them came to stand by something else."""

    seats: tuple[Seat, ...]
    said: int
    changes: int

    @property
    def seats_in_words(self) -> str:
        stands = ", ".join(f"{seat.name}: {seat.look.word.lower()}" for seat in self.seats)
        return f"{counted(len(self.seats), 'member')}. {stands}"

    @property
    def in_figures(self) -> str:
        return f"{counted(self.said, 'message')}, {counted(self.changes, 'change')}"


def listed(rows: QuerySet[Debate]) -> QuerySet[Debate]:
    """With what any list needs, and how many messages there are."""
    newest = Message.objects.filter(debate=OuterRef("pk")).order_by().values("debate")
    said = Subquery(newest.annotate(newest=Max("clock")).values("newest"))
    return rows.select_related("run__owner", "panel_version").defer("question").annotate(said=said)


def glances(debates: Sequence[Debate]) -> dict[UUID, Glance]:
    """Of debates that were read with `listed`, in three more queries."""
    pks = [debate.pk for debate in debates]
    looks, seated, stated = looks_in(pks), _seated(pks), _stated(pks)
    return {one.pk: _glance(one, looks[one.pk], seated[one.pk], stated[one.pk]) for one in debates}


def _glance(debate: Any, looks: Mapping[str, Look], seated: "Sequence[_Seated]", stated: list[Statement]) -> Glance:
    stands_by = {one.seat: one.verdict for one in stated}
    return Glance(
        saved=debate.panel_version.name if debate.panel_version else "",
        rehearsal=any(is_rehearsal(one.model) for one in seated),
        signs=signs_of(looks),
        notes=tuple(_notes(debate, stands_by)),
        seats=tuple(Seat(one.name, _look(looks, stands_by.get(one.seat, ""))) for one in seated),
        said=debate.said or 0,
        changes=len(changes_of(stated)),
    )


def _look(looks: Mapping[str, Look], verdict: str) -> Look:
    return looks[verdict] if verdict else NO_VERDICT


def _notes(debate: Debate, stands_by: Mapping[int, str]) -> Iterable[str]:
    """Why there is no decision, or how many stand apart from it."""
    if debate.no_decision:
        yield NO_DECISION_IN_WORDS[debate.no_decision]
    elif debate.run.outcome:
        yield from ["advises"] if debate.advisory else []
        apart = sum(verdict not in (debate.run.outcome, ABSTAIN) for verdict in stands_by.values())
        yield from [f"minority of {apart}"] if apart else []


NO_DECISION_IN_WORDS = {
    "tie": "a tie",
    "too_few": "too few for one",
    "quorum": "no quorum",
    "no_rule": "no rule was asked for",
}


# ---- what is read -----------------------------------------------------------------------------------------


def looks_in(pks: Sequence[UUID]) -> Mapping[UUID, Mapping[str, Look]]:
    options: Mapping[UUID, list[Option]] = defaultdict(list)
    for option in Option.objects.filter(debate__in=pks).order_by("debate", "number"):
        options[option.debate_id].append(option)
    return {pk: looks_of(options[pk]) for pk in pks}


def signs_of(looks: Mapping[str, Look]) -> Mapping[str, str]:
    """Of all that there may come of it."""
    options = {word: look.state for word, look in looks.items() if word not in ("", ABSTAIN)}
    return options | {NO_DECISION: UNDECIDED_SIGN}


@dataclass
class _Seated:
    seat: int
    name: str
    model: str


def _seated(pks: Sequence[UUID]) -> Mapping[UUID, list[_Seated]]:
    found: Mapping[UUID, list[_Seated]] = defaultdict(list)
    members = Member.objects.filter(debate__in=pks, kind=Kind.MEMBER).order_by("debate", "seat")
    for debate, seat, name, model in members.values_list("debate", "seat", "name", "model"):
        found[debate].append(_Seated(seat, name, model))
    return found


def _stated(pks: Sequence[UUID]) -> Mapping[UUID, list[Statement]]:
    """In the order in which they were stated; that of a challenge is nobody's own."""
    said = ("debate", "place", "member__seat", "verdict__word", "abstained")
    is_stated = Q(verdict__isnull=False) | Q(abstained=True)
    messages = Message.objects.told().filter(is_stated, debate__in=pks).exclude(turn__why=Why.CHALLENGE).order_by()
    left = Steer.objects.filter(is_stated, debate__in=pks, act=Act.WITHDRAW).order_by()
    # who leaves after a message does so between it and the next one
    stated = messages.annotate(place=2 * F("number")), left.annotate(place=2 * F("after") + 1)
    rows = stated[0].values_list(*said).union(stated[1].values_list(*said), all=True)
    found: Mapping[UUID, list[Statement]] = defaultdict(list)
    for debate, place, seat, word, abstained in rows:
        found[debate].append(Statement(place, seat, ABSTAIN if abstained else word))
    return defaultdict(list, {pk: sorted(some, key=attrgetter("number")) for pk, some in found.items()})
