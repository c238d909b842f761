"""View of an ended debate: first verdicts, changes, influence, and minority opinions."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .. import analysis
from ..analysis import Argument, DissentingOpinion
from ..analysis.ends import missing_in_words, silence_in_words, swayed_in_words, voices_in_words
from ..models.context_builder import build_prompt_context
from ..rules.state import SteeringKind
from .context import DebatePageContext
from .member_view import withdrew_after
from .sentences import count_noun, in_words, join_names
from .view_model import NO_VERDICT, OptionStyle

COUNT_WORDS = ("never", "once", "twice")


@dataclass(frozen=True)
class OutcomeNumber:
    name: str
    number: str
    text: str


@dataclass(frozen=True)
class MinorityOpinion:
    """A verdict that differs from the outcome, in its member's words. `rest`: unanswered points, and when it
    withdrew."""

    look: OptionStyle
    name: str
    words: str
    message: int | None
    rest: tuple[str, ...]


@dataclass(frozen=True)
class DebateOutcomeView:
    figures: tuple[OutcomeNumber, ...]
    minority: tuple[MinorityOpinion, ...]
    decided: bool


def analysis_of(scene: DebatePageContext) -> analysis.DebateAnalysis:
    acts = (one for one in scene.debate.steers.all() if one.act == SteeringKind.WITHDRAW)
    leaving = {scene.seats.get(one.member_id or 0, 0): one.reasoning for one in acts}
    outcome = scene.debate.result(scene.course).option
    return analysis.analyse(build_prompt_context(scene.debate, scene.course), outcome, leaving)


def outcome_view(scene: DebatePageContext) -> DebateOutcomeView | None:
    """Return the view, or None while there is no outcome."""
    if not scene.run.outcome:
        return None
    found = analysis_of(scene)
    option = scene.debate.result(scene.course).option
    minority = tuple(_opinion(scene, dissent) for dissent in found.minority)
    return DebateOutcomeView(tuple(outcome_numbers(scene, found)), minority, bool(option))


# ---- figures ----------------------------------------------------------------------------------------------


def outcome_numbers(scene: DebatePageContext, found: analysis.DebateAnalysis) -> Iterator[OutcomeNumber]:
    if found.alone:
        yield _alone(scene, found.alone)
        yield _swayed(scene, found.alone)
    if found.changes:
        yield _named(scene, found.influence)
        yield _joined(found.conformity)
    yield voices_of(scene)


def _alone(scene: DebatePageContext, alone: analysis.FirstPositions) -> OutcomeNumber:
    tally = alone.outcome.tally
    would = f"would have been {alone.outcome.option}" if alone.outcome.option else "would have decided nothing"
    missing = missing_in_words(scene.course, alone, scene.names)
    said = f"{', '.join(tally)}. By the same rule that {would}. {missing}".strip()
    return OutcomeNumber("Alone, before the debate", " : ".join(map(str, tally.values())), said)


def _swayed(scene: DebatePageContext, alone: analysis.FirstPositions) -> OutcomeNumber:
    asked = len(alone.verdicts) - len(alone.missing)
    return OutcomeNumber("Swayed", f"{len(alone.swayed)} of {asked}", swayed_in_words(scene.course, alone, scene.names))


def _named(scene: DebatePageContext, influence: Sequence[analysis.MemberInfluence]) -> OutcomeNumber:
    named = sorted((one for one in influence if one.named), key=lambda one: (-one.named, one.seat))
    if not named:
        return OutcomeNumber("Named as a reason", "0", "No change named a member's message as its reason.")
    said = join_names(f"{scene.name(one.seat)} {_times(one.named)}" for one in named)
    return OutcomeNumber("Named as a reason", ", ".join(str(one.named) for one in named), f"{said}.")


def _times(number: int) -> str:
    return COUNT_WORDS[number] if number < len(COUNT_WORDS) else f"{in_words(number)} times"


def _joined(conformity: analysis.ConformityShare) -> OutcomeNumber:
    percent = f" ({conformity.percent} %)" if conformity.percent is not None else ""
    said = "of the changes went to the option that most supported, with no reason named or nothing new heard."
    return OutcomeNumber("Joined the majority", f"{conformity.part} of {conformity.whole}{percent}", said)


def voices_of(scene: DebatePageContext) -> OutcomeNumber:
    models = ["" if member.is_person else member.model for member in scene.seated]
    voices = [model or f"person {place}" for place, model in enumerate(models)]
    number = f"{analysis.voices_by_model(voices):.1f}".removesuffix(".0")
    return OutcomeNumber("Voices, by model", number, f"of {len(models)}: {voices_in_words(models)}.")


# ---- minority ---------------------------------------------------------------------------------------------


def _opinion(scene: DebatePageContext, dissent: DissentingOpinion) -> MinorityOpinion:
    look = scene.option_style(dissent.verdict) if dissent.verdict else NO_VERDICT
    words = "Erased." if scene.run.redacted else dissent.words
    return MinorityOpinion(look, scene.name(dissent.seat), words, dissent.message, tuple(_rest(scene, dissent)))


def _rest(scene: DebatePageContext, dissent: DissentingOpinion) -> Iterator[str]:
    for point in dissent.unanswered:
        yield f"Not answered by anybody: {claim_in_words(scene, point)}"
    if dissent.seat in scene.course.withdrawn:
        yield f"Withdrew after {count_noun(withdrew_after(scene, dissent.seat), 'message')}."
    if dissent.seat in scene.course.silent:
        yield silence_in_words(scene.course, dissent.seat)


def claim_in_words(scene: DebatePageContext, argument: Argument) -> str:
    claim = "erased" if scene.run.redacted else f"“{argument.point.claim}”"
    return f"{claim} ({', '.join(filter(None, [argument.id, source_of(argument)]))})."


def source_of(argument: Argument) -> str:
    point = argument.point
    return f"{point.document}:{point.line}" if point.document and point.line else point.document
