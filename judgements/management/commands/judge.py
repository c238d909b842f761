import asyncio
import json
import logging
import sys
from argparse import ArgumentParser
from functools import partial
from pathlib import Path
from typing import Any, NoReturn
from uuid import UUID

from channels.db import database_sync_to_async
from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.management import call_command
from django.core.management.base import CommandError, CommandParser
from django.db import Error as DBError

from engine import terminal, trouble
from engine.evidence import sealing
from engine.hidden import in_one_line
from engine.models import ModelCall
from engine.models.budgets import BudgetUsedUp
from engine.worker import Engine
from judgements.api import judgement_object
from judgements.forms import Submission, council_named
from judgements.models import Council, CouncilChanged, Judgement, RoundDecision
from judgements.procedure import submit

USAGE = 64  # EX_USAGE of sysexits.h: 1 and 2 are verdicts here
EXIT_STATUS = {"approved": 0, "rejected": 1}
NO_VERDICT = 2
LOOK = 0.2
DEFAULT_COUNCIL = "Magi"


log = logging.getLogger("judgements.judge")


class Command(terminal.Command):
    rejected = False
    help = "Judge a content. Exit status: 0 approved, 1 rejected, 2 no verdict, 64 bad usage or input."

    def create_parser(self, *args: Any, **kwargs: Any) -> CommandParser:
        parser = super().create_parser(*args, **kwargs)
        setattr(parser, "error", partial(_usage_error, parser))  # argparse would exit with 2  # noqa: B010
        return parser

    def run_from_argv(self, argv: list[str]) -> None:
        """Status 1 means rejected here, so nothing but a rejection may end with it."""
        try:
            super().run_from_argv(argv)
        except SystemExit as end:
            sys.exit(NO_VERDICT if end.code == 1 and not self.rejected else end.code)
        except DBError as error:
            if not (found := trouble.of(error)):
                log.exception("No verdict: something broke.")
            else:
                self._say(f"No verdict: {found.reason}. {found.advice}")
            sys.exit(NO_VERDICT)
        except Exception:
            # The boundary to the shell: a fault of ours is no verdict.
            log.exception("No verdict: something broke.")
            sys.exit(NO_VERDICT)

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("content", nargs="?", default="-", help="what is to be decided; - reads it")
        parser.add_argument("--title", default="")
        who = parser.add_mutually_exclusive_group()
        who.add_argument("--council", help=f"a council's name (default: {DEFAULT_COUNCIL})")
        who.add_argument("--agents", metavar="FILE.json", help='[{"name", "model", "criteria", "fallback"?} x 3]')
        parser.add_argument("--json", action="store_true", help="print the judgement as the API shows it")
        parser.add_argument("--no-wait", action="store_true", help="only submit, and print the id")

    def handle(self, **options: Any) -> None:
        call_command("migrate", verbosity=0)
        sealing.adopt()
        judgement = self._submit(options)
        if options["no_wait"]:
            self.stdout.write(str(judgement.pk))
            return
        try:
            asyncio.run(self._follow(judgement.pk))
        except KeyboardInterrupt:
            self._say(f"Left. Judgement {judgement.pk} goes on where an engine runs.")
            sys.exit(130)
        judgement = Judgement.objects.whole().get(pk=judgement.pk)
        # in ASCII: whatever encoding the terminal has, the verdict comes out
        self.stdout.write(json.dumps(judgement_object(judgement, address())) if options["json"] else judgement.status)
        self.stdout.flush()
        self.rejected = judgement.status == "rejected"
        sys.exit(EXIT_STATUS.get(judgement.status, NO_VERDICT))

    # ---- what is asked ------------------------------------------------------------------------------------

    def _submit(self, options: dict[str, Any]) -> Judgement:
        council = None if options["agents"] else _council(options["council"] or DEFAULT_COUNCIL)
        agents = council.agents() if council else _agents(options["agents"])
        content = sys.stdin.read() if options["content"] == "-" else options["content"]
        submission = Submission.of(options["title"], content, agents)
        if not submission.is_valid():
            raise _bad_input(" ".join(f"{p.path}: {p.message}" for p in submission.problems))
        try:
            return submit(owner=None, council=council.current if council else None, **submission.values())
        except (BudgetUsedUp, CouncilChanged) as error:
            raise CommandError(str(error), returncode=NO_VERDICT) from error

    # ---- what happens -------------------------------------------------------------------------------------

    async def _follow(self, pk: UUID) -> None:
        """Perform this one judgement here, unless another engine takes it first, and tell what happens."""
        engine = Engine(only=pk)
        performing = asyncio.create_task(engine.run())
        told: set[tuple[str, int]] = set()
        try:
            while not await database_sync_to_async(self._tell_news)(pk, told):
                await asyncio.wait([performing], timeout=LOOK)
                if performing.done():
                    performing.result()
                    raise CommandError("The engine ended before the judgement did.", returncode=NO_VERDICT)
        finally:
            await engine.stop(grace=0)
            await performing

    def _tell_news(self, pk: UUID, told: set[tuple[str, int]]) -> bool:
        """Say on stderr what is new. True when the judgement is over."""
        judgement = Judgement.objects.select_related("run").get(pk=pk)
        if not told:
            told.add(("start", 0))
            self._say(f"Judging “{judgement.run.title}” ({pk}).")
            if judgement.rehearsal:
                self._say(judgement.rehearsal_sentence)
        failed = judgement.run.calls.filter(status=ModelCall.Status.FAILED).order_by("pk")
        for call in failed:
            if ("call", call.pk) not in told:
                told.add(("call", call.pk))
                self._say(f"  {call.step}, attempt {call.attempt} of 4: {call.error}")
        decisions = RoundDecision.objects.filter(agent__judgement=judgement)
        for decision in decisions.select_related("agent", "call").order_by("pk"):
            if ("decision", decision.pk) not in told:
                told.add(("decision", decision.pk))
                self._say(
                    f"  Round {decision.round}, {decision.agent.name}: {decision.decision} "
                    f"({decision.call.seconds:.1f} s). {decision.reason}"
                )
        if judgement.run.over and judgement.run.error:
            self._say(judgement.run.error["message"])
        return judgement.run.over

    def _say(self, sentence: str) -> None:
        self.stderr.write(in_one_line(sentence))


def address() -> str:
    """Where this site's pages are, as far as its settings know."""
    host = settings.ALLOWED_HOSTS[0]
    return "http://127.0.0.1:8000" if host in settings.LOCAL_HOSTS else f"https://{host}"


def _council(name: str) -> Council:
    try:
        return council_named(name.encode(errors="replace").decode())  # an argument may hold bytes that are no text
    except ValidationError as error:
        raise _bad_input(str(error.message)) from error


def _agents(file: str) -> list[dict[str, str]]:
    try:
        agents = json.loads(Path(file).read_text())
    except (OSError, ValueError, RecursionError) as error:
        raise _bad_input(f"{file} cannot be read: {error}") from error
    whole = isinstance(agents, list) and all(_is_agent(agent) for agent in agents)
    if not whole or len(agents) != 3:
        raise _bad_input(f"{file} must hold exactly three agents, each with name, model and criteria.")
    return agents


def _is_agent(agent: object) -> bool:
    keys = {"name", "model", "criteria"}
    return (
        isinstance(agent, dict)
        and keys <= agent.keys() <= keys | {"fallback"}
        and all(isinstance(value, str) for value in agent.values())
    )


def _bad_input(sentence: str) -> CommandError:
    return CommandError(sentence, returncode=USAGE)


def _usage_error(parser: CommandParser, message: str) -> NoReturn:
    parser.print_usage(sys.stderr)
    parser.exit(USAGE, f"{parser.prog}: {in_one_line(message)}\n")
