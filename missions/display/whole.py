"""What the pages of a mission show: every word and number, before any HTML."""

from dataclasses import dataclass
from datetime import datetime

from runs.deciding import mark_of
from runs.face import Snapshot
from runs.stamps import Stamp, stamp_of
from runs.steering import why_not_retried
from runs.usage import used
from runs.waits import Wait
from runs.words import shown_name

from .. import customs
from ..models import Mission
from .crew import SLOTS, AgentShown, MessageShown, agents, messages, tree
from .ending import Ending, ending
from .files import FileShown, files_changed
from .gauges import Gauge, gauges
from .plate import OUTCOMES, announcement, plate_of, sentences
from .terminals import SHOWN, TerminalShown, terminals


@dataclass(frozen=True)
class Asked:
    """A gate that waits; `mark` is otherwise as soon as somebody has said something there."""

    number: int
    title: str
    text: str
    digest: str
    state: str


@dataclass(frozen=True)
class Display:
    """`slots`: places of terminals, the newest first; `places`: of agents that there are not yet."""

    id: str
    title: str
    goal: str
    customs: tuple[tuple[str, str], ...]
    state: str
    word: str
    first: str
    rest: str
    wait: Wait | None
    stamp: Stamp | None
    asked: tuple[Asked, ...]
    gauges: tuple[Gauge, ...]
    crew: tuple[AgentShown, ...]
    agents: tuple[AgentShown, ...]
    places: tuple[int, ...]
    number: str
    slots: tuple[TerminalShown | None, ...]
    commands: int
    messages: tuple[MessageShown, ...]
    letters: int
    files: tuple[FileShown, ...]
    ending: Ending | None
    paused: str
    used: str
    rehearsal: bool
    over: bool
    final: bool
    is_followable: bool  # its texts are there: it can be judged, and another can go on with its files
    announcement: str
    created: datetime
    asked_by: str
    followed: str


def display_of(seen: Snapshot[Mission]) -> Display:
    mission, run = seen.row, seen.run
    plate, word = plate_of(mission, run)
    first, rest = sentences(seen)
    asked = tuple(_asked(seen)) if not run.over else ()
    shown = {one.number: one for one in agents(seen)}
    slots = list(terminals(seen))
    return Display(
        id=str(run.pk),
        title=run.shown_title,
        goal=mission.goal,
        customs=tuple(customs.told(customs.read(mission.customs))),
        state=plate,
        word=word,
        first=first,
        rest=rest,
        wait=seen.wait if not asked else None,
        stamp=stamp_of(run, word, "Rehearsal" if mission.rehearsal else "", lambda outcome: OUTCOMES[outcome][0]),
        asked=asked,
        gauges=tuple(gauges(seen)),
        crew=tuple(tree(shown, mission)),
        agents=tuple(shown.values()),
        places=tuple(range(len(shown) + 1, SLOTS + 1)),
        number=f"{len(shown)} of {max(mission.bounds.agents, len(shown))} agents",
        slots=(*slots, *[None] * (SHOWN - len(slots))),
        commands=len(mission.terminals.all()),
        messages=tuple(messages(mission)),
        letters=len(mission.talk),
        files=tuple(files_changed(mission)),
        ending=ending(seen),
        paused=mission.paused if not run.over else "",
        used=used(seen.calls),
        rehearsal=mission.rehearsal,
        over=run.over,
        is_followable=run.over and not run.redacted,
        final=run.over and bool(why_not_retried(run)),
        announcement=announcement(mission, run, word, asked),
        created=run.created,
        asked_by=shown_name(run.asked_by),
        followed=str(mission.follows_id) if mission.follows_id else "",
    )


def _asked(seen: Snapshot[Mission]) -> list[Asked]:
    pending = [gate for gate in seen.gates if gate.pending]
    return [Asked(gate.pk, gate.title, gate.text, gate.digest, mark_of(gate)) for gate in pending]
