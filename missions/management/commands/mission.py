import asyncio
import sys
from argparse import ArgumentParser
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

from django.core.management.base import CommandError

from engine import tables
from engine.models import Gate, Run
from engine.models.budgets import BudgetExceeded
from missions import reaper
from missions.display import changed_files
from missions.display.outcome import figures
from missions.egress_policy import APPROVER_CHOICES
from missions.forms import submit_values
from missions.interactive_cli import InteractiveSession
from missions.models import Mission
from missions.procedure import submit
from missions.pull_requests import patch_for
from missions.workspace_files import FileProblem, Workspace, text_of
from missions.workspace_sources import RepositoryRefused, WorkspaceSource, of_folder, source_from_archive
from runs.management.commands.gates import named
from runs.run_command import NOTHING, ProgressLine, RunCommand, usage_error
from runs.site_url import address

OPTIONS_BY_FIELD = {"files": "workspace", "mission": "follows", "agents": "crew", "limits": "steps"}


class Command(RunCommand[Mission]):
    help = (
        "Have a crew of agents pursue a goal in a sandbox. Exit status: 0 done, 1 unproven, 2 nothing came of it, 3 it "
        "waits for somebody, 64 bad usage or input."
    )
    well = ("done",)
    nothing = "Nothing came of it"

    def add_own_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("goal", nargs="?", default="-", help="what is to be reached; - reads it")
        parser.add_argument(
            "--workspace",
            metavar="PLACE",
            help="a folder (of a repository with what is not committed), an archive or a bundle of git",
        )
        parser.add_argument("--git", metavar="PATH", default="", help="a repository or bundle that is allowed")
        parser.add_argument("--crew", default="", help="the name of a crew (default: the coordinator alone)")
        parser.add_argument("--check", metavar="COMMAND", default="", help="that has to end with 0")
        parser.add_argument("--patch", metavar="FILE", help="where the difference is written")
        parser.add_argument("--continue", metavar="ID", dest="follows", default="", help="a mission that is over")
        parser.add_argument("--thoughts", action="store_true", help="print what agents say of each step")
        parser.add_argument("--calls", action="store_true", help="print which tool each step used, and what it came to")
        parser.add_argument("--model", default="", help="of the whole crew (default: the installation's)")
        parser.add_argument("--steps", metavar="N", help="at most")
        parser.add_argument("--title", default="")
        parser.add_argument("--by", metavar="USER", default="", help="whose it is, and who decides at its gates here")
        for name, who in APPROVER_CHOICES.items():
            parser.add_argument(f"--{name}", choices=list(who), default="", help="who decides about that")
        parser.add_argument("--spend", metavar="MONEY", help="dollars at most, as in 3.00")

    def handle(self, **options: Any) -> None:
        """Run the mission. On a terminal, lines are messages to the crew or decisions at gates.

        After the end the next line is the goal of a mission that continues it. The exit status is that of the last one.
        """
        tables.migrate()
        self._by = named(options["by"]) if options["by"] else None
        talk = InteractiveSession(self._by, self._say) if sys.stdin.isatty() and options["goal"] != "-" else None
        self._talk = talk
        while True:
            try:
                super().handle(**options)
                return
            except SystemExit:
                goal = talk.next_goal() if talk and not options["no_wait"] else ""
                if not goal:
                    raise
                options |= {
                    "goal": goal,
                    "follows": talk.last if talk else "",
                    "workspace": None,
                    "git": "",
                    "title": "",
                }

    async def _follow(self, run: Run) -> None:
        """Look for ended commands while following, because no other engine may be running."""
        looking = asyncio.create_task(reaper.sweep_periodically())
        try:
            await super()._follow(run)
        finally:
            looking.cancel()

    def wait_for_person(self, pk: UUID, status: str) -> bool:
        """Whether to stop following. A mission that waits for a command or a time continues by itself; at a gate the
        user may be about to type."""
        if not super().wait_for_person(pk, status) or status != Run.Status.WAITING:
            return status not in (Run.Status.QUEUED, Run.Status.RUNNING, Run.Status.WAITING)
        waits = bool(Mission.objects.active().get(pk=pk).paused) or Gate.objects.pending().filter(run=pk).exists()
        return waits and not (self._talk and self._talk.listens)

    def submit(self, options: dict[str, Any]) -> Mission:
        self._options = options
        goal = self.text_of(options["goal"], "goal")
        own = {
            name: options[name]
            for name in ("title", "crew", "model", "check", "steps", "spend", "git", *APPROVER_CHOICES)
        }
        origin = self._origin(Path(options["workspace"])) if options["workspace"] else WorkspaceSource(())
        if origin.repository and origin.repository.uncommitted_note:
            self._say(f"  {origin.repository.uncommitted_note}")
        come: dict[str, Any] = {"note": origin.note, "repository": origin.repository}
        values, problems = submit_values({"goal": goal, **own}, origin.files, follows=options["follows"], **come)
        if problems:
            raise usage_error(self.in_options(problems, OPTIONS_BY_FIELD))
        try:
            made = submit(owner=self._by, **values)
        except BudgetExceeded as error:
            raise CommandError(str(error), returncode=NOTHING) from error
        if self._talk:
            self._talk.start(made.pk)
        return made

    def _origin(self, place: Path) -> WorkspaceSource:
        try:
            if not place.is_file():
                return of_folder(place) or WorkspaceSource(list(self._read(place)))
            return source_from_archive(place.read_bytes(), place.name)
        except (OSError, RepositoryRefused) as error:
            raise usage_error(f"--workspace: {place}: {error}") from error

    def _read(self, folder: Path) -> Iterator[tuple[str, str]]:
        """The text files of a folder. Prints the names of files that are left out."""
        try:
            found, _ = Workspace(folder).listed(".", 64, 100_000)
        except (OSError, FileProblem) as error:
            raise usage_error(f"--workspace: {folder}: {error}") from error
        for one in found:
            data = Workspace(folder).read(one.path) if one.kind == "file" and one.size <= 400_000 else b"\0"
            if one.kind == "file" and data and not text_of(data):
                self._say(f"  Left out: {one.path} is no text in UTF-8, or too long.")
            elif one.kind == "file" and ".git" not in Path(one.path).parts:
                yield one.path, text_of(data)

    def report_start(self, row: Mission) -> Iterator[str]:
        yield f"Working on “{row.run.title}” ({row.pk})."
        yield f"Crew: {', '.join(one.name for one in row.crew_list)}."
        if row.rehearsal:
            yield "Rehearsal: no model was asked. Steps follow a stated script; commands really run."

    def new_lines(self, row: Mission) -> ProgressLine:
        for one in row.steps.all():
            if self._options["thoughts"]:
                yield f"thought {one.pk}", f"  {one.agent.name} {one.number}: {one.reasoning}"
            if self._options["calls"] and one.tool and one.settled:
                yield f"call {one.pk}", f"    {one.tool} {one.args[:200]} -> {one.result[:200]}"
        for said in row.messages_in_order:
            if said.recipient == 0 and said.sender:
                yield f"message {said.number}", f"{row.agent(said.sender).name}: {said.text}"
        yield from self._asked(list(Gate.objects.pending().filter(run=row.pk)))

    def _asked(self, gates: list[Gate]) -> ProgressLine:
        """All pending gates; one of them with its text, to which the next typed line is an answer."""
        for gate in gates:
            yield f"gate {gate.pk}", f"  To decide: {gate.title} {address()}/gates/{gate.pk}/"
        talk = self._talk
        first = next(filter(talk.may_decide, gates), None) if talk else None
        if talk and first:
            yield from ((f"asked {first.pk} {number}", line) for number, line in enumerate(talk.asks(first)))

    def word(self, row: Any) -> str:
        """The result and the changed files; also writes the patch."""
        if path := self._options["patch"]:
            Path(path).write_bytes(patch_for(row))
        if not row.run.outcome:
            return super().word(row)
        changed = [f"{one.word}: {one.path}" for one in changed_files(row)]
        said = [f"{super().word(row)}: {row.result}", *([row.unproven] if row.unproven else [])]
        return "\n".join([*said, f"What tools did: {figures(row)}", *changed])
