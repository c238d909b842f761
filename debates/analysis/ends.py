"""How a debate ended, in sentences: each made from the figures that stand beside it, so that it says no more than they.

`names`: of the members, by their seats.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

from ..prompts.wording import counted, every, in_words, listed
from ..rules.course import ABSTAIN, SPAN, Act, Course, Standing
from ..rules.floor import TURNS_ALONE, Because
from ..rules.outcome import NoDecision, Outcome, Rule, needed
from .sway import Alone

Names = Mapping[int, str]


# ---- why ---------------------------------------------------------------------------------------------------


def because_in_words(course: Course, names: Names) -> str:
    """Why it has ended, or is closing; empty while it goes on."""
    return _BECAUSE[Because(course.because)](course, names) if course.because else ""


def _last(course: Course) -> list[int]:
    """Who could still speak when it was decided that it ends."""
    return [turn.seat for turn in course.closings] or course.active_voters


def _all(course: Course) -> str:
    seats = _last(course)
    if len(seats) == len(course.voters):
        return every(len(seats))
    return f"The {in_words(len(seats))} who still spoke"


def _stood(course: Course) -> Mapping[int, str]:
    """Before the last words, which may change it."""
    return course.stood_at(course.closings[0].after) if course.closings else course.stands_by


def _agreed(course: Course, names: Names) -> str:
    challenged = course.challenged is not None and course.challenged.state == Standing.SPOKEN
    held = ", and held to it when it was challenged" if challenged else ""
    return f"{_all(course)} supported {_stood(course)[_last(course)[0]]}{held}."


def _stalemate(course: Course, names: Names) -> str:
    stood = _stood(course)
    abstained = " or abstained" if ABSTAIN in {stood.get(seat) for seat in _last(course)} else ""
    return f"{_all(course)} had a verdict{abstained}, and nobody moved in the last {SPAN} messages."


def _all_withdrawn(course: Course, names: Names) -> str:
    voters = {one.seat for one in course.voters}
    silent = (course.silent - course.withdrawn) & voters
    if silent in (set(), voters):
        return f"{every(len(voters))} have {'fallen silent' if silent else 'withdrawn'}."
    left, fallen = (
        f"{in_words(len(some))} {'has' if len(some) == 1 else 'have'}" for some in (voters - silent, silent)
    )
    return f"{left.capitalize()} withdrawn, and {fallen} fallen silent."


def _closed(course: Course, names: Names) -> str:
    return "Ended by the chair." if course.acts(Act.END) else "Closed by the chair."


def _alone(course: Course, names: Names) -> str:
    return (
        f"Only {listed(names[seat] for seat in _last(course))} was left, and has had the floor {_TIMES[TURNS_ALONE]}."
    )


_TIMES = ("never", "once", "twice")
_BECAUSE: Mapping[Because, Callable[[Course, Names], str]] = {
    Because.ALL_WITHDRAWN: _all_withdrawn,
    Because.AGREED: _agreed,
    Because.STALEMATE: _stalemate,
    Because.MOST: lambda course, names: f"All {counted(course.most, 'message')} are said.",
    Because.SPEND: lambda course, names: "Its budget does not pay for another turn.",
    Because.UNTIL: lambda course, names: "Its time is up.",
    Because.CLOSED: _closed,
    Because.ALONE: _alone,
}


# ---- to what -----------------------------------------------------------------------------------------------


def no_decision_in_words(rule: str, outcome: Outcome) -> str:
    """Why the verdicts decide nothing; empty where they decide something."""
    return _NO_DECISION[NoDecision(outcome.code)](Rule(rule), outcome) if outcome.code else ""


def _tie(rule: Rule, outcome: Outcome) -> str:
    if rule == Rule.MEDIAN:
        return f"The two verdicts in the middle are {listed(outcome.middle)}."
    return f"{listed(outcome.ahead)} have {in_words(max(outcome.tally.values()))} each."


def _too_few(rule: Rule, outcome: Outcome) -> str:
    most = max(outcome.tally.values())
    return f"{outcome.ahead[0]} has {most} of {outcome.base}, and {needed(rule, outcome)} are needed."


def _quorum(rule: Rule, outcome: Outcome) -> str:
    number = sum(outcome.tally.values())
    support = "supports" if number == 1 else "support"
    return f"{number} of {outcome.base} {support} an option, and more than half have to."


_NO_DECISION: Mapping[NoDecision, Callable[[Rule, Outcome], str]] = {
    NoDecision.TIE: _tie,
    NoDecision.TOO_FEW: _too_few,
    NoDecision.QUORUM: _quorum,
    NoDecision.NO_RULE: lambda rule, outcome: "No rule was asked for: the verdicts are not counted.",
}


def absence_in_words(course: Course, names: Names) -> str:
    """Who was missing, and what of it counts."""
    none = [one.seat for one in course.voters if one.seat not in course.stands_by]
    counts = "counts" if len(none) == 1 else "count"
    missing = f"{_named(none, names)} gave no verdict and {counts} for none." if none else ""
    silent = sorted(course.silent - course.withdrawn)
    return " ".join(filter(None, [missing, f"{_named(silent, names)} fell silent." if silent else ""]))


def _named(seats: Sequence[int], names: Names) -> str:
    return listed(names[seat] for seat in seats)


# ---- what it was before ------------------------------------------------------------------------------------


def missing_in_words(course: Course, alone: Alone, names: Names) -> str:
    """Who said nothing alone: persons are not asked."""
    persons = {one.seat for one in course.voters if one.person}
    failed = [seat for seat in alone.missing if seat not in persons]
    unasked = [seat for seat in alone.missing if seat in persons]
    said = [f"{_named(failed, names)} gave none."] if failed else []
    was = "was" if len(unasked) == 1 else "were"
    return " ".join([*said, *([f"{_named(unasked, names)} {was} not asked alone."] if unasked else [])])


def swayed_in_words(course: Course, alone: Alone, names: Names) -> str:
    asked = [seat for seat in alone.verdicts if seat not in alone.missing]
    nowhere = [seat for seat in asked if seat not in course.stands_by]
    they = "it" if len(alone.swayed) == 1 else "they"
    said = [f"{_named(alone.swayed, names)} ended elsewhere than {they} began."] if alone.swayed else []
    said += [f"{_named(nowhere, names)} ended with no verdict."] if nowhere else []
    if said or not asked:
        return " ".join(said) or "Nobody gave a verdict alone."
    where = f"{names[asked[0]]} ended where it" if len(asked) == 1 else f"{every(len(asked))} ended where they"
    return f"{where} began."


def voices_in_words(models: Sequence[str]) -> str:
    """`models`: of each member, empty for a person."""
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


def silence_in_words(course: Course, seat: int) -> str:
    """Why a member fell silent."""
    if any(one.seat == seat for one in course.acts(Act.GIVE_UP)):
        return "Fell silent: it was given up."
    person = any(one.seat == seat and one.person for one in course.voters)
    return f"Fell silent: {'it did not speak' if person else 'its model failed'} in three turns running."
