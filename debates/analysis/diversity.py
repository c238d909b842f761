"""Number of independent voices on a panel: members that are alike say the same, and together count for little more
than one.

The number by models is known for every debate. The number by what members said alone needs many debates of one panel;
until there are enough, none is given.
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
CONFIDENCE = 0.95  # share of the resampled values within the interval

Verdicts = Mapping[int, str]
"""First verdicts of one debate, by seat."""


def voices_by_model(models: Iterable[str]) -> float:
    """Return 1 / Σ share². `models`: of each member; a person is a model of its own."""
    shares = Counter(models)
    return shares.total() ** 2 / sum(count**2 for count in shares.values())


@dataclass(frozen=True)
class IndependentVoices:
    """Independent voices over `debates` of one panel: `count` of `members`, with its interval; None while there are
    too few debates."""

    debates: int
    members: float
    count: float | None = None
    low: float | None = None
    high: float | None = None


def voices_from_history(held: Sequence[Verdicts]) -> IndependentVoices:
    """Return n / (1 + (n - 1) r), where r is how much more members agree than by chance in their first verdicts.

    Agreement because one answer is plainly right counts too: the number says what a panel adds, not how good its
    members are. The same debates give the same interval.
    """
    usable = [verdicts for verdicts in map(_options, held) if len(verdicts) > 1]
    members = sum(map(len, usable)) / len(usable) if usable else 0.0
    if len(usable) < MIN_DEBATES:
        return IndependentVoices(len(usable), members)
    die = Random(len(usable))  # noqa: S311 (nobody gains by knowing it)
    again = sorted(_count(die.choices(usable, k=len(usable))) for _ in range(RESAMPLES))
    beyond = int(RESAMPLES * (1 - CONFIDENCE) / 2)
    return IndependentVoices(len(usable), members, _count(usable), again[beyond], again[-1 - beyond])


def _options(verdicts: Verdicts) -> Verdicts:
    return {seat: verdict for seat, verdict in verdicts.items() if verdict and verdict != ABSTAIN}


def _count(held: Sequence[Verdicts]) -> float:
    members = sum(map(len, held)) / len(held)
    return members / (1 + (members - 1) * beyond_chance(held))


def beyond_chance(held: Sequence[Verdicts]) -> float:
    """Return the agreement beyond chance: 0 if pairs agree no more often than two verdicts drawn from all, 1 if
    they always agree or only one verdict was ever given."""
    said = Counter(verdict for verdicts in held for verdict in verdicts.values())
    chance = sum(count**2 for count in said.values()) / said.total() ** 2
    agreed = sum(map(_agreement, held)) / len(held)
    return min(1.0, max(0.0, (agreed - chance) / (1 - chance))) if chance < 1 else 1.0


def _agreement(verdicts: Verdicts) -> float:
    pairs = list(combinations(verdicts.values(), 2))
    return sum(one == other for one, other in pairs) / len(pairs)


# ---- habits of a panel ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class AgreementHabits:
    """Habits of one member over the debates of its panel: in how many it ended alone with its verdict, changed it,
    or was the first to withdraw."""

    name: str
    debates: int
    alone: int
    changed: int
    left_first: int


def habits(held: Sequence[DebateState]) -> list[AgreementHabits]:
    """Return the habits of all members with a verdict, by name: in another version of a panel the seat may belong
    to another member."""
    names = dict.fromkeys(one.name for course in held for one in course.voters)
    return [
        AgreementHabits(
            name=name,
            debates=sum(name in _seats(course) for course in held),
            alone=sum(map(partial(_ends_alone, name), held)),
            changed=sum(_seats(course).get(name) in {one.seat for one in course.changes} for course in held),
            left_first=sum(first_to_withdraw(course) == _seats(course).get(name, -1) for course in held),
        )
        for name in names
    ]


def _seats(course: DebateState) -> dict[str, int]:
    return {one.name: one.seat for one in course.voters}


def _ends_alone(name: str, course: DebateState) -> bool:
    stood = Counter(course.verdict_of.values())
    own = course.verdict_of.get(_seats(course).get(name, -1), ABSTAIN)
    return own != ABSTAIN and stood[own] == 1


def first_to_withdraw(course: DebateState) -> int | None:
    """Return the seat that withdrew first, or None."""
    said = [(one.number, one.seat) for one in course.messages if one.withdrawn]
    acts = [(one.after, one.seat) for one in course.acts(SteeringKind.WITHDRAW)]
    return min([*said, *acts], default=(0, None), key=lambda left: left[0])[1]


def positions_kept(earlier: DebateState, later: DebateState) -> Mapping[int, bool]:
    """Return for each seat whether it ended with the same verdict in both debates."""
    both = sorted(earlier.verdict_of.keys() & later.verdict_of.keys())
    return {seat: earlier.verdict_of[seat] == later.verdict_of[seat] for seat in both}
