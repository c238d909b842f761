"""The sentences about an end, held against the figures that stand beside them: in debates of all ends, with members
that withdrew, fell silent, were absent or are people."""

import functools
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import product
from random import Random

from debates.analysis import first_positions
from debates.analysis.ends import (
    absence_in_words,
    because_in_words,
    missing_in_words,
    no_decision_in_words,
    silence_in_words,
    swayed_in_words,
    voices_in_words,
)
from debates.prompts.wording import NUMBERS
from debates.rules.outcome import DebateOutcome, DecisionRule, NoDecision, outcome_of
from debates.rules.state import ABSTAIN, DebateState, StatementKind, SteeringKind, TurnReason
from debates.rules.turn_taking import EndForLackOfMembers, EndReason
from tests.debates.plays import OPTIONS, DebatePlay, agree, at_random, course, talk

LEAVING = (0.0, 0.3)
FAILING = (0.0, 0.35)


def one_of_mind(die: Random, failing: float, leaving: float):
    """All stand by one option, as far as they speak."""

    def answer(course: DebateState, turn):
        said = agree(course, turn) | {"withdrawn": die.random() < leaving and turn.why != TurnReason.CLOSING}
        return None if die.random() < failing else said

    return answer


def unmoved(die: Random, failing: float, leaving: float):
    """Each stands by an option of its own, or abstains, and holds to it."""

    def answer(course: DebateState, turn):
        if die.random() < failing / 2:
            return None
        return {"verdict": ABSTAIN} if turn.seat == 4 else talk(course, turn)

    return answer


def ending(die: Random, how: str):
    def act(play: DebatePlay) -> None:
        if how == "spend" and play.course.clock > 6:
            play.course = replace(play.course, affords=False)
        if how == "until" and play.course.clock > 6:
            play.course = replace(play.course, late=True)
        if how in ("close", "end") and play.course.clock == 5 and not play.course.steers:
            play.steer(SteeringKind(how))
        persons = [one.seat for one in play.course.voters if one.person and one.seat not in play.course.withdrawn]
        if persons and not play.course.because and die.random() < 0.02:
            play.say(
                sort=StatementKind.LEAVING, seat=persons[0], verdict=die.choice([*OPTIONS, ABSTAIN]), withdrawn=True
            )

    return act


@functools.cache
def played() -> list[tuple[DebateState, DebateOutcome]]:
    found = []
    hows = ("", "spend", "until", "close", "end")
    for seed, (rule, failing, leaving, how) in enumerate(product(DecisionRule, FAILING, LEAVING, hows)):
        for kind, challenge in product((at_random, one_of_mind, unmoved), (True, False)):
            die = Random(seed)
            table = course(2 + seed % 4, rule=rule, first=True, most=die.choice([8, 40]), challenge=challenge)
            seats = [replace(seat, person=seat.seat > 0 and die.random() < 0.3) for seat in table.seats]
            answer = kind(die, failing=failing, leaving=leaving)
            play = DebatePlay(replace(table, seats=seats), answer, act=ending(die, how)).to_the_end()
            if not isinstance(play.end, EndForLackOfMembers):
                ended = replace(play.course, because=play.end.because)
                stood = [ended.verdict_of.get(one.seat, "") for one in ended.voters]
                found.append((ended, outcome_of(rule, OPTIONS, stood)))
    return found


def number(word: str) -> int:
    return NUMBERS.index(word.lower())


def counted_out(said: str) -> str:
    """With a number where people say both."""
    return said.replace("Both", "All two", 1) if said.startswith("Both") else said


@dataclass(frozen=True)
class EndedDebate:
    """`last`: who could still speak when it was over; `stood`: by what members stood then."""

    course: DebateState

    @property
    def voters(self) -> set[int]:
        return {one.seat for one in self.course.voters}

    @property
    def last(self) -> set[int]:
        return {turn.seat for turn in self.course.closings}

    @property
    def stood(self) -> set[str]:
        closings = self.course.closings
        stood = self.course.verdict_at(closings[0].after) if closings else self.course.verdict_of
        return {stood[seat] for seat in self.last}

    @property
    def challenged(self) -> bool:
        turn = self.course.challenged
        return turn is not None and any(one.turn == turn.number for one in self.course.messages_said)

    @property
    def silent(self) -> set[int]:
        return self.voters & self.course.silent - self.course.withdrawn


DUE: dict[str, Callable[[EndedDebate, re.Match[str]], bool]] = {
    r"All (\w+) (?:supported|had)": lambda end, said: number(said[1]) == len(end.voters) == len(end.last),
    r"All (\w+) have withdrawn": lambda end, said: number(said[1]) == len(end.voters & end.course.withdrawn),
    r"All (\w+) have fallen silent": lambda end, said: number(said[1]) == len(end.silent) == len(end.voters),
    r"The (\w+) who still spoke": lambda end, said: number(said[1]) == len(end.last) < len(end.voters),
    r".* supported (\w+)": lambda end, said: end.stood == {said[1]},
    r".*challenged": lambda end, said: end.challenged,
    r".* had a verdict( or abstained)?": lambda end, said: (
        bool(said[1]) == (ABSTAIN in end.stood) and "" not in end.stood
    ),
    r"(\w+) ha\w+ withdrawn, and (\w+) ha": lambda end, said: (
        (number(said[1]), number(said[2])) == (len(end.voters - end.silent), len(end.silent))
    ),
    r"Only (.*) was left": lambda end, said: {said[1]} == {name_of(end.course)[seat] for seat in end.last},
}
"""What has to be so where a sentence says why it ended."""


def wrong_because(course: DebateState, said: str) -> Iterator[str]:
    matches = ((due, found) for pattern, due in DUE.items() if (found := re.match(pattern, said)))
    yield from (said for due, found in matches if not due(EndedDebate(course), found))


def name_of(course: DebateState) -> dict[int, str]:
    return {one.seat: one.name for one in course.seats}


def wrong_outcome(outcome: DebateOutcome, rule: str, said: str) -> Iterator[str]:
    if found := re.match(r"(\w+) has (\d+) of (\d+), and (\d+) are needed", said):
        told = outcome.tally[found[1]], outcome.base
        if told != (int(found[2]), int(found[3])) or int(found[4]) <= told[0] or rule == DecisionRule.MEDIAN:
            yield said
    if (found := re.match(r"(.+) have (\w+) each", said)) and {
        one for one, count in outcome.tally.items() if count == number(found[2])
    } != set(re.split(", | and ", found[1])):
        yield said
    if (found := re.match(r"(\d+) of (\d+) supports? an option", said)) and (
        (int(found[1]), int(found[2])) != (sum(outcome.tally.values()), outcome.base)
        or 2 * int(found[1]) > int(found[2])
    ):
        yield said
    if bool(said) != bool(outcome.code):
        yield f"{outcome.code}: {said}"


def wrong_names(course: DebateState, said: str, due: dict[str, set[int]]) -> Iterator[str]:
    """Whoever a sentence with these words names, and nobody else."""
    for words, seats in due.items():
        told = " ".join(sentence for sentence in said.split(". ") if words in sentence)
        if {seat for seat, name in name_of(course).items() if name in told} != seats:
            yield said


def wrong(course: DebateState, outcome: DebateOutcome) -> Iterator[str]:
    names, voters = name_of(course), {one.seat for one in course.voters}
    yield from wrong_because(course, counted_out(because_in_words(course, names)))
    yield from wrong_outcome(outcome, course.settings.rule, no_decision_in_words(course.settings.rule, outcome))
    absent = {
        "gave no verdict": voters - course.verdict_of.keys(),
        "fell silent": set(course.silent - course.withdrawn),
    }
    yield from wrong_names(course, absence_in_words(course, names), absent)
    if before := first_positions(course):
        persons, asked = {one.seat for one in course.voters if one.person}, voters - set(before.missing)
        missing = {"not asked alone": persons & set(before.missing), "gave none": set(before.missing) - persons}
        yield from wrong_names(course, missing_in_words(course, before, names), missing)
        elsewhere = {seat for seat in asked if course.verdict_of.get(seat, "") not in ("", before.verdicts[seat])}
        said = counted_out(swayed_in_words(course, before, names))
        moved = {"ended elsewhere": elsewhere, "ended with no verdict": asked - course.verdict_of.keys()}
        yield from wrong_names(course, said, moved)
        if said.startswith("All ") and (
            elsewhere or asked - course.verdict_of.keys() or number(said.split()[1]) != len(asked)
        ):
            yield said


def test_each_sentence_about_an_end_says_what_its_figures_say():
    debates = played()
    found = [sentence for ended, outcome in debates for sentence in wrong(ended, outcome)]
    assert found == []
    assert {ended.because for ended, _ in debates} == set(EndReason)
    assert {outcome.code for _, outcome in debates} == {"", *NoDecision}
    assert min(sum(bool(of(ended)) for ended, _ in debates) for of in (lambda c: c.withdrawn, lambda c: c.silent)) > 20


def test_no_sentence_about_an_end_counts_none_or_says_all_of_one_or_two():
    sentences = [because_in_words(ended, name_of(ended)) for ended, _ in played()]
    sentences += [
        swayed_in_words(ended, one, name_of(ended)) for ended, _ in played() if (one := first_positions(ended))
    ]
    assert [one for one in set(sentences) if re.match(r"No |All (no|one|two) ", one)] == []


def test_voices_are_told_of_models_and_people_apart():
    for models in (["a", "b"], ["a", "a", ""], ["", ""], ["a", "", "b", "b", "b"], ["a", "b", ""]):
        said = voices_in_words(models)
        shared = [one for one in Counter(filter(None, models)).values() if one > 1]
        told = re.findall(r"(?:^|; )(\w+) (?:members share|has|have|is|are)", said)
        each = told == ["each"] and "" not in models and not shared
        assert each or sum(map(number, told)) == len(models)
        assert [number(found) for found in re.findall(r"(\w+) members share", said)] == shared
    assert voices_in_words(["a", "b", ""]) == "two have models of their own; one is a person"


def test_why_somebody_fell_silent_is_not_a_models_fault_where_there_is_none():
    table = course(3)
    seats = [replace(seat, person=seat.seat == 1) for seat in table.seats]
    play = DebatePlay(replace(table, seats=seats))
    play.steer(SteeringKind.GIVE_UP, seat=3)
    said = [silence_in_words(play.course, seat) for seat in (1, 2, 3)]
    assert said == [
        "Fell silent: it did not speak in three turns running.",
        "Fell silent: its model failed in three turns running.",
        "Fell silent: it was given up.",
    ]
