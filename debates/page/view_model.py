"""The parts of the display: what an option looks like, a seat, a turn of the clock, a line of the transcript."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import count

from ..models import DebateOption, OptionDirection
from ..rules.state import ABSTAIN


@dataclass(frozen=True)
class OptionStyle:
    """A verdict as a lamp: `state` is its shape and colour, on it a `sign`, or its `number` among the options."""

    word: str
    state: str
    sign: str = ""
    number: int | None = None
    pattern: str = ""  # of its bar in the chart

    @property
    def stated(self) -> bool:
        return self.state not in ("wait", "failed")


UNDECIDED = OptionStyle("None yet", "wait")
ABSTAINS = OptionStyle("Abstains", "none", "dash", pattern="line")
MISSING = OptionStyle("No answer", "failed", "bang")
NO_VERDICT = OptionStyle("None", "wait")

_SIGNS = {OptionDirection.FOR: "check", OptionDirection.AGAINST: "cross"}
_STATES = {OptionDirection.FOR: "approve", OptionDirection.AGAINST: "reject"}
_BETWEEN = ("mid", "mid-2")
_PATTERNS = {"approve": "solid", "reject": "hatched", "mid": "dotted", "mid-2": "dotted-2"}


def option_styles(options: Sequence[DebateOption]) -> Mapping[str, OptionStyle]:
    """By their words. What shares its shape with another option shows its number in place of the sign."""
    directions = [option.direction for option in options]
    between = count()
    found = {"": UNDECIDED, ABSTAIN: ABSTAINS}
    for number, option in enumerate(options, 1):
        state = _STATES.get(OptionDirection(option.direction)) or _BETWEEN[next(between) % len(_BETWEEN)]
        alone = directions.count(option.direction) == 1
        sign = _SIGNS.get(OptionDirection(option.direction), "") if alone else ""
        found[option.word] = OptionStyle(option.word, state, sign, None if sign else number, _PATTERNS[state])
    return found


@dataclass(frozen=True)
class MemberView:
    """A member at the table. `now` says what it does, with its sign; `line` what it has done. `asked`: others wait for
    its answer; `out`: it takes no further part. `models`: its own and what stands in for it; `who`: all that is written
    of it; `step`: for which its model is asked now."""

    number: int
    name: str
    role: str
    look: OptionStyle
    line: str
    now: str = ""
    sign: str = ""
    speaks: bool = False
    asked: bool = False
    out: bool = False
    until: datetime | None = None
    models: tuple[str, ...] = ()
    who: str = ""
    step: str = ""


@dataclass(frozen=True)
class MemberHistoryRow:
    """One line of where they stand."""

    look: OptionStyle
    count: int
    who: str


@dataclass(frozen=True)
class PositionView:
    """Where they stand, and by which rule that comes to what."""

    rows: tuple[MemberHistoryRow, ...]
    lead: str
    rest: str


@dataclass(frozen=True)
class ClockView:
    """`on` and `off`: the marks to a deadline that are used up, and those that are left, as paths."""

    number: int
    label: str
    on: str
    off: str


@dataclass(frozen=True)
class TranscriptEvent:
    """Something that nobody at the table said: who was skipped, what the chair did, what the timekeeper told, how it
    ended. `called`: with its number, as prompts and record have it, where it has one."""

    sign: str
    lead: str
    text: str
    struck: str = ""
    called: str = ""


@dataclass(frozen=True)
class ArgumentClaimView:
    """A point of a message. `source` as in A3:26, `answers` the message in which the point is that it answers."""

    number: str
    sign: str
    option: str
    side: str
    claim: str
    source: str
    answers: str
    answered: int | None


@dataclass(frozen=True)
class ShareBar:
    """A row of an artifact that is also drawn: `share` of a hundred, of its largest number."""

    label: str
    value: str
    share: int


@dataclass(frozen=True)
class ArtifactView:
    title: str
    kind: str
    text: str = ""
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    bars: tuple[ShareBar, ...] = ()


@dataclass(frozen=True)
class StatedView:
    """A verdict that a message states. `before`: what its speaker stood by until then, where that was another one."""

    look: OptionStyle
    before: OptionStyle | None
    reason: str
    named: str


@dataclass(frozen=True)
class MessageView:
    """A message as the transcript shows it. `look`: what its speaker stands by since. `marks`: how it came about."""

    number: int
    name: str
    to: str
    at: datetime
    words: str
    look: OptionStyle | None
    claims: tuple[ArgumentClaimView, ...] = ()
    artifact: ArtifactView | None = None
    stated: StatedView | None = None
    withdraws: bool = False
    person: bool = False
    part_two: int | None = None
    marks: tuple[str, ...] = ()
    reason: str = ""


@dataclass(frozen=True)
class PartialMessage:
    """What somebody is saying now, for which step of the run. `since`: when it was asked for."""

    step: str
    name: str
    to: str
    look: OptionStyle | None
    words: str
    since: datetime | None = None
    retry: str = ""
    until: datetime | None = None
    cut: str = ""  # why it is not said
