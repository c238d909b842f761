from typing import Any

from django.core.management.base import BaseCommand, CommandError

from engine import checkpoints, signing


class Command(BaseCommand):
    help = "Sign what the log is now, keep it as the engine does, and print it: to be kept elsewhere, by cron or mail."

    def handle(self, **options: Any) -> None:
        made = checkpoints.make_and_send()
        if made is None:
            raise CommandError("The log is empty: there is nothing to sign yet.")
        self.stdout.write(made.note, ending="")
        self.stderr.write(f"Verify with --key {signing.verifier_key()}", style_func=str)
