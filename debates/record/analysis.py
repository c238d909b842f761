"""Arguments in the record: each point with its source and, below it, those that answer it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from .. import analysis
from ..analysis import Argument, ArgumentSource, ArgumentState, DebateAnalysis
from ..models import Debate, FirstVerdict
from ..page import chart
from ..page.context import DebatePageContext
from ..page.outcome_view import source_of
from ..page.outcome_view import voices_of as sentence_of_voices
from ..page.sentences import count_noun
from ..page.view_model import OptionStyle

MAX_DEPTH = 3  # deeper points are next to the one that they answer

CHECKED_TEXT = {
    ArgumentSource.FOUND: "source checked",
    ArgumentSource.NOT_FOUND: "source not found",
    ArgumentSource.OWN: "own knowledge",
}


@dataclass(frozen=True)
class ArgumentLine:
    """`speaks`: for or against what, and to which point, if it answers one. `checked`: whether the named line
    exists. `became`: what became of it, if it is worth saying."""

    id: str
    message: int
    claim: str
    who: str
    speaks: str
    source: str
    checked: str
    became: str
    under: "tuple[ArgumentLine, ...]"


@dataclass(frozen=True)
class ArgumentCase:
    """Arguments for and against one option."""

    look: OptionStyle
    for_it: tuple[ArgumentLine, ...]
    against: tuple[ArgumentLine, ...]


def argument_cases(scene: DebatePageContext, found: DebateAnalysis) -> Iterator[ArgumentCase]:
    for sides in found.arguments:
        if sides.for_it or sides.against:
            yield ArgumentCase(
                scene.option_style(sides.option), _lines(scene, sides.for_it), _lines(scene, sides.against)
            )


def _lines(scene: DebatePageContext, arguments: Sequence[Argument], depth: int = 1) -> tuple[ArgumentLine, ...]:
    return tuple(line for one in arguments for line in _with_those_under(scene, one, depth))


def _with_those_under(scene: DebatePageContext, one: Argument, depth: int) -> Iterator[ArgumentLine]:
    if depth < MAX_DEPTH:
        yield _line(scene, one, depth, _lines(scene, one.under, depth + 1))
        return
    waiting = [one]
    while waiting:
        next_one = waiting.pop(0)
        yield _line(scene, next_one, depth, ())
        waiting = [*next_one.under, *waiting]


def _line(scene: DebatePageContext, one: Argument, depth: int, under: tuple[ArgumentLine, ...]) -> ArgumentLine:
    return ArgumentLine(
        id=one.id,
        message=one.message,
        claim="Erased." if scene.run.redacted else one.point.claim,
        who=scene.name(one.seat),
        speaks=f"{one.point.side} {one.point.option}, to {one.point.answers}" if depth > 1 else "",
        source=source_of(one),
        checked="" if scene.run.redacted else CHECKED_TEXT[one.source],
        became=_became(one, depth),
        under=under,
    )


def _became(one: Argument, depth: int) -> str:
    if one.state == ArgumentState.TAKEN_BACK:
        return "Taken back."
    return "Not answered." if one.state == ArgumentState.OPEN and depth == 1 else ""


MOST_HELD = 40  # newest debates of a panel: each number resamples many of them

Held = tuple[tuple[tuple[int, str], ...], ...]
"""First verdicts by seat, in each debate."""


@dataclass(frozen=True)
class RecordedChange:
    """A change as pages show it, with what its member had heard and where it went."""

    shown: chart.ChartChange
    heard: str


@dataclass(frozen=True)
class RecordedInfluence:
    """Influence of one member, in two columns that are never added: changes that named it, and changes right after
    its messages."""

    name: str
    named_in: tuple[int, ...]
    before: tuple[int, ...]


def recorded_changes(scene: DebatePageContext, found: DebateAnalysis) -> Iterator[RecordedChange]:
    for one, shown in zip(found.changes, chart.changes_of(scene), strict=True):
        heard = f"It had heard {count_noun(len(one.heard), 'message')} since it spoke last"
        points = f", with {count_noun(len(one.points), 'point')}" if one.points else ""
        joined = " It joined the majority, without a reason that can be seen." if one.joined else ""
        towards = " It moved towards the majority." if one.to_majority and not one.joined else ""
        yield RecordedChange(shown, f"{heard}{points}.{joined or towards}")


def recorded_influences(scene: DebatePageContext, found: DebateAnalysis) -> Iterator[RecordedInfluence]:
    if not found.changes:
        return
    for one in found.influence:
        yield RecordedInfluence(scene.name(one.seat), tuple(one.named_in), tuple(one.followed_by))


# ---- independent voices -----------------------------------------------------------------------------------


def by_model(scene: DebatePageContext) -> str:
    known = sentence_of_voices(scene)
    return f"By model: {known.number} {known.text}"


def experience_of(debate: Debate) -> str:
    """Return the sentence on the independent voices in all debates of its panel; empty without a panel."""
    if debate.panel_version is None:
        return ""
    found = _known(_held(debate.panel_version.panel_id))
    if found.count is None:
        return f"From experience: too few debates of this panel ({found.debates} of {analysis.FEWEST_DEBATES})."
    low, high = found.low or 0, found.high or 0
    held = count_noun(found.debates, "debate")
    return (
        f"From experience: about {found.count:.1f} of {found.members:.1f}, between {low:.1f} and {high:.1f}, "
        f"by what members said alone in {held} of this panel."
    )


@lru_cache(maxsize=200)
def _known(held: Held) -> analysis.IndependentVoices:
    return analysis.voices_from_history([dict(verdicts) for verdicts in held])


def _held(panel: int) -> Held:
    """Return the first verdicts of the panel's newest ended debates, in two queries."""
    over = Debate.objects.filter(panel_version__panel=panel, run__ended__isnull=False)
    newest = over.order_by("-run__ended", "-pk").values("pk")[:MOST_HELD]
    rows = FirstVerdict.objects.filter(member__debate__in=list(newest.values_list("pk", flat=True)))
    by_debate: dict[object, dict[int, str]] = {}
    for pk, seat, word in rows.order_by("pk").values_list("member__debate", "member__seat", "verdict__word"):
        by_debate.setdefault(pk, {})[seat] = word or ""
    return tuple(tuple(sorted(_stated(verdicts).items())) for verdicts in by_debate.values())


def _stated(verdicts: Mapping[int, str]) -> Mapping[int, str]:
    return {seat: word for seat, word in verdicts.items() if word}
