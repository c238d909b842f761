"""Who moved whom, in what can be counted, and how many independent voices that was."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from .. import analysis, chart
from ..analysis import Analysis
from ..ending import voices_of as sentence_of_voices
from ..models import Debate, FirstVerdict
from ..scene import Scene
from ..sentences import counted

MOST_HELD = 40  # of the newest debates of a panel: each number takes many of them anew

Held = tuple[tuple[tuple[int, str], ...], ...]
"""What was said alone, by seats, in each debate."""


@dataclass(frozen=True)
class Moved:
    """A change as pages show it, and what it is worth: what its member had heard, and where it went."""

    shown: chart.Moved
    heard: str


@dataclass(frozen=True)
class Swayer:
    """Of one member, in two columns that are never added: the changes that named it, and those right behind it."""

    name: str
    named_in: tuple[int, ...]
    before: tuple[int, ...]


def moved_of(scene: Scene, found: Analysis) -> Iterator[Moved]:
    for one, shown in zip(found.changes, chart.changes_of(scene), strict=True):
        heard = f"It had heard {counted(len(one.heard), 'message')} since it spoke last"
        points = f", with {counted(len(one.points), 'point')}" if one.points else ""
        joined = " It joined the majority, without a reason that can be seen." if one.joined else ""
        towards = " It moved towards the majority." if one.to_majority and not one.joined else ""
        yield Moved(shown, f"{heard}{points}.{joined or towards}")


def swayers_of(scene: Scene, found: Analysis) -> Iterator[Swayer]:
    if not found.changes:
        return
    for one in found.influence:
        yield Swayer(scene.name(one.seat), tuple(one.named_in), tuple(one.followed_by))


# ---- independent voices -----------------------------------------------------------------------------------


def by_model(scene: Scene) -> str:
    known = sentence_of_voices(scene)
    return f"By model: {known.number} {known.text}"


def experience_of(debate: Debate) -> str:
    """What all debates of its panel say of it, in a sentence; empty where it is of none."""
    if debate.panel_version is None:
        return ""
    found = _known(_held(debate.panel_version.panel_id))
    if found.count is None:
        return f"From experience: too few debates of this panel ({found.debates} of {analysis.FEWEST_DEBATES})."
    low, high = found.low or 0, found.high or 0
    held = counted(found.debates, "debate")
    return (
        f"From experience: about {found.count:.1f} of {found.members:.1f}, between {low:.1f} and {high:.1f}, "
        f"by what members said alone in {held} of this panel."
    )


@lru_cache(maxsize=200)
def _known(held: Held) -> analysis.Voices:
    return analysis.from_experience([dict(verdicts) for verdicts in held])


def _held(panel: int) -> Held:
    """The newest debates of this panel that are over, in two queries."""
    over = Debate.objects.filter(panel_version__panel=panel, run__ended__isnull=False)
    newest = over.order_by("-run__ended", "-pk").values("pk")[:MOST_HELD]
    rows = FirstVerdict.objects.filter(member__debate__in=list(newest.values_list("pk", flat=True)))
    by_debate: dict[object, dict[int, str]] = {}
    for pk, seat, word in rows.order_by("pk").values_list("member__debate", "member__seat", "verdict__word"):
        by_debate.setdefault(pk, {})[seat] = word or ""
    return tuple(tuple(sorted(_stated(verdicts).items())) for verdicts in by_debate.values())


def _stated(verdicts: Mapping[int, str]) -> Mapping[int, str]:
    return {seat: word for seat, word in verdicts.items() if word}
