"""Plans in every state a page can be seen in, on a site that carries them out, rehearsed.

`python -m tests.plans.cast SCENE`, told of the site by its environment, prints the key of the one that it made.
"""

import sys
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import django

django.setup()

from django.contrib.auth.models import User  # noqa: E402
from django.utils import timezone  # noqa: E402

from engine.models import Gate, Letter, Run  # noqa: E402
from engine.policy import parse_policy  # noqa: E402
from engine.runtime import tool_execution  # noqa: E402
from judgements.models import Council  # noqa: E402
from plans import comments, procedure  # noqa: E402
from plans.models import Team  # noqa: E402
from plans.rules.approval_policy import OPEN_READS, STEP_BY_STEP, TeamPolicy  # noqa: E402
from plans.rules.enums import StepEffect  # noqa: E402
from runs import run_actions  # noqa: E402
from tests.read_gates import steer_as_read  # noqa: E402

State = Letter.State
PATIENCE = 60.0
MODEL = "rehearsal/instant"
LETTER = "Send a letter “Welcome” with mail.send to “ada@example.org”."
TASK = f"Look for “Ada Lovelace” among the people.\nAdd a task “Sign the contract” to the tasks.\n{LETTER}"
AGENTS = (
    ("Desk", "Keeps people and tasks in order.", ["people.find", "people.add", "tasks.find", "tasks.add"]),
    ("Letters", "Writes letters and sends them.", ["mail.send"]),
)


AGENT = {"system": "", "model": MODEL, "fallback": ""}
HELD = {"description": "", "planner": MODEL, "policy": TeamPolicy().as_json(), "examples": []}


def team(name: str, policy: TeamPolicy | None = None, model: str = MODEL, **demands: Any) -> Any:
    agents = [
        {"name": who, "description": what, "system": "", "model": model, "fallback": "", "tools": tools}
        for who, what, tools in AGENTS
    ]
    policy = policy or TeamPolicy()
    calls = {**policy.calls, StepEffect.REACHES_OUT: demands} if demands else policy.calls
    held = {"planner": MODEL, "policy": replace(policy, calls=calls).as_json(), "agents": agents, "examples": []}
    if not Team.objects.filter(name=name).exists():
        Team.objects.create_first(name=name, owner=None, description="", **held)
    return Team.objects.with_content().get(name=name).current


def until(come: Callable[[], Any], what: str) -> Any:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if found := come():
            return found
        time.sleep(0.1)
    raise SystemExit(f"It did not come to this: {what}")


def asked(pk: Any, kind: str) -> Gate:
    pending = Gate.objects.with_decisions().filter(run=pk, kind=kind).pending()
    gate: Gate = until(pending.first, f"{pk} asks {kind}")
    until(lambda: Run.objects.filter(pk=pk, status=Run.Status.WAITING).exists(), f"{pk} waits")
    return gate


def over(pk: Any) -> None:
    until(lambda: Run.objects.get(pk=pk).is_ended, f"{pk} is over")


class PlanCast:
    def __init__(self, owner: User) -> None:
        self.owner = owner
        self.team = team("Front office")

    def proposed(self, title: str = "Welcome Ada Lovelace", task: str = TASK, version: Any = None) -> Any:
        plan = procedure.submit(owner=self.owner, task=task, team=version or self.team, title=title)
        asked(plan.pk, "plan")
        return plan.pk

    def approved(self, title: str, task: str = TASK, version: Any = None) -> Any:
        pk = self.proposed(title, task, version)
        steer_as_read(asked(pk, "plan").pk, self.owner, "approve", choice="all")
        return pk

    def questions(self) -> Any:
        plan = procedure.submit(owner=self.owner, task="Tidy up.", team=self.team, title="A short wish")
        asked(plan.pk, "question")
        return plan.pk

    def letter(self) -> Any:
        pk = self.approved("Welcome Ada")
        asked(pk, "tool")
        return pk

    def alike(self) -> Any:
        task = f"{TASK}\nAdd a task “Order a laptop” to the tasks."
        one_by_one = team("Step by step office", STEP_BY_STEP)
        plan = procedure.submit(owner=self.owner, task=task, team=one_by_one, title="Ada, step by step")
        asked(plan.pk, "step")
        return plan.pk

    def differs(self) -> Any:
        words = (("Facts", "Approve"), ("Privacy", "Reject"), ("Tone", "Reject"))
        agents = [
            {"name": name, "model": MODEL, "criteria": f"{word} everything.", "fallback": ""} for name, word in words
        ]
        Council.objects.create_first(name="Outgoing letters", owner=None, agents=agents)
        judged = team("Careful office", who="both", council="Outgoing letters", blind=False)
        pk = self.approved("Welcome Ada, with a council", version=judged)
        gate = asked(pk, "tool")
        until(lambda: Gate.objects.with_decisions().get(pk=gate.pk).is_acknowledged, "the council has judged")
        return pk

    def person(self) -> Any:
        pk = self.proposed("Sign with Ada", TASK.partition("\n")[0] + "\nSign the contract with Ada.")
        comments.change_step(pk, self.owner, 2, {"owner": "Person"})
        steer_as_read(asked(pk, "plan").pk, self.owner, "approve", choice="all")
        asked(pk, "person")
        return pk

    def failure(self) -> Any:
        """A step failed when it had been planned anew as often as that goes without a person."""
        task = "Look for “Ada Lovelace” among the people and fail.\nLook for “Bob” among the people and fail."
        unasked = team("Office that reads", OPEN_READS)
        plan = procedure.submit(owner=self.owner, task=task, team=unasked, title="Something that fails")
        asked(plan.pk, "failure")
        return plan.pk

    def matter(self) -> Any:
        """Of two plans, one of which has come out."""
        said = {"owner": self.owner, "team": team("Office of one matter", OPEN_READS), "matter": "Ada"}
        first = procedure.submit(task="Look for “Ada Lovelace” among the people.", title="Look for Ada", **said)
        over(first.pk)
        again = procedure.submit(task="Tidy up.", title="Tidy up after Ada", **said)
        asked(again.pk, "question")
        return again.matter_id

    def broken(self) -> Any:
        """The endpoint of its agent refuses for good."""
        pk = self.approved("Nobody answers", version=team("Office without a model", model="nobody/none"))
        over(pk)
        return pk

    def uncertain(self) -> Any:
        """As the engine asks about a call at a server of others that was cut: ours are never uncertain."""
        pk = self.approved("Welcome Ada, once")
        gate = asked(pk, "tool")
        cut = "Begun on 1 Dec 2026, 10:00:00 UTC and cut short: nobody knows whether it happened."
        own = [one for one in gate.choices if one["decision"] == "reject"]
        about = {
            "kind": tool_execution.UNCERTAIN,
            "title": f"Did it happen? {gate.title}",
            "text": f"{cut}\n{gate.text}",
        }
        about |= {
            "tool": gate.tool,
            "effect": gate.effect,
            "policy": parse_policy(None),
            "choices": [*tool_execution.UNCERTAIN_CHOICES, *own],
        }
        Gate.objects.open(gate, run=gate.run, step=gate.step, **about)
        return pk

    def done(self) -> Any:
        pk = self.letter()
        steer_as_read(asked(pk, "tool").pk, self.owner, "approve")
        over(pk)
        self._letters(pk)
        return pk

    def _letters(self, pk: Any) -> None:
        """As they would stand with a mail server, beside the one that was kept without."""
        step, now = Letter.objects.filter(run=pk).latest("pk").step, timezone.now()
        for state, error in ((State.DRAFT, ""), (State.SENT, ""), (State.UNCERTAIN, "The mail server went away.")):
            said = {"step": step, "error": error, "sent": now if state == State.SENT else None}
            Letter.objects.write(state, pk, ["ada@example.org"], f"Welcome, {state}", "Dear Ada,\nwelcome.", **said)

    def mission(self) -> Any:
        """A step that has become a mission."""
        crew = [{**AGENT, "name": "Workshop", "description": "Has things made.", "tools": ["mission.carry_out"]}]
        Team.objects.create_first(name="Office with a workshop", owner=None, **{**HELD, "agents": crew})
        version = Team.objects.with_content().get(name="Office with a workshop").current
        task = "Have a crew of agents carry out the goal “Invoices are never a cent short” in a sandbox."
        pk = self.approved("Invoices that add up", task, version)
        over(pk)
        return pk

    def ended(self) -> Any:
        pk = self.proposed("Better not")
        steer_as_read(asked(pk, "plan").pk, self.owner, "reject", choice="end", text="It is not wanted any more.")
        over(pk)
        return pk

    def cancelled(self) -> Any:
        pk = self.proposed("Never mind")
        run_actions.cancel(Run.objects.get(pk=pk), self.owner)
        return pk


if __name__ == "__main__":
    print(getattr(PlanCast(User.objects.order_by("pk")[0]), sys.argv[1])())
