"""How many voices a table is worth: members that are alike say the same, and many of them are not more than one.

By models it can be said of any debate. What members have really said apart from one another is known from many debates
of one panel alone: until there are enough of them, nothing is said.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from random import Random

from ..rules.state import ABSTAIN, DebateState, SteeringKind

MIN_DEBATES = 20  # debates
RESAMPLES = 1_000
MAX_DEBATES = 0.95  # of the resampled lie in the interval

Verdicts = Mapping[int, str]
"""What each seat that was asked stood by alone, in one debate."""


def voices_by_model(models: Iterable[str]) -> float:
    """1 / Σ share². `models`: of each member; a person is a model of its own."""
    shares = Counter(models)
    return shares.total() ** 2 / sum(count**2 for count in shares.values())


@dataclass(frozen=True)
class IndependentVoices:
    """What so many debates of one panel say. `count` of `members`, with the interval in which it lies; None while there
    are too few debates."""

    debates: int
    members: float
    count: float | None = None
    low: float | None = None
    high: float | None = None


def voices_from_history(held: Sequence[Verdicts]) -> IndependentVoices:
    """n / (1 + (n - 1) r), where r is how much more members agree than by chance, in what they said alone.

    That they agree because one answer is plainly right counts here as well: it is what a table adds, and not how good
    its members are. The same debates give the same interval.
    """
    usable = [verdicts for verdicts in map(_options, held) if len(verdicts) > 1]
    members = sum(map(len, usable)) / len(usable) if usable else 0.0
    if len(usable) < MIN_DEBATES:
        return IndependentVoices(len(usable), members)
    die = Random(len(usable))  # noqa: S311 (nobody gains by knowing it)
    again = sorted(_count(die.choices(usable, k=len(usable))) for _ in range(RESAMPLES))
    beyond = int(RESAMPLES * (1 - MAX_DEBATES) / 2)
    return IndependentVoices(len(usable), members, _count(usable), again[beyond], again[-1 - beyond])


def _options(verdicts: Verdicts) -> Verdicts:
    return {seat: verdict for seat, verdict in verdicts.items() if verdict and verdict != ABSTAIN}


def _count(held: Sequence[Verdicts]) -> float:
    members = sum(map(len, held)) / len(held)
    return members / (1 + (members - 1) * beyond_chance(held))


def beyond_chance(held: Sequence[Verdicts]) -> float:
    """0: pairs agree no more often than two drawn from all that was ever said; 1: always. Where only one thing was ever
    said, nobody can tell members apart."""
    said = Counter(verdict for verdicts in held for verdict in verdicts.values())
    chance = sum(count**2 for count in said.values()) / said.total() ** 2
    agreed = sum(map(_agreement, held)) / len(held)
    return min(1.0, max(0.0, (agreed - chance) / (1 - chance))) if chance < 1 else 1.0


def _agreement(verdicts: Verdicts) -> float:
    pairs = list(combinations(verdicts.values(), 2))
    return sum(one == other for one, other in pairs) / len(pairs)


# ---- a panel over time ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class AgreementHabits:
    """Of one member over the debates of its panel: in how many it ended alone with its verdict, in how many it changed,
    in how many it was the first to withdraw."""

    name: str
    debates: int
    alone: int
    changed: int
    left_first: int


def habits(held: Sequence[DebateState]) -> list[AgreementHabits]:
    """Of everybody who has a verdict in any of them, by the name that it has at the table: on the same seat another one
    may sit in another version of a panel."""
    names = dict.fromkeys(one.name for course in held for one in course.voters)
    return [
        AgreementHabits(
            name=name,
            debates=sum(name in _seats(course) for course in held),
            alone=sum(map(partial(_ends_alone, name), held)),
            changed=sum(_seats(course).get(name) in {one.seat for one in course.changes} for course in held),
            left_first=sum(left_first_position(course) == _seats(course).get(name, -1) for course in held),
        )
        for name in names
    ]


def _seats(course: DebateState) -> dict[str, int]:
    return {one.name: one.seat for one in course.voters}


def _ends_alone(name: str, course: DebateState) -> bool:
    stood = Counter(course.verdict_of.values())
    own = course.verdict_of.get(_seats(course).get(name, -1), ABSTAIN)
    return own != ABSTAIN and stood[own] == 1


def left_first_position(course: DebateState) -> int | None:
    """The seat that withdrew before all others; None where nobody did."""
    said = [(one.number, one.seat) for one in course.messages if one.withdrawn]
    acts = [(one.after, one.seat) for one in course.acts(SteeringKind.WITHDRAW)]
    return min([*said, *acts], default=(0, None), key=lambda left: left[0])[1]


def positions_kept(earlier: DebateState, later: DebateState) -> Mapping[int, bool]:
    """The same question, held again: whether each seat stood by the same at the end."""
    both = sorted(earlier.verdict_of.keys() & later.verdict_of.keys())
    return {seat: earlier.verdict_of[seat] == later.verdict_of[seat] for seat in both}
