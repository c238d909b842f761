"""Plans that write in the database, act in the world, send a letter that a person and a council approve, fail and are
planned anew. A person approves, and where a use was cut says truly whether it happened. With `--mcp` the world is an
MCP server in a process of its own, which counts its calls.
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
from typing import Any, ClassVar

from tests.acceptance.site import free_port
from tests.crash.kill import Killed, Stage, Story, compared
from tests.mcp_folder import Folder

SETTINGS = {"DJANGO_SETTINGS_MODULE": "tests.acting.beside_plans", "ACTING_PAUSE": "0.1"}
WORD = {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]}


class ActedWorld:
    """What is acted in: a file beside the database, with a tool of ours."""

    tool = "world.act"
    env: ClassVar[dict[str, str]] = {}

    def prepare(self, place: Stage) -> None:
        self.file = place.folder / "world"

    def acts(self) -> list[str]:
        return self.file.read_text().split() if self.file.exists() else []


class WorldOfOthers(ActedWorld):
    """An MCP server that writes down each call before it answers. A worker that is killed leaves it alone."""

    tool = "mcp.counting.letter"

    def __init__(self, folder: Path, port: int) -> None:
        self.folder = Folder(folder)
        self.folder.say(schema=WORD, descriptions={"letter": "Acts in the world.", "news": ""}, pause=1)
        self.env = {"MAGI_MCP_SERVERS": json.dumps({"counting": {"url": f"http://127.0.0.1:{port}/mcp"}})}

    def prepare(self, place: Stage) -> None:
        from engine import mcp
        from engine.models import McpTool
        from engine.runtime import definition_check

        definition_check.refresh_listing(mcp.servers()["counting"])
        row = McpTool.objects.get()
        row.classify("writes", False, False, None, row.definition)

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


class Plans(Killed):
    called = "plans"
    parts = ("revisions", "steps", "uses", "outputs", "end")
    offline = "tests.plans.offline"
    settings = SETTINGS
    world = ActedWorld()
    seldom = ("claim", "outcome", "tool-open")
    not_passed = ("expiry", "rest", "child")  # nothing of these expires, plans do not rest, a gate makes its council

    def __init__(self, place: Stage, options: argparse.Namespace) -> None:
        super().__init__(place, options)
        self.world.prepare(place)
        self.team = team(self.world.tool)

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
        from engine import gate_decisions
        from engine.models import Gate

        for gate in Gate.objects.with_decisions().pending().filter(run__in=self.made):
            if gate.policy.get("council") and not gate.is_acknowledged:
                continue
            try:
                gate_decisions.decide(gate.pk, self.person, *self.answer(gate), digest=gate.digest)
            except gate_decisions.GateClosed:
                continue

    def answer(self, gate: Any) -> tuple[str, str, str]:
        if gate.kind == "plan":
            return "approve", "", "all"
        if gate.kind != "uncertain":
            return "approve", "", ""
        word = gate.run.title + ("!" if "!" in gate.text else "")
        return "answer", "", "happened" if word in self.world.acts() else "do"

    def same(self, part: str, here: Any, there: Any) -> bool:
        return bool(here == there) or (part == "outputs" and len(here) < len(there))

    def look_closer(self, wrong: Counter[str]) -> dict[str, Any]:
        """Every effect is there exactly once, and each use that was cut was asked about at exactly one gate."""
        from engine.models import Gate, Letter, Run, ToolCall
        from office.models import Task

        words = Run.objects.filter(pk__in=self.made).values_list("title", flat=True)
        effects = {
            "tasks": (Counter(Task.objects.values_list("title", flat=True)), Counter(words)),
            "letters": (Counter(Letter.objects.values_list("subject", flat=True)), Counter(words)),
            "acts": (Counter(self.world.acts()), Counter([*words, *(f"{word}!" for word in words)])),
        }
        for name, (here, there) in effects.items():
            if here != there:
                wrong[name] += 1
                print(f"{name}: too many {here - there}, lost {there - here}", file=sys.stderr)
        cut = ToolCall.objects.filter(run__in=self.made, status=ToolCall.Status.INTERRUPTED, tool=self.world.tool)
        asked = Gate.objects.filter(run__in=self.made, kind="uncertain")
        wrong["asked"] += Counter(cut.values_list("run", "step")) != Counter(asked.values_list("run", "step"))
        return {"acts cut": cut.count()}

    def story_of(self, pk: Any) -> Story:
        """What a person said in place of a result is another text."""
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


def team(act: str) -> Any:
    from judgements.models import Council
    from plans.models import Team
    from plans.rules.approval_policy import TeamPolicy
    from plans.rules.enums import StepEffect

    model = "rehearsal/instant"
    seats = [
        {"name": name, "model": model, "criteria": "Approve everything.", "fallback": ""}
        for name in ("Ada", "Bo", "Cy")
    ]
    Council.objects.create_first(name="Outgoing letters", owner=None, agents=seats)
    asked = {"who": "both", "council": "Outgoing letters", "blind": False}
    policy = TeamPolicy(calls={**TeamPolicy().calls, StepEffect.WRITES: {"who": "open"}, StepEffect.REACHES_OUT: asked})
    seats_of_work = (("Desk", "Keeps order.", ["people.find", "tasks.add", act]), ("Letters", "Writes.", ["mail.send"]))
    agents = [
        {"name": name, "description": what, "system": "", "model": model, "fallback": "", "tools": tools}
        for name, what, tools in seats_of_work
    ]
    held = {"planner": model, "policy": policy.as_json(), "agents": agents, "examples": []}
    Team.objects.create_first(name="Company", owner=None, description="", **held)
    return Team.objects.with_content().get(name="Company").current


def play(options: argparse.Namespace) -> bool:
    if not options.mcp:
        return compared(Plans, options)
    with world_of_others() as world:
        Plans.world = world
        return compared(Plans, options, **world.env)
