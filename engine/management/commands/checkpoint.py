from typing import Any

from django.core.management.base import CommandError

from engine import console
from engine.ledger import checkpoints, signing


class Command(console.ConsoleCommand):
    help = "Sign what the log is now, keep it as the engine does, and print it: to be kept elsewhere, by cron or mail."

    def handle(self, **options: Any) -> None:
        try:
            made = checkpoints.make_and_send()
        except checkpoints.LogInconsistent as error:
            raise CommandError(str(error)) from error
        if made is None:
            raise CommandError("The log is empty: there is nothing to sign yet.")
        self.stdout.write(made.note, ending="")
        self.stderr.write(f"Verify with --key {signing.verifier_key()}", style_func=str)
