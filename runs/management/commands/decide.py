import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError, CommandParser

from engine import console
from engine.gate_decisions import DecisionRefused, InvalidAnswer
from engine.models import Gate
from engine.models.gates import DecisionValue
from runs import run_actions
from runs.run_command import USAGE

from .gates import named


class Command(console.ConsoleCommand):
    help = "Decide at a gate. Nothing is written where it is refused; the status is 1 then."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("gate", type=int, metavar="GATE")
        parser.add_argument("--by", required=True, metavar="USER", help="who decides")
        _add_decisions(parser)
        parser.add_argument("--then", default="", metavar="WORD", help="one of the gate's choices")
        parser.add_argument(
            "--digest", default="", help="SHA-256 of the text that was read; needed where something is sent out"
        )

    def handle(self, *, gate: int, by: str, then: str, digest: str, **options: Any) -> None:
        decision, said = _said(options)
        try:
            decided = run_actions.decide(gate, named(by), decision, choice=then, digest=digest, **said)
        except Gate.DoesNotExist as error:
            raise CommandError(f"There is no gate {gate}.", returncode=USAGE) from error
        except InvalidAnswer as error:
            sentence = self.in_options(error.problems, {"choice": "then", "decision": decision, "text": decision})
            raise CommandError(sentence, returncode=USAGE) from error
        except DecisionRefused as error:
            raise CommandError(str(error)) from error
        self.stdout.write(decided.state)


def _add_decisions(parser: ArgumentParser) -> None:
    decisions = parser.add_mutually_exclusive_group(required=True)
    decisions.add_argument("--approve", action="store_true")
    decisions.add_argument("--reject", metavar="REASON")
    decisions.add_argument("--answer", metavar="TEXT", help="in words, or as JSON where the gate has a form")


def _said(options: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    if options["approve"]:
        return DecisionValue.APPROVE, {}
    if options["reject"] is not None:
        return DecisionValue.REJECT, {"text": options["reject"]}
    try:
        form = json.loads(options["answer"])
    except ValueError:
        form = None
    return DecisionValue.ANSWER, {"answer": form} if isinstance(form, dict | list) else {"text": options["answer"]}
