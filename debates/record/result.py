"""How a debate ended, in a few sentences, and what each member stood by at every stage on the way."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from runs.record import from_to

from .. import analysis
from ..parts import MISSING, NO_VERDICT, Look
from ..rules.course import Act, Sort, Standing
from ..rules.outcome import Rule
from ..scene import Scene
from ..sentences import (
    RULES,
    counted,
    in_words,
    listed,
    sentence_of_absence,
    sentence_of_end,
    sentence_of_rule,
    sentence_under_plate,
)

TIMES = ("", "once", "twice")


@dataclass(frozen=True)
class Row:
    """A member: what it stood by at each stage, and how often it spoke."""

    name: str
    looks: tuple[Look, ...]
    messages: int


@dataclass(frozen=True)
class Result:
    heads: tuple[str, ...]
    rows: tuple[Row, ...]
    lines: tuple[str, ...]


# ---- in sentences -----------------------------------------------------------------------------------------


def summary(scene: Scene) -> str:
    if not scene.over:
        return f"Still under way: this record is not complete and there is no outcome. {_told(scene)}"
    if not scene.run.outcome:
        when = from_to(scene.run.started, scene.run.ended)
        return f"{_told(scene)} It ran {when}." if when else _told(scene)
    return " ".join(filter(None, [_held(scene), _stood(scene), _chaired(scene), _failed(scene)]))


def _told(scene: Scene) -> str:
    return " ".join(filter(None, sentence_under_plate(scene)))


def _held(scene: Scene) -> str:
    closings = sum(message.kind == Sort.CLOSING for message in scene.messages)
    last = f" and {in_words(closings)} last word{'' if closings == 1 else 's'}" if closings else ""
    members = f"{in_words(len(scene.seated)).capitalize()} members"
    when = from_to(scene.run.started, scene.run.ended)
    return f"{members} debated {when} in {counted(scene.course.clock, 'message')}{last}."


def _stood(scene: Scene) -> str:
    come_to = scene.debate.come_to(scene.course)
    rule = RULES[Rule(scene.debate.rule)].lower()
    if not come_to.option:
        return f"{sentence_of_end(scene)}{sentence_of_absence(scene)}"
    number = in_words(come_to.tally[come_to.option]).capitalize()
    of = in_words(len(scene.seated))
    return f"{number} of {of} supported “{come_to.option}” at the end; the rule is: {rule}.{sentence_of_absence(scene)}"


CLOSES = {Act.CLOSE: "closed the debate", Act.CLOSE_AT_ONCE: "closed the debate at once", Act.END: "ended the debate"}


def _chaired(scene: Scene) -> str:
    """Who spoke as the chair how often, and who closed it."""
    spoke = Counter(message.by_name for message in scene.messages if message.kind == Sort.CHAIR)
    closed = {steer.by_name: CLOSES[Act(steer.act)] for steer in scene.debate.steers.all() if steer.act in CLOSES}
    did = {name: [*([_times(spoke[name])] if spoke[name] else []), *filter(None, [closed.get(name)])] for name in spoke}
    did |= {name: [act] for name, act in closed.items() if name not in did}
    return " ".join(f"The chair, {name}, {listed(acts)}." for name, acts in did.items())


def _times(number: int) -> str:
    return f"spoke {TIMES[number] if number < len(TIMES) else f'{in_words(number)} times'}"


def _failed(scene: Scene) -> str:
    skipped = [turn for turn in scene.turns.values() if turn.state == Standing.SKIPPED]
    if not skipped:
        return "No turn was skipped."
    names = listed(dict.fromkeys(scene.name(scene.seats[turn.member_id]) for turn in skipped))
    were = "turn was" if len(skipped) == 1 else "turns were"
    return f"{in_words(len(skipped)).capitalize()} {were} skipped, of {names}."


# ---- by stage ---------------------------------------------------------------------------------------------


def result_of(scene: Scene, found: analysis.Analysis) -> Result:
    stages = [(f"At {stage.clock}", stage.stood) for stage in found.stages[:-1]]
    last = ("At the end" if scene.over else "Now", found.stages[-1].stood)
    columns = [*_alone(scene), *((head, _looks(scene, stood)) for head, stood in [*stages, last])]
    rows = tuple(
        Row(one.name, tuple(looks[one.seat] for _, looks in columns), scene.course.counts[one.seat])
        for one in scene.seated
    )
    return Result(tuple(head for head, _ in columns), rows, tuple(_lines(scene)))


def _alone(scene: Scene) -> Iterator[tuple[str, Mapping[int, Look]]]:
    """What each said alone; no column where nobody was asked, or nobody may see it yet."""
    if scene.firsts:
        yield "Alone, before", {one.seat: _first(scene, one.seat) for one in scene.seated}


def _first(scene: Scene, seat: int) -> Look:
    first = scene.firsts.get(seat)
    if first is None:
        return NO_VERDICT
    return MISSING if first.missing else scene.look(first.said_in(scene.debate))


def _looks(scene: Scene, stood: Mapping[int, str]) -> Mapping[int, Look]:
    return {one.seat: scene.look(stood[one.seat]) if stood.get(one.seat) else NO_VERDICT for one in scene.seated}


def _lines(scene: Scene) -> Iterator[str]:
    if not scene.run.outcome:
        return
    lead, rest = sentence_of_rule(scene, scene.debate.come_to(scene.course))
    yield f"The last verdict of each member counts, once. {sentence_of_end(scene)}"
    yield f"{lead} {rest}{sentence_of_absence(scene)}"
    if scene.firsts:
        yield "What was said alone, before the debate, counts for nothing."
