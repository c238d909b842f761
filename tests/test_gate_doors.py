"""What the rule at the gates refuses is refused by every door, and nothing is changed by the attempt.

A row of `REFUSED` is an attempt that each door of `DOORS` has to refuse: who tries it, under which policy, and what
they name as read. To add one, write how its scene differs and which gates, with which digests, are named.
"""

import asyncio
import io
import json
from collections.abc import Callable
from dataclasses import dataclass

import pytest
from asgiref.sync import async_to_sync
from django.core.management import CommandError, call_command
from django.test import Client, RequestFactory

from engine import gate_decisions
from engine.models import Gate, GateDecision, Run
from engine.policy import parse_policy
from magi_site.models import Token
from missions import comments as mission_talk
from missions.interactive_cli import InteractiveSession
from plans import comments as plan_talk
from plans.rules.approval_policy import TeamPolicy
from plans.rules.enums import StepEffect
from runs.api.errors import ApiError
from runs.approvals.pending import EXTERNAL_GROUP, group_gates
from runs.mcp import tools as mcp_calls
from tests.callers import API
from tests.conftest import ScriptedModels, allow, perform
from tests.databases import copied
from tests.missions.scenes import mission
from tests.plans.scenes import LETTER, calls, plan, steps, team
from tests.plans.source import EVERY_SCOPE, A
from tests.read_gates import decide_as_read

pytestmark = pytest.mark.django_db(transaction=True)
NAMES = ("Ada", "Ben")
OLD = "0" * 64


# ---- what waits ---------------------------------------------------------------------------------------------


@copied
def planned(mira, policy):
    """A plan of Mira's whose two letters wait at their gates."""
    models = ScriptedModels()
    by_effect = {StepEffect.READS: {"who": "open"}, StepEffect.WRITES: {"who": "open"}, StepEffect.REACHES_OUT: policy}
    version = team(TeamPolicy(plan={"who": "person"}, calls=by_effect))
    letters = [(f"Write it to {name}.", *LETTER[1:], []) for name in NAMES]
    models.will("test/planner", steps(*letters))
    sent = [calls("mail.send", to=[f"{name}@example.org"], subject=name, text="It is 5.") for name in NAMES]
    models.will("test/letters", *sent)
    made = plan(mira, version, matter="s-1")
    asyncio.run(perform(made.pk, models))
    decide_as_read(Gate.objects.get(run=made.pk, kind="plan").pk, mira, "approve", "", "all")
    asyncio.run(perform(made.pk, models))
    return made


class GateDoorScene:
    """Two letters of Mira's plan wait, and two commands with a network of her mission."""

    def __init__(self, mira, noor, policy):
        self.mira, self.noor = mira, allow(noor, "engine.decide_gate", "engine.view_run")
        self._secrets = {}
        self.plan = planned(mira, policy)
        self.letters = list(Gate.objects.with_decisions().filter(run=self.plan.pk, kind="tool").order_by("step"))
        self.mission = mission(mira).run
        Run.objects.filter(pk=self.mission.pk).update(status="waiting", worker="")
        self.commands = [self.ask(self.mission, f"1.{number}", "run_command_with_network", policy) for number in (1, 2)]

    @staticmethod
    def ask(run, step, tool, policy, effect="reaches_out", before=None, text="Say it.", whole=""):
        about = {"kind": "tool", "tool": tool, "title": f"Use {tool}", "text": f"{tool}: {text}", "effect": effect}
        return Gate.objects.open(before, run=run, step=step, policy=parse_policy(policy), whole=whole, **about)

    def ask_again(self, gate):
        """Of another text, at the same place."""
        return self.ask(gate.run, gate.step, gate.tool, gate.policy, before=gate, text="Say it otherwise.")

    def secret(self, user):
        if user.pk not in self._secrets:
            self._secrets[user.pk] = Token.objects.make(user, scopes=EVERY_SCOPE).secret
        return self._secrets[user.pk]

    def caller(self, user):
        return Client(headers={"Authorization": f"Bearer {self.secret(user)}"})

    def look_as_program(self, user):
        """Have it sent by the ten endpoints, whose callers name no digest."""
        self.caller(user).get(f"{A}/agent_messages/s-1")

    @staticmethod
    def stands():
        return list(Gate.objects.order_by("pk").values_list("pk", "state")), GateDecision.objects.count()


@pytest.fixture
def scene(mira, noor, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO())
    return lambda policy=None: GateDoorScene(mira, noor, policy or {"who": "person"})


# ---- the doors ----------------------------------------------------------------------------------------------
# Each says what came of it: an empty text where it was decided. `read`: gates, and the digest named of each.


def by_page(scene, user, read):
    client = Client()
    client.force_login(user)
    if len(read) > 1:
        named = [f"{gate.pk} {digest}" for gate, digest in read]
        answer = client.post("/waiting/", {"gate": named, "said": "approve"})
        return answer.content.decode() if answer.status_code != 200 else ""
    [(gate, digest)] = read
    answer = client.post(f"/gates/{gate.pk}/", {"said": "approve", "digest": digest})
    return answer.content.decode() if answer.status_code != 302 else ""


def by_part_of_a_page(scene, user, read):
    """The form of a live page; it has none for many."""
    if len(read) > 1:
        return "There is no form for many."
    client = Client()
    client.force_login(user)
    [(gate, digest)] = read
    answer = client.post(f"/gates/{gate.pk}/here/", {"said": "approve", "digest": digest}, headers=HTMX)
    return answer.content.decode() if answer.status_code != 200 else ""


def by_api(scene, user, read):
    post = scene.caller(user).post
    if len(read) > 1:
        body = {"gates": [{"id": gate.pk, "digest": digest} for gate, digest in read], "decision": "approve"}
        answer = post(f"{API}/gates/decide", json.dumps(body), "application/json")
    else:
        [(gate, digest)] = read
        body = {"decision": "approve"} | ({"digest": digest} if digest else {})
        answer = post(f"{API}/gates/{gate.pk}/decide", json.dumps(body), "application/json")
    return answer.content.decode() if answer.status_code != 200 else ""


def by_command(scene, user, read):
    digests = [f"--digest={digest}" for _, digest in read if digest]
    try:
        call_command("decide", *[str(gate.pk) for gate, _ in read], "--by", user.username, "--approve", *digests)
    except CommandError as refused:
        return str(refused)
    return ""


def by_terminal(scene, user, read):
    """Of `manage.py mission`: a line decides at the gate whose text was shown last. It has no word for many."""
    said = []
    talk = InteractiveSession(user, said.append)
    talk.start(scene.mission.pk)
    if len(read) > 1:
        return "There is no word for many."
    [(gate, digest)] = read
    if digest == gate.digest:
        talk.asks(gate)
    try:
        talk.handle_line(scene.mission.pk, "allow")
    except (gate_decisions.DecisionRefused, gate_decisions.InvalidAnswer) as refused:
        return str(refused)
    return " ".join(said)


def by_ten_endpoints(scene, user, read):
    about = {"plan_id": str(scene.plan.pk), "session_id": "s-1", "approved": True}
    if len(read) == 1:
        step = scene.plan.steps.get(number=int(read[0][0].step.split("-")[1]))
        path, about = "human_feedback", about | {"step_id": str(step.pk)}
        if read[0][1] == read[0][0].digest:
            scene.look_as_program(user)
    else:
        path = "approve_step_or_steps"
        scene.look_as_program(user)
    answer = scene.caller(user).post(f"{A}/{path}", json.dumps(about), "application/json")
    decided = answer.status_code == 200 and "0 steps approved" not in answer.json()["status"]
    return "" if decided else answer.content.decode()


def by_mcp(scene, user, read):
    """Whatever a model might call: there is no such tool."""
    said = []
    for name in ("decide", "decide_gate", "approve", "gates"):
        try:
            async_to_sync(mcp_calls.call_tool)(RequestFactory().post("/mcp"), name, {"id": read[0][0].pk})
        except ApiError as refused:
            said.append(refused.detail)
    return " ".join(said) if len(said) == 4 else ""


def by_chat(scene, user, read):
    """It has nothing but what can be begun."""
    asked = {"model": f"gate/{read[0][0].pk}", "messages": [{"role": "user", "content": "approve"}]}
    answer = scene.caller(user).post("/v1/chat/completions", json.dumps(asked), "application/json")
    return answer.content.decode() if answer.status_code != 200 else ""


HTMX = {"HX-Request": "true"}
OF_MISSIONS = {by_terminal}
NEVER_DECIDE = {by_mcp, by_chat}
DOORS = (by_page, by_part_of_a_page, by_api, by_command, by_terminal, by_ten_endpoints, by_mcp, by_chat)


def here(door, scene):
    """The gates that are asked about by this door."""
    return scene.commands if door in OF_MISSIONS else scene.letters


# ---- what is refused ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Attempt:
    """`read`: of these gates, what is named as read. `who`: the name of the user in the scene; `before`: what happens
    once the scene is there."""

    read: Callable
    who: str = "mira"
    policy: dict | None = None
    before: Callable = lambda scene: None


def one(gates_there):
    return [(gates_there[0], gates_there[0].digest)]


def unread(gates_there):
    return [(gates_there[0], "")]


def asked_again(gates_there):
    """With what was read before it was asked with another text."""
    return [(Gate.objects.get(step=gates_there[0].step, run=gates_there[0].run, state="pending"), OLD)]


def two(gates_there):
    return [(gate, gate.digest) for gate in gates_there]


def two_unread(gates_there):
    return [(gate, "") for gate in gates_there]


def one_among_others(gates_there):
    first = gates_there[0]
    harmless = Gate.objects.get(run=first.run, step="beside")
    return [(harmless, harmless.digest), (first, first.digest)]


def ask_beside(scene):
    """The same tool, where it reaches nothing."""
    for gate in (scene.letters[0], scene.commands[0]):
        scene.ask(gate.run, "beside", gate.tool, {"who": "person"}, effect="writes")


def speak(scene):
    """Noor, who may decide, says something to who writes the letter, and to who wants the command."""
    plan_talk.post_comment(scene.plan.pk, scene.noor, "Make it shorter.", 1)
    mission_talk.post_message(scene.mission.pk, scene.noor, "Take the other one.")


def two_that_are_cut(gates_there):
    return two(Gate.objects.filter(run=gates_there[0].run, whole="0" * 64))


def ask_about_parts(scene):
    """The same tool twice, where it reaches nothing and the text leaves something out."""
    for gate in (scene.letters[0], scene.commands[0]):
        for step in ("beside", "besides"):
            scene.ask(gate.run, step, gate.tool, {"who": "person"}, effect="writes", whole="0" * 64)


def look_and_ask_again(scene):
    scene.look_as_program(scene.mira)
    scene.ask_again(scene.letters[0])
    scene.ask_again(scene.commands[0])


FOUR_EYES = {"who": "person", "four_eyes": True}
REFUSED = {
    "who asked for it decides alone": Attempt(one, policy=FOUR_EYES),
    "whose words came into it": Attempt(one, who="noor", policy=FOUR_EYES, before=speak),
    "nothing was read": Attempt(unread),
    "something else was read": Attempt(asked_again, before=look_and_ask_again),
    "two letters in one request": Attempt(two),
    "two letters in one request, unread": Attempt(two_unread),
    "a letter in a batch": Attempt(one_among_others, before=ask_beside),
    "two texts that leave something out": Attempt(two_that_are_cut, before=ask_about_parts),
    "a stranger": Attempt(one, who="stranger"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_it_is_refused_by_every_door_and_changes_nothing(name, scene, django_user_model):
    attempt = REFUSED[name]
    there = scene(attempt.policy)
    there.stranger = django_user_model.objects.create_user("stranger")
    attempt.before(there)
    wrong = []
    for door in DOORS:
        before = there.stands()
        said = door(there, getattr(there, attempt.who), attempt.read(here(door, there)))
        if not said or there.stands() != before:
            wrong.append(door.__name__)
    assert not wrong


@pytest.mark.parametrize("door", [door for door in DOORS if door not in NEVER_DECIDE])
def test_who_has_read_one_decides_about_it(door, scene):
    there = scene()
    [(gate, digest)] = one(here(door, there))
    assert door(there, there.mira, [(gate, digest)]) == ""
    gate.refresh_from_db()
    assert gate.state == "approved"


def test_letters_and_commands_with_a_network_stand_under_what_leaves_the_house(scene):
    there = scene()
    [group] = group_gates([*there.letters, *there.commands])
    assert (group.name, group.number) == (EXTERNAL_GROUP[0], 4)
