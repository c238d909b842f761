"""The status of a mission, as a word and as two sentences."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from django.utils import timezone

from engine.models import Run
from runs.formatting import format_duration, user_label
from runs.procedure.spec import STATUS_LABELS, RunSnapshot
from runs.questions import OpenQuestion, by_step

from ..models import Mission, MissionAgent, queries
from ..models.queries import asked_in
from ..rules import DONE, UNPROVEN, AgentState

OUTCOMES = {DONE: ("approve", "Done"), UNPROVEN: ("reject", "Unproven")}
AGENT_COUNT_WORDS = ("No agent", "One agent", "Two agents", "Three agents", "Four agents", "Five agents")


def status_text(mission: Mission, run: Run) -> tuple[str, str]:
    if run.outcome:
        return OUTCOMES[run.outcome]
    if mission.paused and not run.is_ended:
        return "pending", "Paused"
    return ("judging", "Working") if run.status == Run.Status.RUNNING else STATUS_LABELS[run.status]


def status_sentences(seen: RunSnapshot[Mission]) -> tuple[str, str]:
    """Two sentences; the page shows the first one larger."""
    mission, run = seen.row, seen.run
    if run.is_ended:
        return _ended(mission, run), _when(run)
    return _running_sentence(seen), " ".join(_progress_sentences(mission))


def _ended(mission: Mission, run: Run) -> str:
    if run.outcome == UNPROVEN:
        return f"Nothing shows that it is done. {mission.unproven}"
    if run.outcome:
        checked = getattr(mission, "final_check", None) is not None
        return f"The coordinator says it is done, {'and its check passed' if checked else 'and no check was wanted'}."
    if run.status == Run.Status.FAILED:
        return str((run.error or {}).get("message", ""))
    return f"Stopped by {run.cancelled_by_name}." if run.cancelled_by_name else "It was stopped."


def _when(run: Run) -> str:
    if not run.ended:
        return ""
    lasted = format_duration(run.started, run.ended)
    return f"Ended at {run.ended:%H:%M:%S} UTC{f' after {lasted}' if lasted else ''}."


def _running_sentence(seen: RunSnapshot[Mission]) -> str:
    mission, run = seen.row, seen.run
    if mission.paused:
        return f"Paused by {user_label(mission.paused)}. Acts that were under way come to their end."
    asked = [gate for gate in seen.gates if gate.pending]
    if asked:
        return "One thing waits for a decision." if len(asked) == 1 else f"{len(asked)} things wait for decisions."
    if run.status == Run.Status.WAITING:
        return ""  # the page's wait reason says for what, and since when
    if run.status == Run.Status.QUEUED:
        return "It begins as soon as there is room."
    waits = {number for number, question in questions(seen).items() if question.waits}
    crew = active_agents(mission)
    said = _do("work", [one.name for one in crew if one.number not in waits], "")
    return " ".join([*said, *_do("wait", [one.name for one in crew if one.number in waits], " to be answered")])


def _do(verb: str, names: Sequence[str], what: str) -> Sequence[str]:
    return [f"{', '.join(names)} {verb}{'s' * (len(names) == 1)}{what}."] if names else []


def questions(seen: RunSnapshot[Mission]) -> Mapping[int, OpenQuestion]:
    """The requests to models that are open now, by number of the agent."""
    return {asked_in(step)[1]: question for step, question in by_step(seen.questions, seen.texts).items()}


def active_agents(mission: Mission) -> Sequence[MissionAgent]:
    now = timezone.now()
    return [one for one in mission.crew_list if state_of(mission, one, now) == AgentState.RUNNING]


def state_of(mission: Mission, agent: MissionAgent, now: datetime) -> AgentState:
    return queries.agent_situation(mission, agent.number, now).state


def _progress_sentences(mission: Mission) -> Iterator[str]:
    rest = len(mission.crew_list) - len(active_agents(mission))
    if rest and len(mission.crew_list) > 1:
        words = AGENT_COUNT_WORDS[rest] if rest < len(AGENT_COUNT_WORDS) else f"{rest} agents"
        yield f"{words} {'has' if rest == 1 else 'have'} stopped."
    steps, letters = len(mission.steps.all()), len(mission.messages_in_order)
    if steps:
        said = f", {letters} message{'s' * (letters != 1)}" if letters else ""
        yield f"{steps} step{'s' * (steps != 1)} so far{said}."


def announcement(mission: Mission, run: Run, word: str, asked: Sequence[object]) -> str:
    """The text for screen readers. It leaves out output of commands, which would interrupt at each line."""
    if run.is_ended or mission.paused:
        return f"{word}."
    if asked:
        return "A decision is asked for."
    halts = list(mission.halts.all())
    return f"{halts[-1].agent.name} stopped in error." if halts else ""
