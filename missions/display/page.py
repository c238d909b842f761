"""Everything that the pages of a mission show, as data for the templates."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from runs.approvals.pending import digest_mark
from runs.formatting import format_usage, user_label
from runs.procedure.fragments import PageFragment, fragment_of, single_fragment
from runs.procedure.markers import OutcomeNote, outcome_note
from runs.procedure.spec import RunSnapshot
from runs.procedure.wait_reason import WaitReason
from runs.run_actions import retry_refusal

from .. import customs
from ..models import Mission
from .agents import SLOTS, MissionAgentView, MissionMessageView, agent_tree, agents, messages
from .files import ChangedFileView, changed_files
from .limits import LimitGauge, limit_gauges
from .outcome import MissionOutcomeView, outcome_view
from .status import OUTCOMES, announcement, status_sentences, status_text
from .terminals import SHOWN, TerminalView, key_of, terminals


@dataclass(frozen=True)
class PendingQuestion:
    """A pending gate. `state` changes as soon as somebody decides there."""

    number: int
    title: str
    text: str
    digest: str
    state: str


@dataclass(frozen=True)
class MissionDisplay:
    """`slots` are the shown terminals, newest first, padded by None; `places` the free numbers of agents."""

    id: str
    title: str
    goal: str
    customs: tuple[tuple[str, str], ...]
    state: str
    word: str
    first: str
    rest: str
    wait: WaitReason | None
    stamp: OutcomeNote | None
    asked: tuple[PendingQuestion, ...]
    gauges: tuple[LimitGauge, ...]
    crew: tuple[MissionAgentView, ...]
    agents: tuple[MissionAgentView, ...]
    places: tuple[int, ...]
    number: str
    slots: tuple[TerminalView | None, ...]
    commands: int
    messages: tuple[MissionMessageView, ...]
    letters: int
    files: tuple[ChangedFileView, ...]
    ending: MissionOutcomeView | None
    paused: str
    used: str
    rehearsal: bool
    is_ended: bool
    is_final: bool
    is_followable: bool  # not redacted: it can be judged, and another mission can continue with its files
    announcement: str
    created: datetime
    asked_by: str
    followed: str


def display_of(seen: RunSnapshot[Mission]) -> MissionDisplay:
    mission, run = seen.row, seen.run
    plate, word = status_text(mission, run)
    first, rest = status_sentences(seen)
    asked = tuple(_asked(seen)) if not run.is_ended else ()
    shown = {one.number: one for one in agents(seen)}
    slots = list(terminals(seen))
    return MissionDisplay(
        id=str(run.pk),
        title=run.shown_title,
        goal=mission.goal,
        customs=tuple(customs.for_agents(customs.from_json(mission.customs))),
        state=plate,
        word=word,
        first=first,
        rest=rest,
        wait=seen.wait if not asked else None,
        stamp=outcome_note(run, word, "Rehearsal" if mission.rehearsal else "", lambda outcome: OUTCOMES[outcome][0]),
        asked=asked,
        gauges=tuple(limit_gauges(seen)),
        crew=tuple(agent_tree(shown, mission)),
        agents=tuple(shown.values()),
        places=tuple(range(len(shown) + 1, SLOTS + 1)),
        number=f"{len(shown)} of {max(mission.bounds.agents, len(shown))} agents",
        slots=(*slots, *[None] * (SHOWN - len(slots))),
        commands=len(mission.terminals.all()),
        messages=tuple(messages(mission)),
        letters=len(mission.messages_in_order),
        files=tuple(changed_files(mission)),
        ending=outcome_view(seen),
        paused=mission.paused if not run.is_ended else "",
        used=format_usage(seen.calls),
        rehearsal=mission.rehearsal,
        is_ended=run.is_ended,
        is_followable=run.is_ended and not run.redacted,
        is_final=run.is_ended and bool(retry_refusal(run)),
        announcement=announcement(mission, run, word, asked),
        created=run.created,
        asked_by=user_label(run.asked_by),
        followed=str(mission.follows_id) if mission.follows_id else "",
    )


def _asked(seen: RunSnapshot[Mission]) -> list[PendingQuestion]:
    pending = [gate for gate in seen.gates if gate.pending]
    return [PendingQuestion(gate.pk, gate.title, gate.text, gate.digest, digest_mark(gate)) for gate in pending]


fragment = partial(fragment_of, "missions")


def fragments(display: MissionDisplay) -> Iterator[PageFragment]:
    """All fragments. The socket comes last: it is removed from final pages, and with it the way to update others."""
    yield fragment("plate", single_fragment(display, "state", "word", "stamp"))
    yield fragment("stamp", {"display": display})
    yield fragment("sub", single_fragment(display, "first", "rest", "used"))
    yield fragment("wait", {"display": display})
    yield fragment("asked", single_fragment(display, "asked"))
    yield fragment("gauges", single_fragment(display, "gauges"))
    yield fragment("ending", single_fragment(display, "id", "ending", "files", "rehearsal"))
    answering = frozenset[str]().union(*(agent.coming for agent in display.agents))
    yield fragment("crew", single_fragment(display, "crew", "number"), steps=answering)
    yield fragment("messages", single_fragment(display, "id", "messages", "letters"))
    for agent in display.agents:
        yield fragment("agent", {"agent": agent, "number": agent.number}, (agent.number,), agent.coming)
    for number in display.places:
        yield fragment("agent", {"agent": None, "number": number}, (number,))
    yield from _terminals(display)
    yield fragment("files", single_fragment(display, "id", "files", "is_ended"))
    yield fragment(
        "actions", single_fragment(display, "id", "is_ended", "is_final", "paused", "is_followable"), replayed=False
    )
    yield fragment("announcer", single_fragment(display, "announcement"), replayed=False)
    if display.is_final:
        yield fragment("socket", {"display": display}, replayed=False)


def _terminals(display: MissionDisplay) -> Iterator[PageFragment]:
    yield fragment("terminals", single_fragment(display, "id", "commands"))
    for place, one in enumerate(display.slots, 1):
        growing = frozenset({key_of(one.number)}) if one and one.living else frozenset[str]()
        yield fragment("terminal", {"one": one, "place": place, **single_fragment(display, "id")}, (place,), growing)
