"""How a debate came about once it is over: what was said alone, who was swayed, who was named, and who stood apart."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from . import analysis
from .analysis import Argument, Dissent
from .analysis.ends import missing_in_words, silence_in_words, swayed_in_words, voices_in_words
from .models.laying import table_of
from .parts import NO_VERDICT, Look
from .rules.course import Act
from .scene import Scene
from .seats import withdrew_after
from .sentences import counted, in_words, listed

TIMES = ("never", "once", "twice")


@dataclass(frozen=True)
class Figure:
    name: str
    number: str
    text: str


@dataclass(frozen=True)
class Opinion:
    """A verdict that is not the outcome, in its member's own words. `rest`: what nobody answered, and when it left."""

    look: Look
    name: str
    words: str
    message: int | None
    rest: tuple[str, ...]


@dataclass(frozen=True)
class Ending:
    figures: tuple[Figure, ...]
    minority: tuple[Opinion, ...]
    decided: bool


def analysed(scene: Scene) -> analysis.Analysis:
    acts = (one for one in scene.debate.steers.all() if one.act == Act.WITHDRAW)
    leaving = {scene.seats.get(one.member_id or 0, 0): one.reasoning for one in acts}
    outcome = scene.debate.come_to(scene.course).option
    return analysis.analysed(table_of(scene.debate, scene.course), outcome, leaving)


def ending_of(scene: Scene) -> Ending | None:
    """None while there is no outcome."""
    if not scene.run.outcome:
        return None
    found = analysed(scene)
    option = scene.debate.come_to(scene.course).option
    minority = tuple(_opinion(scene, dissent) for dissent in found.minority)
    return Ending(tuple(figures_of(scene, found)), minority, bool(option))


# ---- in figures -------------------------------------------------------------------------------------------


def figures_of(scene: Scene, found: analysis.Analysis) -> Iterator[Figure]:
    if found.alone:
        yield _alone(scene, found.alone)
        yield _swayed(scene, found.alone)
    if found.changes:
        yield _named(scene, found.influence)
        yield _joined(found.conformity)
    yield voices_of(scene)


def _alone(scene: Scene, alone: analysis.Alone) -> Figure:
    tally = alone.outcome.tally
    would = f"would have been {alone.outcome.option}" if alone.outcome.option else "would have decided nothing"
    missing = missing_in_words(scene.course, alone, scene.names)
    said = f"{', '.join(tally)}. By the same rule that {would}. {missing}".strip()
    return Figure("Alone, before the debate", " : ".join(map(str, tally.values())), said)


def _swayed(scene: Scene, alone: analysis.Alone) -> Figure:
    asked = len(alone.verdicts) - len(alone.missing)
    return Figure("Swayed", f"{len(alone.swayed)} of {asked}", swayed_in_words(scene.course, alone, scene.names))


def _named(scene: Scene, influence: Sequence[analysis.Influence]) -> Figure:
    named = sorted((one for one in influence if one.named), key=lambda one: (-one.named, one.seat))
    if not named:
        return Figure("Named as a reason", "0", "No change named a member's message as its reason.")
    said = listed(f"{scene.name(one.seat)} {_times(one.named)}" for one in named)
    return Figure("Named as a reason", ", ".join(str(one.named) for one in named), f"{said}.")


def _times(number: int) -> str:
    return TIMES[number] if number < len(TIMES) else f"{in_words(number)} times"


def _joined(conformity: analysis.Share) -> Figure:
    percent = f" ({conformity.percent} %)" if conformity.percent is not None else ""
    said = "of the changes went to the option that most supported, with no reason named or nothing new heard."
    return Figure("Joined the majority", f"{conformity.part} of {conformity.whole}{percent}", said)


def voices_of(scene: Scene) -> Figure:
    models = ["" if member.is_person else member.model for member in scene.seated]
    voices = [model or f"person {place}" for place, model in enumerate(models)]
    number = f"{analysis.by_model(voices):.1f}".removesuffix(".0")
    return Figure("Voices, by model", number, f"of {len(models)}: {voices_in_words(models)}.")


# ---- who stood apart --------------------------------------------------------------------------------------


def _opinion(scene: Scene, dissent: Dissent) -> Opinion:
    look = scene.look(dissent.verdict) if dissent.verdict else NO_VERDICT
    words = "Erased." if scene.run.redacted else dissent.words
    return Opinion(look, scene.name(dissent.seat), words, dissent.message, tuple(_rest(scene, dissent)))


def _rest(scene: Scene, dissent: Dissent) -> Iterator[str]:
    for point in dissent.unanswered:
        yield f"Not answered by anybody: {claim_in_words(scene, point)}"
    if dissent.seat in scene.course.withdrawn:
        yield f"Withdrew after {counted(withdrew_after(scene, dissent.seat), 'message')}."
    if dissent.seat in scene.course.silent:
        yield silence_in_words(scene.course, dissent.seat)


def claim_in_words(scene: Scene, argument: Argument) -> str:
    claim = "erased" if scene.run.redacted else f"“{argument.point.claim}”"
    return f"{claim} ({', '.join(filter(None, [argument.id, source_of(argument)]))})."


def source_of(argument: Argument) -> str:
    point = argument.point
    return f"{point.document}:{point.line}" if point.document and point.line else point.document
