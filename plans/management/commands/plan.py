from argparse import ArgumentParser
from collections.abc import Iterator
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import CommandError

from engine.models import Gate, Run
from engine.models.budgets import BudgetExceeded
from plans.display import speaker_of
from plans.forms import find_team, plan_to_start_from, submit_values, too_long_for
from plans.models import Plan, TeamChanged
from plans.models.queries import figures_of, note_of
from plans.procedure import submit
from plans.rules.enums import PlanOutcome
from runs.forms import parse_number
from runs.run_command import NOTHING, ProgressLine, RunCommand, usage_error
from runs.site_url import address


class Command(RunCommand[Plan]):
    help = (
        "Have a task planned, and carried out as far as it is approved. Exit status: 0 done, 1 rejected, or claimed: a "
        "step that writes or sends is said to be done, and no tool did it; 2 nothing came of it, 3 it waits for "
        "somebody, 64 bad usage or input."
    )
    well = (PlanOutcome.DONE,)

    def add_own_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("task", nargs="?", default="-", help="what is to be done; - reads it")
        parser.add_argument("--team", help="name or id of who plans it and carries it out (default: the first)")
        parser.add_argument("--matter", help="a name: plans of one matter know how the earlier ones came out")
        parser.add_argument("--from", dest="begin", metavar="ID", help="of a done plan of the command line")
        parser.add_argument("--title", default="")
        parser.add_argument("--spend", metavar="MONEY", help="dollars at most, as in 3.00")

    def submit(self, options: dict[str, Any]) -> Plan:
        task = self.text_of(options["task"], "task")
        own = {name: options[name] for name in ("title", "matter", "spend")}
        values, problems = submit_values({"task": task, **own})
        if problems:
            raise usage_error(self.in_options(problems, {}))
        team = self._team(options["team"])
        if problems := too_long_for(values["task"], team):
            raise usage_error(self.in_options(problems, {}))
        try:
            earlier = self._earlier(options["begin"])
            return submit(owner=None, team=team, earlier=earlier, **values)
        except (BudgetExceeded, TeamChanged) as error:
            raise CommandError(str(error), returncode=NOTHING) from error

    def _earlier(self, which: str | None) -> Plan | None:
        try:
            return plan_to_start_from(which, None)
        except ValidationError as error:
            raise usage_error(f"--from: {error.message}") from error

    def _team(self, which: str | None) -> Any:
        try:
            return find_team(which and (parse_number(which) or which))
        except ValidationError as error:
            raise usage_error(f"--team: {error.message}") from error

    def report_start(self, row: Plan) -> Iterator[str]:
        yield f"Planning “{row.run.title}” ({row.pk}) with {row.team_version.name}."
        if row.rehearsal:
            yield "Rehearsal: no model was asked. Answers follow a stated rule."

    def new_lines(self, row: Plan) -> ProgressLine:
        for step in row.steps_now:
            yield (step.pk, ""), f"  {step.number}. {step.owner}: {step.action}"
        for step in row.steps_now:
            if note := note_of(step):
                yield (step.pk, "claimed"), f"  {step.number}. {note}"
        for message in sorted(row.messages.all(), key=lambda one: one.number):
            yield message.number, f"  {message.by_name or speaker_of(message)}: {message.content}"
        for gate in Gate.objects.pending().filter(run=row.pk):
            yield f"gate {gate.pk}", f"  To decide: {gate.title} {address()}/gates/{gate.pk}/"

    def word(self, row: Plan) -> str:
        """Return the outcome, and with a summary what tools did, to check it."""
        lines = [row.summary, f"What tools did: {figures_of(row)}"] if row.summary else []
        return "\n".join([super().word(row), *lines])

    def status_of(self, run: Run) -> int:
        return NOTHING if run.outcome == PlanOutcome.FAILED else super().status_of(run)
