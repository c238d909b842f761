"""Outcome in the record: a few sentences, and the verdicts of all members at each stage."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from runs.record.document import format_interval

from .. import analysis
from ..page.context import DebatePageContext
from ..page.sentences import (
    RULES,
    count_noun,
    in_words,
    join_names,
    sentence_of_absence,
    sentence_of_end,
    sentence_of_rule,
    status_sentence,
)
from ..page.view_model import MISSING, NO_VERDICT, OptionStyle
from ..rules.outcome import DecisionRule
from ..rules.state import MemberStatus, StatementKind, SteeringKind

COUNT_WORDS = ("", "once", "twice")


@dataclass(frozen=True)
class PositionRow:
    """A member's verdict at each stage, and its number of messages."""

    name: str
    looks: tuple[OptionStyle, ...]
    messages: int


@dataclass(frozen=True)
class RecordedOutcome:
    heads: tuple[str, ...]
    rows: tuple[PositionRow, ...]
    lines: tuple[str, ...]


# ---- sentences --------------------------------------------------------------------------------------------


def summary(scene: DebatePageContext) -> str:
    if not scene.over:
        return f"Still under way: this record is not complete and there is no outcome. {_told(scene)}"
    if not scene.run.outcome:
        when = format_interval(scene.run.started, scene.run.ended)
        return f"{_told(scene)} It ran {when}." if when else _told(scene)
    return " ".join(filter(None, [_held(scene), _stood(scene), _chaired(scene), _failed(scene)]))


def _told(scene: DebatePageContext) -> str:
    return " ".join(filter(None, status_sentence(scene)))


def _held(scene: DebatePageContext) -> str:
    closings = sum(message.kind == StatementKind.CLOSING for message in scene.messages)
    last = f" and {in_words(closings)} last word{'' if closings == 1 else 's'}" if closings else ""
    members = f"{in_words(len(scene.seated)).capitalize()} members"
    when = format_interval(scene.run.started, scene.run.ended)
    return f"{members} debated {when} in {count_noun(scene.course.clock, 'message')}{last}."


def _stood(scene: DebatePageContext) -> str:
    come_to = scene.debate.result(scene.course)
    rule = RULES[DecisionRule(scene.debate.rule)].lower()
    if not come_to.option:
        return f"{sentence_of_end(scene)}{sentence_of_absence(scene)}"
    number = in_words(come_to.tally[come_to.option]).capitalize()
    of = in_words(len(scene.seated))
    return f"{number} of {of} supported “{come_to.option}” at the end; the rule is: {rule}.{sentence_of_absence(scene)}"


CLOSING_REASONS = {
    SteeringKind.CLOSE: "closed the debate",
    SteeringKind.CLOSE_AT_ONCE: "closed the debate at once",
    SteeringKind.END: "ended the debate",
}


def _chaired(scene: DebatePageContext) -> str:
    """Return who spoke as the chair how often, and who closed the debate."""
    spoke = Counter(message.by_name for message in scene.messages if message.kind == StatementKind.CHAIR)
    closed = {
        steer.by_name: CLOSING_REASONS[SteeringKind(steer.act)]
        for steer in scene.debate.steers.all()
        if steer.act in CLOSING_REASONS
    }
    did = {name: [*([_times(spoke[name])] if spoke[name] else []), *filter(None, [closed.get(name)])] for name in spoke}
    did |= {name: [act] for name, act in closed.items() if name not in did}
    return " ".join(f"The chair, {name}, {join_names(acts)}." for name, acts in did.items())


def _times(number: int) -> str:
    return f"spoke {COUNT_WORDS[number] if number < len(COUNT_WORDS) else f'{in_words(number)} times'}"


def _failed(scene: DebatePageContext) -> str:
    skipped = [turn for turn in scene.turns.values() if turn.state == MemberStatus.SKIPPED]
    if not skipped:
        return "No turn was skipped."
    names = join_names(dict.fromkeys(scene.name(scene.seats[turn.member_id]) for turn in skipped))
    were = "turn was" if len(skipped) == 1 else "turns were"
    return f"{in_words(len(skipped)).capitalize()} {were} skipped, of {names}."


# ---- by stage ---------------------------------------------------------------------------------------------


def recorded_outcome(scene: DebatePageContext, found: analysis.DebateAnalysis) -> RecordedOutcome:
    stages = [(f"At {stage.clock}", stage.stood) for stage in found.stages[:-1]]
    last = ("At the end" if scene.over else "Now", found.stages[-1].stood)
    columns = [*_alone(scene), *((head, _looks(scene, stood)) for head, stood in [*stages, last])]
    rows = tuple(
        PositionRow(one.name, tuple(looks[one.seat] for _, looks in columns), scene.course.counts[one.seat])
        for one in scene.seated
    )
    return RecordedOutcome(tuple(head for head, _ in columns), rows, tuple(_lines(scene)))


def _alone(scene: DebatePageContext) -> Iterator[tuple[str, Mapping[int, OptionStyle]]]:
    """Yield the column of first verdicts; none if nobody gave one or they are hidden."""
    if scene.firsts:
        yield "Alone, before", {one.seat: _first(scene, one.seat) for one in scene.seated}


def _first(scene: DebatePageContext, seat: int) -> OptionStyle:
    first = scene.firsts.get(seat)
    if first is None:
        return NO_VERDICT
    return MISSING if first.missing else scene.option_style(first.said_in(scene.debate))


def _looks(scene: DebatePageContext, stood: Mapping[int, str]) -> Mapping[int, OptionStyle]:
    return {
        one.seat: scene.option_style(stood[one.seat]) if stood.get(one.seat) else NO_VERDICT for one in scene.seated
    }


def _lines(scene: DebatePageContext) -> Iterator[str]:
    if not scene.run.outcome:
        return
    lead, rest = sentence_of_rule(scene, scene.debate.result(scene.course))
    yield f"The last verdict of each member counts, once. {sentence_of_end(scene)}"
    yield f"{lead} {rest}{sentence_of_absence(scene)}"
    if scene.firsts:
        yield "What was said alone, before the debate, counts for nothing."
