from argparse import ArgumentParser
from typing import Any

from engine import console
from office import example


class Command(console.ConsoleCommand):
    help = "Load an office to try things in: people, tasks, a calendar, documents and a stock, marked as examples."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--remove", action="store_true", help="take away what came with it")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["remove"]:
            self.stdout.write(f"Removed {example.remove()} examples.")
            return
        loaded = ", ".join(f"{number} {kind}" for kind, number in example.load().items() if number)
        self.stdout.write(f"The example office is there: {loaded}.")
