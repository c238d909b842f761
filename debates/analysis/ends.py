"""Sentences on how a debate ended, each made from the figures that are shown next to it.

`names`: of the members, by seat.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

from ..prompts.wording import count_noun, every, in_words, join_names
from ..rules.outcome import DebateOutcome, DecisionRule, NoDecision, needed
from ..rules.state import ABSTAIN, SPAN, DebateState, MemberStatus, SteeringKind
from ..rules.turn_taking import TURNS_ALONE, EndReason
from .influence import FirstPositions

Names = Mapping[int, str]


# ---- reason ------------------------------------------------------------------------------------------------


def because_in_words(course: DebateState, names: Names) -> str:
    """Return why it has ended or is closing; empty while it is running."""
    return _BECAUSE[EndReason(course.because)](course, names) if course.because else ""


def _last(course: DebateState) -> list[int]:
    """Return the seats that could still speak when the end was decided."""
    return [turn.seat for turn in course.closings] or course.active_voters


def _all(course: DebateState) -> str:
    seats = _last(course)
    if len(seats) == len(course.voters):
        return every(len(seats))
    return f"The {in_words(len(seats))} who still spoke"


def _stood(course: DebateState) -> Mapping[int, str]:
    """Return the verdicts before the last words, which may change them."""
    return course.verdict_at(course.closings[0].after) if course.closings else course.verdict_of


def _agreed(course: DebateState, names: Names) -> str:
    challenged = course.challenged is not None and course.challenged.state == MemberStatus.SPOKEN
    held = ", and held to it when it was challenged" if challenged else ""
    return f"{_all(course)} supported {_stood(course)[_last(course)[0]]}{held}."


def _stalemate(course: DebateState, names: Names) -> str:
    stood = _stood(course)
    abstained = " or abstained" if ABSTAIN in {stood.get(seat) for seat in _last(course)} else ""
    return f"{_all(course)} had a verdict{abstained}, and nobody moved in the last {SPAN} messages."


def _all_withdrawn(course: DebateState, names: Names) -> str:
    voters = {one.seat for one in course.voters}
    silent = (course.silent - course.withdrawn) & voters
    if silent in (set(), voters):
        return f"{every(len(voters))} have {'fallen silent' if silent else 'withdrawn'}."
    left, fallen = (
        f"{in_words(len(some))} {'has' if len(some) == 1 else 'have'}" for some in (voters - silent, silent)
    )
    return f"{left.capitalize()} withdrawn, and {fallen} fallen silent."


def _closed(course: DebateState, names: Names) -> str:
    return "Ended by the chair." if course.acts(SteeringKind.END) else "Closed by the chair."


def _alone(course: DebateState, names: Names) -> str:
    last = join_names(names[seat] for seat in _last(course))
    return f"Only {last} was left, and has had the floor {_TIMES[TURNS_ALONE]}."


_TIMES = ("never", "once", "twice")
_BECAUSE: Mapping[EndReason, Callable[[DebateState, Names], str]] = {
    EndReason.ALL_WITHDRAWN: _all_withdrawn,
    EndReason.AGREED: _agreed,
    EndReason.STALEMATE: _stalemate,
    EndReason.MOST: lambda course, names: f"All {count_noun(course.most, 'message')} are said.",
    EndReason.SPEND: lambda course, names: "Its budget does not pay for another turn.",
    EndReason.UNTIL: lambda course, names: "Its time is up.",
    EndReason.CLOSED: _closed,
    EndReason.ALONE: _alone,
}


# ---- outcome -----------------------------------------------------------------------------------------------


def no_decision_in_words(rule: str, outcome: DebateOutcome) -> str:
    """Return why the verdicts give no decision; empty if they give one."""
    return _NO_DECISION[NoDecision(outcome.code)](DecisionRule(rule), outcome) if outcome.code else ""


def _tie(rule: DecisionRule, outcome: DebateOutcome) -> str:
    if rule == DecisionRule.MEDIAN:
        return f"The two verdicts in the middle are {join_names(outcome.middle)}."
    return f"{join_names(outcome.ahead)} have {in_words(max(outcome.tally.values()))} each."


def _too_few(rule: DecisionRule, outcome: DebateOutcome) -> str:
    most = max(outcome.tally.values())
    return f"{outcome.ahead[0]} has {most} of {outcome.base}, and {needed(rule, outcome)} are needed."


def _quorum(rule: DecisionRule, outcome: DebateOutcome) -> str:
    number = sum(outcome.tally.values())
    support = "supports" if number == 1 else "support"
    return f"{number} of {outcome.base} {support} an option, and more than half have to."


_NO_DECISION: Mapping[NoDecision, Callable[[DecisionRule, DebateOutcome], str]] = {
    NoDecision.TIE: _tie,
    NoDecision.TOO_FEW: _too_few,
    NoDecision.QUORUM: _quorum,
    NoDecision.NO_RULE: lambda rule, outcome: "No rule was asked for: the verdicts are not counted.",
}


def absence_in_words(course: DebateState, names: Names) -> str:
    """Return which members were missing, and how that counts."""
    none = [one.seat for one in course.voters if one.seat not in course.verdict_of]
    counts = "counts" if len(none) == 1 else "count"
    missing = f"{_named(none, names)} gave no verdict and {counts} for none." if none else ""
    silent = sorted(course.silent - course.withdrawn)
    return " ".join(filter(None, [missing, f"{_named(silent, names)} fell silent." if silent else ""]))


def _named(seats: Sequence[int], names: Names) -> str:
    return join_names(names[seat] for seat in seats)


# ---- first verdicts ----------------------------------------------------------------------------------------


def missing_in_words(course: DebateState, alone: FirstPositions, names: Names) -> str:
    """Return which members gave no first verdict; persons are not asked for one."""
    persons = {one.seat for one in course.voters if one.person}
    failed = [seat for seat in alone.missing if seat not in persons]
    unasked = [seat for seat in alone.missing if seat in persons]
    said = [f"{_named(failed, names)} gave none."] if failed else []
    was = "was" if len(unasked) == 1 else "were"
    return " ".join([*said, *([f"{_named(unasked, names)} {was} not asked alone."] if unasked else [])])


def swayed_in_words(course: DebateState, alone: FirstPositions, names: Names) -> str:
    asked = [seat for seat in alone.verdicts if seat not in alone.missing]
    nowhere = [seat for seat in asked if seat not in course.verdict_of]
    they = "it" if len(alone.swayed) == 1 else "they"
    said = [f"{_named(alone.swayed, names)} ended elsewhere than {they} began."] if alone.swayed else []
    said += [f"{_named(nowhere, names)} ended with no verdict."] if nowhere else []
    if said or not asked:
        return " ".join(said) or "Nobody gave a verdict alone."
    where = f"{names[asked[0]]} ended where it" if len(asked) == 1 else f"{every(len(asked))} ended where they"
    return f"{where} began."


def voices_in_words(models: Sequence[str]) -> str:
    """Describe how many members share a model. `models`: of each member, empty for a person."""
    counts = Counter(model for model in models if model)
    own, persons = sum(number == 1 for number in counts.values()), models.count("")
    if own == len(models):
        return "each has a model of its own"
    return "; ".join([*_shared(counts), *_apart(own, "has a model of its own", "have models of their own"),
                      *_apart(persons, "is a person", "are persons")])  # fmt: skip


def _shared(counts: Counter[str]) -> Iterator[str]:
    for model, number in counts.most_common():
        if number > 1:
            yield f"{in_words(number)} members share {model}"


def _apart(number: int, one: str, many: str) -> Iterator[str]:
    if number:
        yield f"{in_words(number)} {one if number == 1 else many}"


def silence_in_words(course: DebateState, seat: int) -> str:
    """Return why a member fell silent."""
    if any(one.seat == seat for one in course.acts(SteeringKind.GIVE_UP)):
        return "Fell silent: it was given up."
    person = any(one.seat == seat and one.person for one in course.voters)
    return f"Fell silent: {'it did not speak' if person else 'its model failed'} in three turns running."
