import json
import sys
from argparse import ArgumentParser
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

from django.core.exceptions import ValidationError
from django.core.management.base import CommandError

from engine.decoding import decoded
from engine.models.budgets import BudgetExceeded
from judgements.forms import JudgementSubmission, council_named
from judgements.models import Council, CouncilChanged, Judgement
from judgements.procedure import submit
from judgements.rules import Verdict
from runs.run_command import NOTHING, OTHERWISE, ProgressLine, RunCommand, usage_error

DEFAULT_COUNCIL = "Magi"
CLIENT = Path(__file__).resolve().parents[3] / "client"


class Command(RunCommand[Judgement]):
    help = "Judge a content. Exit status: 0 approved, 1 rejected, 2 no verdict, 64 bad usage or input."
    well = (Verdict.APPROVED,)
    nothing = "No verdict"

    def handle(self, **options: Any) -> None:
        if options["remote"]:
            self._elsewhere(options)
        super().handle(**options)

    def _elsewhere(self, options: dict[str, Any]) -> NoReturn:
        """Ask another installation through the public client; nothing is saved here."""
        if options["agents"]:
            raise usage_error("A gate elsewhere is asked for a council: leave --agents out.")
        sys.path.insert(0, str(CLIENT))
        from magi.__main__ import main  # type: ignore[import-not-found]

        words = ["judge", options["content"], "--council", options["council"] or DEFAULT_COUNCIL]
        words += ["--title", options["title"], "--url", options["remote"], *(["--json"] if options["json"] else [])]
        words += ["--encoding", options["encoding"]] if options["encoding"] else []
        status = main(words + (["--wait", "0"] if options["no_wait"] else []))
        self.otherwise = status == OTHERWISE
        sys.exit(status)

    def add_own_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("content", nargs="?", default="-", help="what is to be decided; - reads it")
        parser.add_argument("--title", default="")
        parser.add_argument("--remote", metavar="URL", help="ask another MAGI, with the token in MAGI_TOKEN")
        who = parser.add_mutually_exclusive_group()
        who.add_argument("--council", help=f"a council's name (default: {DEFAULT_COUNCIL})")
        who.add_argument("--agents", metavar="FILE.json", help='[{"name", "model", "criteria", "fallback"?} x 3]')

    def submit(self, options: dict[str, Any]) -> Judgement:
        council = None if options["agents"] else _council(options["council"] or DEFAULT_COUNCIL)
        agents = council.agents() if council else _agents(options["agents"])
        content = self.text_of(options["content"], "content")
        submission = JudgementSubmission.of({"title": options["title"], "content": content}, agents)
        if not submission.is_valid():
            problems = [(one.path, one.message) for one in submission.problems]
            by = "agents" if options["agents"] else "council"
            raise usage_error(self.in_options(problems, {"agents": by}))
        try:
            return submit(owner=None, council=council.current if council else None, **submission.values())
        except (BudgetExceeded, CouncilChanged) as error:
            raise CommandError(str(error), returncode=NOTHING) from error

    def report_start(self, row: Judgement) -> Iterator[str]:
        yield f"Judging “{row.run.title}” ({row.pk})."
        if row.rehearsal:
            yield row.rehearsal_sentence

    def new_lines(self, row: Judgement) -> ProgressLine:
        made = [(decision, agent) for agent in row.agents.all() for decision in agent.decisions.all()]
        for decision, agent in sorted(made, key=lambda one: one[0].pk):
            said = f"{decision.decision} ({decision.call.seconds_in_all:.1f} s). {decision.reason}"
            yield ("decision", decision.pk), f"  Round {decision.round}, {agent.name} (agent {agent.seat}): {said}"

    def word(self, row: Judgement) -> str:
        return row.status


def _council(name: str) -> Council:
    try:
        return council_named(name.encode(errors="replace").decode())  # an argument may contain bytes that are not text
    except ValidationError as error:
        raise usage_error(f"--council: {error.message}") from error


def _agents(file: str) -> list[dict[str, str]]:
    try:
        agents = json.loads(decoded(Path(file).read_bytes()).text)
    except (OSError, ValueError, RecursionError) as error:
        raise usage_error(f"--agents: {file} cannot be read: {error}") from error
    whole = isinstance(agents, list) and all(_is_agent(agent) for agent in agents)
    if not whole or len(agents) != 3:
        raise usage_error(f"--agents: {file} must hold exactly three agents, each with name, model and criteria.")
    return agents


def _is_agent(agent: object) -> bool:
    keys = {"name", "model", "criteria"}
    return (
        isinstance(agent, dict)
        and keys <= agent.keys() <= keys | {"fallback"}
        and all(isinstance(value, str) for value in agent.values())
    )
