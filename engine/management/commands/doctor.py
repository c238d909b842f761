import asyncio
import sys
from argparse import ArgumentParser
from typing import Any

from engine import console
from engine.doctor import run_checks


class Command(console.ConsoleCommand):
    needs_tables = False
    help = "Is everything there that an engine needs? One line each; exit status 1 if anything is unusable."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--model", action="append", default=[], help="a model to try, as provider/model")

    def handle(self, *, model: list[str], **options: Any) -> None:
        findings = asyncio.run(run_checks(model))
        for finding in findings:
            self.stdout.write(str(finding))
        self.stdout.flush()
        sys.exit(0 if all(finding.well for finding in findings) else 1)
