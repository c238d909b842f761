"""Forks of missions: the preview of what a fork leaves behind, and the submission of the new mission.

Why so: runs/DESIGN.md, Forks.
"""

from collections.abc import Iterator, Sequence
from difflib import unified_diff
from typing import Any

from engine.models import record_name
from runs.forking import ForkEffects, ForkRefused, NoForkPoint, Section
from runs.procedure.schemas import NewFork

from . import contents, procedure, publishing, workspace
from .display.files import differences_of
from .models import MemoryVersion, Mission, MissionAgent, MissionMessage
from .models.files import newest_file_versions
from .models.forks import MissionMoment, bring_along
from .repositories import checkout, cloning, commits
from .repositories.cloning import Cloned, RepositoryRefused
from .schemas import NewMissionFork
from .workspace_files import IGNORED_NAMES, MOST_FILES

NAMED = 20
COMMAND = "the command line"
NOT_KEPT = "Folders named {names}, links and empty folders are not kept after each step: they begin as they are made."
BETWEEN = (
    "Commands ran beside this step ({commands}). What they wrote is known from the next step that changed a file, so "
    "the files may be a little older than the step."
)
COMMITS = "Where the crew's branch stood then is not known: files come along, and commits that it made by then do not."
GONE = (
    "The files as they were after this step are not kept any more ({paths}). They are kept on the machine that the "
    "mission worked on. Fork it after an earlier step, or continue it."
)


class MissionForks:
    unit, template = "step", "missions/_undone.html"
    body: type[NewFork] = NewMissionFork
    styles: tuple[str, ...] = ("css/mission.css",)
    along = "The crew comes along with its steps, summaries, short-term memory and messages up to there, and the files."

    def preview(self, row: Mission, number: int) -> ForkEffects:
        moment = _moment(row, number)
        return ForkEffects(
            number,
            sum(one.settled is not None for one in moment.steps),
            f"step {moment.step.number} of {moment.step.agent.name}",
            tuple(_undone(moment)),
            (Section("Accepted memories of the library", tuple(_accepted(moment))),),
            tuple(_notes(moment)),
            {"files": differences_of(moment.files_before, newest_file_versions(row.files.all()))},
        )

    def submit(self, row: Mission, number: int, *, words: str, spend: int | None, **asked: Any) -> Mission:
        moment = _moment(row, number)
        if lacking := workspace.missing_programs():
            raise ForkRefused(f"No command can be held here, so nothing was begun: {lacking}")
        by_name = record_name(asked.get("owner")) or COMMAND

        def carry(mission: Mission) -> None:
            bring_along(moment, mission, words, by_name)
            try:
                contents.copy(row.pk, mission.pk, moment.files.values())
            except OSError as error:
                raise ForkRefused(f"Its files cannot be copied: {error.strerror}. Try it again.") from error

        return procedure.submit(
            title=row.run.title,
            goal=row.goal,
            agents=[_columns(one) for one in moment.crew],
            crew=row.crew_version,
            check=row.check_command,
            limits=row.limits,
            policy=row.policy,
            follows=row,
            spend=spend,
            library=row.library,
            customs=row.customs,
            repository=_repository(moment),
            carry=carry,
            refusals=(ForkRefused,),
            **asked,
        )


def _moment(row: Mission, number: int) -> MissionMoment:
    """The state after step `number`.

    Raises NoForkPoint for a step that does not exist, and ForkRefused if the step or its files are not complete.
    """
    moment = MissionMoment(row, number)
    if not 0 < number <= len(moment.steps):
        raise NoForkPoint(f"There is no step {number}: the mission has {len(moment.steps)}.")
    if moment.step.settled is None:
        raise ForkRefused("This step has not come to its end. Fork the mission after an earlier one.")
    if moment.entry() is None:
        raise ForkRefused("The record does not have this step yet. Try it again when the mission rests.")
    if gone := contents.missing(row.pk, moment.files.values()):
        raise ForkRefused(GONE.format(paths=", ".join(gone[:NAMED])))
    return moment


def _head(moment: MissionMoment) -> str:
    """The crew's commit after the step; empty if it is not known."""
    return commits.head_after(publishing.repository(moment.mission.pk), [one.key for one in moment.done])


def _repository(moment: MissionMoment) -> Cloned | None:
    """The repository of the mission with the crew's commits up to the step; None if it began without one.

    Raises ForkRefused if the repository is not on this machine.
    """
    row = moment.mission
    if (before := row.begun_with) is None:
        return None
    place = publishing.repository(row.pk)
    found = checkout.beginning(place)
    if found is None:
        raise ForkRefused("The repository that it began with is not on this machine, so nothing can go on from there.")
    try:
        return cloning.from_mission(place, before.address, before.base, before.branch, _head(moment) or found.start)
    except RepositoryRefused as unusable:
        raise ForkRefused(str(unusable)) from unusable


def _columns(agent: MissionAgent) -> dict[str, Any]:
    names = ("name", "description", "parent", "depth", "model", "tools", "rights")
    return {name: getattr(agent, name) for name in names}


# ---- the preview ----------------------------------------------------------------------------------------------


def _undone(moment: MissionMoment) -> Iterator[Section]:
    steps = [f"{one.agent.name} {one.number}: {one.reasoning}" for one in moment.undone]
    yield Section("Steps", tuple(steps), "No step came after it.")
    changed = [f"{one.file.word} later: {one.file.path}" for one in _differences(moment)]
    yield Section("Files", tuple(changed), "All files are as they are now.")
    yield Section("Short-term memory", tuple(_memories(moment)), "It is as it is now.")
    names = {one.number: one.name for one in moment.mission.crew_list}
    said = [_message(one, names) for one in moment.later_messages]
    yield Section("Messages", tuple(said), "No message came after it.")
    terminals = [f"{one.number}: {one.command}" for one in moment.later_terminals]
    terminals += [f"{one.number}: {one.command} (it ran then, and does not run in the fork)" for one in moment.lived]
    yield Section("Commands", tuple(terminals), "No command was begun after it.")
    made = [one.name for one in moment.mission.crew_list if one not in moment.crew]
    if made:
        yield Section("Agents", tuple(made))


def _differences(moment: MissionMoment) -> Sequence[Any]:
    return differences_of(moment.files_before, newest_file_versions(moment.mission.files.all()))


def _memories(moment: MissionMoment) -> Iterator[str]:
    """The lines of each agent's short-term memory that were added or removed since."""
    for agent in moment.crew:
        made = [one for one in moment.mission.short_memories.all() if one.agent_id == agent.pk]
        now = max(made, key=lambda one: one.version).text if made else ""
        kept = moment.short_memory(agent)
        then = kept.text if kept else ""
        for line in unified_diff(then.splitlines(), now.splitlines(), lineterm="", n=0):
            if line[:1] in "+-" and line[:3] not in ("+++", "---"):
                yield f"{agent.name}: {'came' if line[0] == '+' else 'went'} since: {line[1:]}"


def _message(one: MissionMessage, names: dict[int, str]) -> str:
    sender = names.get(one.sender, "") if one.sender else one.by_name or "The mission"
    return f"{sender} to {names.get(one.recipient, 'people')}: {one.text}"


def _accepted(moment: MissionMoment) -> Iterator[str]:
    """Memories that the mission proposed after the step and somebody has accepted; a fork does not undo them."""
    found = MemoryVersion.objects.filter(mission=moment.mission, made__gt=moment.at, accepted=True)
    for one in found.select_related("memory").order_by("pk"):
        yield f"{one.memory.name}, version {one.number}"


def _notes(moment: MissionMoment) -> Iterator[str]:
    if moment.lived:
        yield BETWEEN.format(commands=", ".join(str(one.number) for one in moment.lived))
    if moment.mission.begun_with and not _head(moment):
        yield COMMITS
    yield NOT_KEPT.format(names=", ".join(sorted(IGNORED_NAMES)))
    if len(moment.files) >= MOST_FILES:
        yield f"Only the first {MOST_FILES:,} files are kept after each step."
