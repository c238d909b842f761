import json
from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import CommandError, CommandParser

from engine import console
from engine.models import Gate
from engine.models.gates import ordered_gates
from runs.approvals.pending import pending_for
from runs.run_command import USAGE
from runs.run_object import gate_object
from runs.site_url import address


class Command(console.ConsoleCommand):
    help = "Say what waits to be decided, what has an end first."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--mine", metavar="USER", help="only what waits for this user")
        parser.add_argument("--json", action="store_true", help="as the API shows it")

    def handle(self, *, mine: str | None, json: bool, **options: Any) -> None:
        gates = list((pending_for(named(mine)) if mine else ordered_gates(Gate.objects.pending())).with_decisions())
        if json:
            self.stdout.write(as_json(gates))
            return
        for gate in gates:
            ends = f", until {gate.expires:%Y-%m-%d %H:%M} UTC" if gate.expires else ""
            who = gate.asked or gate.run.asked_by or "users who may decide"
            self.stdout.write(f"{gate.pk}: {gate.title} ({gate.kind} of {gate.run.shown_title}; asks {who}{ends})")


def as_json(gates: list[Gate]) -> str:
    return json.dumps([gate_object(gate, address()) for gate in gates])


def named(name: str) -> User:
    user = User.objects.filter(username=name).first()
    if user is None:
        raise CommandError(f"There is no user {name}.", returncode=USAGE)
    return user
