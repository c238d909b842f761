"""A rough time for plans: whoever carries them out is killed at random and at each fault point.

    python -m tests.plan_kills --kills 200 --database postgres

Two workers carry out rehearsed plans that write in the database, act in the world, send a letter that a person and a
council approve, fail and are planned anew, until so many have been killed; then what is left must end by itself. A
person approves, and where a use was cut says truly whether it happened. Exit status 0 if each plan is the one that was
carried out undisturbed, every effect is there exactly once, each use that was cut was asked about at exactly one gate,
and every record is intact. With `--mcp` the world is an MCP server in a process of its own, which counts its calls.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.acceptance.site import free_port
from tests.killed import LEASE, Killed, claims_of
from tests.mcp_folder import Folder
from tests.stage import DATABASES, Stage, stage

SETTINGS = {"DJANGO_SETTINGS_MODULE": "tests.acting.beside_plans", "ACTING_PAUSE": "0.1"}
WORD = {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]}

Story = tuple[Any, ...]


class World:
    """What is acted in: a file beside the database, with a tool of ours."""

    tool = "world.act"
    env: dict[str, str] = {}

    def prepare(self, place: Stage) -> None:
        self.file = place.folder / "world"

    def acts(self) -> list[str]:
        return self.file.read_text().split() if self.file.exists() else []


class WorldOfOthers(World):
    """An MCP server that writes down each call before it answers. A worker that is killed leaves it alone."""

    tool = "mcp.counting.letter"

    def __init__(self, folder: Path, port: int) -> None:
        self.folder = Folder(folder)
        self.folder.say(schema=WORD, descriptions={"letter": "Acts in the world.", "news": ""}, pause=1)
        self.env = {"MAGI_MCP_SERVERS": json.dumps({"counting": {"url": f"http://127.0.0.1:{port}/mcp"}})}

    def prepare(self, place: Stage) -> None:
        from engine import mcp, remote
        from engine.models import McpTool

        remote.look_at(mcp.servers()["counting"])
        row = McpTool.objects.get()
        row.class_as("writes", False, False, None, row.definition)

    def acts(self) -> list[str]:
        return [call["arguments"]["word"] for call in self.folder.calls]


@contextmanager
def world_of_others() -> Iterator[WorldOfOthers]:
    with tempfile.TemporaryDirectory() as name:
        port = free_port()
        world = WorldOfOthers(Path(name), port)
        process = subprocess.Popen([sys.executable, "-m", "tests.mcp_server", name, str(port)])
        try:
            yield world
        finally:
            process.kill()
            process.wait()


def main(options: argparse.Namespace) -> bool:
    if not options.mcp:
        return play(options, World())
    with world_of_others() as world:
        return play(options, world)


def play(options: argparse.Namespace, world: World) -> bool:
    with stage(options.database, MAGI_ENGINE_LEASE=f"{LEASE:g}", **SETTINGS, **world.env) as place:
        world.prepare(place)
        company = Company(place, world, options.seed)
        undisturbed = company.performed()
        print(f"undisturbed: {len(undisturbed[1])} steps, {len(undisturbed[2])} uses of tools", flush=True)
        company.at_random(options.kills, options.pace)
        if options.points:
            company.at_each_point()
        return judge(world, company.made, undisturbed)


class Company(Killed):
    called = "plans"
    seldom = ("claim", "outcome", "tool-open")
    not_passed = ("expiry", "rest", "child")  # nothing of these expires, plans do not rest, a gate makes its council

    def __init__(self, place: Stage, world: World, seed: int) -> None:
        super().__init__(place, seed)
        self.world, self.team = world, team(world.tool)

    def submit(self) -> Any:
        from plans import procedure

        word = f"w{len(self.made)}"
        task = (
            f"Look for “{word}” among the people.\nAdd a task “{word}” to the tasks.\nAct in the world with “{word}”.\n"
            f"Send a letter “{word}” with mail.send to ada@example.org.\nAct in the world with “{word}!” and fail."
        )
        self.made.append(procedure.submit(owner=self.person, task=task, team=self.team, title=word).pk)
        return self.made[-1]

    def decide(self) -> None:
        """At each gate that waits; where a council was asked too, after it has spoken."""
        from engine import gates
        from engine.models import Gate

        for gate in Gate.objects.whole().pending().filter(run__in=self.made):
            if gate.policy.get("council") and not gate.heard:
                continue
            try:
                gates.decide(gate.pk, self.person, *self.answer(gate), digest=gate.digest)
            except gates.Closed:
                continue

    def answer(self, gate: Any) -> tuple[str, str, str]:
        if gate.kind == "plan":
            return "approve", "", "all"
        if gate.kind != "uncertain":
            return "approve", "", ""
        word = gate.run.title + ("!" if "!" in gate.text else "")
        return "answer", "", "happened" if word in self.world.acts() else "do"

    def story_of(self, pk: Any) -> Story:
        return story_of(pk)


def team(act: str) -> Any:
    from judgements.models import Council
    from plans.models import Team
    from plans.rules.demands import Policy
    from plans.rules.words import Effect

    model = "rehearsal/instant"
    seats = [
        {"name": name, "model": model, "criteria": "Approve everything.", "fallback": ""}
        for name in ("Ada", "Bo", "Cy")
    ]
    Council.objects.found(name="Outgoing letters", owner=None, agents=seats)
    asked = {"who": "both", "council": "Outgoing letters", "blind": False}
    policy = Policy(calls={**Policy().calls, Effect.WRITES: {"who": "open"}, Effect.REACHES_OUT: asked})
    seats_of_work = (("Desk", "Keeps order.", ["people.find", "tasks.add", act]), ("Letters", "Writes.", ["mail.send"]))
    agents = [
        {"name": name, "description": what, "system": "", "model": model, "fallback": "", "tools": tools}
        for name, what, tools in seats_of_work
    ]
    held = {"planner": model, "policy": policy.as_json(), "agents": agents, "examples": []}
    Team.objects.found(name="Company", owner=None, description="", **held)
    return Team.objects.whole().get(name="Company").current


def story_of(pk: Any) -> Story:
    """All that must be the same whoever dies. What a person said in place of a result is another text."""
    from engine.models import ToolCall
    from plans.models import Plan

    plan = Plan.objects.planned().get(pk=pk)
    asked = ToolCall.objects.filter(run=pk, gate__kind="uncertain").values_list("step", flat=True)
    word = plan.run.title

    def plain(text: str | None) -> str:
        return re.sub(r"\d+", "#", (text or "").replace(word, "WORD"))

    steps = [
        (step.number, step.first_in, step.last_in, plain(step.action), step.agent and step.agent.name, step.status)
        for step in plan.steps.all()
    ]
    done = ToolCall.objects.filter(run=pk, status=ToolCall.Status.DONE).order_by("step", "number")
    uses = [(one.step, one.tool, plain(one.arguments)) for one in done]
    outputs = [plain(one.output) for one in done if one.step not in set(asked) and one.tool != "people.find"]
    revisions = list(plan.revisions.order_by("number").values_list("number", "cause"))
    return revisions, steps, uses, outputs, (plan.run.status, plan.run.outcome)


def judge(world: World, plans: list[Any], undisturbed: Story) -> bool:
    """Print what is wrong, and how much was done."""
    from engine.evidence.audit import verify_all
    from engine.models import Gate, Letter, ModelCall, Run, ToolCall
    from office.models import Task
    from tests.plans.offline import entries_of_all, problems

    wrong: Counter[str] = Counter()
    for pk in plans:
        for part, here, there in zip(
            ("revisions", "steps", "uses", "outputs", "end"), story_of(pk), undisturbed, strict=True
        ):
            if here != there and not (part == "outputs" and len(here) < len(there)):
                wrong[part] += 1
                print(f"{pk}: other {part}:\n  {here}\n  {there}", file=sys.stderr)
    words = Run.objects.filter(pk__in=plans).values_list("title", flat=True)
    acts = Counter(world.acts())
    effects = {
        "tasks": (Counter(Task.objects.values_list("title", flat=True)), Counter(words)),
        "letters": (Counter(Letter.objects.values_list("subject", flat=True)), Counter(words)),
        "acts": (acts, Counter([*words, *(f"{word}!" for word in words)])),
    }
    for name, (here, there) in effects.items():
        if here != there:
            wrong[name] += 1
            print(f"{name}: too many {here - there}, lost {there - here}", file=sys.stderr)
    cut = ToolCall.objects.filter(run__in=plans, status=ToolCall.Status.INTERRUPTED, tool=world.tool)
    asked = Gate.objects.filter(run__in=plans, kind="uncertain")
    wrong["asked"] += Counter(cut.values_list("run", "step")) != Counter(asked.values_list("run", "step"))
    faults = [
        *verify_all().faults,
        *(f"{pk}: {one}" for pk, said in entries_of_all().items() for one in problems(said)),
    ]
    figures = {
        "plans": len(plans),
        "claims": claims_of(plans),
        "calls cut": ModelCall.objects.filter(status=ModelCall.Status.INTERRUPTED).count(),
        "acts cut": cut.count(),
        "gates": Gate.objects.count(),
        "wrong": dict(+wrong),
        "faults": [str(fault) for fault in faults[:10]],
    }
    print(json.dumps(figures))
    return not +wrong and not faults


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Kill whoever carries out plans, then compare them with calm ones.")
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--points", action=argparse.BooleanOptionalAction, default=True, help="also at fault points")
    parser.add_argument("--database", choices=DATABASES, default="sqlite")
    parser.add_argument("--mcp", action="store_true", help="act at an MCP server")
    parser.add_argument("--seed", type=int, default=0, help="of when whom is killed")
    parser.add_argument("--pace", type=float, default=0.4, help="seconds from a claim to a kill, on average")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(0 if main(read_options()) else 1)
