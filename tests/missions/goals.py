"""Ten small goals, each reached three times by a scripted model: the rows are the same each time.

    python -m tests.missions.goals

Commands really run, files really change, a keeper is really killed. What is compared is all that the rows of a mission
say, but for keys, times and how long something took. Exit status 0 if each of them is reached each time, as it has to
be, with rows as the first time and an intact record.
"""

import argparse
import asyncio
import json
import os
import re
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from difflib import unified_diff
from hashlib import sha256
from pathlib import Path
from typing import Any
from uuid import uuid4

RUNS = 3
PATIENCE = 60.0
COORDINATOR = "Magi-01"

Answer = str | Callable[[Any], str]
"""What a model says, or what makes it say that from the key of the mission, once something was done to that."""


def step(tool: str, **arguments: Any) -> str:
    said = {"reasoning": f"I use {tool} now.", "tool_name": tool, "tool_args": json.dumps(arguments)}
    return json.dumps(said)


def runs(command: str, **more: Any) -> str:
    return step("run_command", command=command, **more)


@dataclass(frozen=True)
class Goal:
    """`says`: answers by the names of agents, the first of whom coordinates; a helper that is made has its own."""

    name: str
    check: str
    says: dict[str, tuple[Answer, ...]]
    files: dict[str, str] = field(default_factory=dict)
    crew: tuple[str, ...] = (COORDINATOR,)
    after: Callable[[Any], None] = lambda mission: None


def alone(name: str, check: str, *says: Answer, **files: str) -> Goal:
    found = {path.replace("__", "."): text for path, text in files.items()}
    return Goal(name, check, {COORDINATOR: (*says, step("finish", result="It is so."))}, found)


SUMS = "def add(a, b):\n    return a - b\n"
TESTED = "import unittest\nfrom sums import add\n\n\nclass Sums(unittest.TestCase):\n"
TESTED += "    def test(self):\n        self.assertEqual(add(2, 3), 5)\n\n\nunittest.main()\n"
LOG = "".join(f"10:{n:02} {'ERROR' if n % 7 == 0 else 'INFO'} job {n}\n" for n in range(40))
SERVER = """\
import socket
served = socket.socket(socket.AF_UNIX)
served.bind("door")
served.listen()
while True:
    asked, _ = served.accept()
    asked.sendall(asked.recv(100).upper())
    asked.close()
"""
ASKS_SERVER = """\
import pathlib, socket, time
while not pathlib.Path("door").exists():
    time.sleep(0.05)
asks = socket.socket(socket.AF_UNIX)
asks.connect("door")
asks.sendall(b"hello")
print(asks.recv(100).decode())
"""
PATCH = """\
--- a/one
+++ b/one
@@ -1,2 +1,2 @@
-eins
+one
 two
--- /dev/null
+++ b/three
@@ -0,0 +1 @@
+three
"""
KEEPER = "LTM-Manager"


def cut(mission: Any) -> str:
    """The keeper of the first command dies, and with it all that it holds."""
    from missions import workspace
    from missions.terminals.output_spool import SpoolState

    spool = workspace.spool(mission, "1-1")
    until((workspace.mission_folder(mission) / "workspace" / "count").exists)
    os.kill(json.loads((spool.folder / "started").read_text())["pid"], signal.SIGKILL)
    until(lambda: spool.state == SpoolState.CUT)
    return step("command_status", command_id=1)


def until(come: Callable[[], Any]) -> None:
    end = time.monotonic() + PATIENCE
    while not come():
        if time.monotonic() > end:
            raise SystemExit("it does not come to that")
        time.sleep(0.02)


def accept(mission: Any) -> None:
    """A person lets what was proposed be remembered."""
    from missions import memory_review
    from missions.models import MemoryVersion

    memory_review.decide_proposal(MemoryVersion.objects.get(mission=mission).pk, "mira", accept=True)


GOALS = (
    alone(
        "fix a test",
        "python3 test_sums.py",
        runs("python3 test_sums.py 2>&1 | grep -v ^Ran"),  # which says how long it took
        step("edit_file", path="sums.py", target_text="a - b", replacement_text="a + b"),
        runs("python3 test_sums.py 2>&1 | tail -1"),
        sums__py=SUMS,
        test_sums__py=TESTED,
    ),
    alone(
        "rename over files",
        "! grep -rn old_name . && grep -c new_name a.py b.py",
        step("grep", pattern="old_name"),
        runs("sed -i s/old_name/new_name/ a.py b.py"),
        step("grep", pattern="old_name"),
        a__py="old_name = 1\n",
        b__py="from a import old_name\n",
    ),
    alone(
        "parse a log",
        "grep -x 6 errors",
        step("read_file", path="log", end_line=3),
        runs("grep -c ERROR log > errors; cat errors"),
        log=LOG,
    ),
    alone(
        "answer a prompt",
        "grep -x Ada said",
        runs("read -p 'Name? ' name; echo $name > said"),
        step("send_command_input", command_id=1, input="Ada\n", wait=10),
    ),
    alone(
        "run and query a server",
        "grep -x HELLO said",
        runs("python3 server.py", timeout=0),
        runs("python3 asks.py > said; cat said"),
        step("send_command_input", command_id=1, terminate=True),
        server__py=SERVER,
        asks__py=ASKS_SERVER,
    ),
    alone(
        "patch",
        "cat one two three | tr '\\n' ' ' | grep -x 'one two two three '",
        step("apply_patch", patch=PATCH.replace("eins", "zwei")),
        step("apply_patch", patch=PATCH),
        one="eins\ntwo\n",
        two="two\n",
    ),
    alone(
        "conflict",
        "cat a | tr '\\n' ' ' | grep -x 'mine theirs '",
        step("read_file", path="a"),
        runs("echo theirs >> a"),
        step("write_to_file", path="a", content="mine\n", expect=sha256(b"first\n").hexdigest()[:16]),
        step("read_file", path="a"),
        step("edit_file", path="a", target_text="first", replacement_text="mine"),
        a="first\n",
    ),
    alone(
        "recover from a cut command",
        "test $(wc -l < count) = 1",
        runs("echo begun >> count; sleep 600", timeout=0),
        cut,
        runs("cat count"),
    ),
    Goal(
        "spawn a tester",
        "grep -x tested said",
        {
            COORDINATOR: (
                step("make_new_agent", name="Tester", description="Write “tested” into said, then tell me."),
                step("wait"),
                step("finish", result="It is tested."),
            ),
            "Tester": (runs("echo tested > said"), step("send_message", recipient=COORDINATOR, message="It is."), ""),
        },
    ),
    Goal(
        "have a memory kept",
        "true",
        {
            COORDINATOR: (
                step("send_message", recipient=KEEPER, message="Half a cent is rounded up: remember it."),
                step("wait"),
                step("finish", result="It is proposed."),
            ),
            KEEPER: (
                step("wait"),
                step("propose_memory", name="rounding", description="Of amounts.", content="Half a cent goes up."),
                step("send_message", recipient=COORDINATOR, message="done"),
                "",
            ),
        },
        crew=(COORDINATOR, KEEPER),
        after=accept,
    ),
)


# ---- one run ----------------------------------------------------------------------------------------------------


def models_of(goal: Goal, mission: Any) -> Any:
    """Each agent is known by its prompt: a helper that was made has the model of whoever made it."""
    from engine.llm.client import ModelReply, RequestMode
    from engine.llm.queues import ProviderQueue

    left = {name: list(says) for name, says in goal.says.items()}
    nothing = json.dumps({"reasoning": "I am done.", "tool_name": None, "tool_args": None})

    class Scripted:
        timeout = 120.0

        async def load(self) -> None:
            pass

        async def close(self) -> None:
            pass

        def queue(self, model: str) -> ProviderQueue:
            return ProviderQueue()

        def request_mode(self, model: str) -> RequestMode:
            return RequestMode()

        async def ask(self, model: str, messages: Any, *_: Any) -> ModelReply:
            said = re.search(r"You are ([^,]+), one of a crew", messages[0]["content"])
            answers = left[said[1] if said else COORDINATOR]
            answer = answers.pop(0) if answers else ""
            text = await asyncio.to_thread(answer, mission) if callable(answer) else answer
            return ModelReply(text=text or nothing, finish="stop", model=model)

    return Scripted()


def played(goal: Goal, owner: Any) -> Any:
    """The mission, over."""
    from missions.models import Mission
    from missions.presets import agent_row
    from missions.procedure import submit

    agents = [
        agent_row({"name": name, "rights": ["library"] if name == KEEPER else []}, "test/one") for name in goal.crew
    ]
    about = {"check": goal.check, "files": sorted(goal.files.items()), "limits": {"at_once": 1}}
    about |= {"library": uuid4().hex}  # what one run has kept is unknown to the next
    row = submit(owner=owner, goal=goal.name, agents=agents, **about)
    asyncio.run(_until_over(row.pk, models_of(goal, row.pk)))
    goal.after(row.pk)
    return Mission.objects.with_agents().get(pk=row.pk)


async def _until_over(pk: Any, models: Any) -> None:
    from engine.models import Run
    from engine.queue.worker import Worker

    engine = Worker(models=models)
    performing = asyncio.create_task(engine.run())
    try:
        async with asyncio.timeout(PATIENCE):
            while not (await Run.objects.aget(pk=pk)).is_ended:
                await asyncio.sleep(0.02)
    finally:
        await engine.stop(grace=0)
        await performing


# ---- rows -------------------------------------------------------------------------------------------------------


def rows_of(row: Any) -> list[str]:
    return [plain(one) for one in _rows(row)]


def plain(text: str) -> str:
    """Without how long it took, which prompts and rows say beside what happened."""
    text = re.sub(r'"(seconds|age|ms)": [\d.]+', r'"\1": 0', text)
    return re.sub(r"in \d+\.\d+s", "in 0s", text)


def _rows(row: Any) -> Iterator[str]:
    check = getattr(row, "final_check", None)
    yield f"mission: {row.run.status} {row.run.outcome} {row.result} {row.unproven}"
    yield f"check: {check.command} {check.exit_code} {check.output}" if check else "check: none"
    for agent in row.crew_list:
        yield f"agent {agent.number}: {agent.name} of {agent.parent}, {agent.tools}, {agent.rights}"
        for one in row.steps_of(agent.number):
            yield f"step {one.key}: {one.reasoning} {one.tool} {one.args} {one.heard} {one.ok} {one.result}"
    yield from _kept(row)
    yield from _used(row.pk)


def _kept(row: Any) -> Iterator[str]:
    for one in row.messages_in_order:
        yield f"message {one.number}: {one.sender} to {one.recipient}: {one.text}"
    for one in row.terminals.all():
        yield f"terminal {one.number}: {one.command} {one.exit_code} {one.reason} {one.size} {one.digest} {one.output}"
        yield from (f"input {one.number}.{line.number}: {line.text}" for line in one.inputs.all())
    for one in row.files.all():
        yield f"file {one.number}: {one.change} {one.path} {one.digest} {one.size} {one.text}"
    for one in row.short_memories.all():
        yield f"short memory {one.version}: {one.text}"
    for one in row.memories_proposed.all():
        yield f"memory: {one.memory.name} {one.text}"


def _used(pk: Any) -> Iterator[str]:
    from engine.models import Gate, ToolCall

    for one in ToolCall.objects.filter(run=pk).order_by("step", "number"):
        said = f"{one.arguments} {one.contained} {one.status} {one.output} {one.error}"
        yield f"call {one.step}.{one.number}: {one.tool} {said}"
    for one in Gate.objects.filter(run=pk).order_by("pk"):
        yield f"gate {one.step}: {one.kind} {one.state} {one.text}"


# ---- all of them ------------------------------------------------------------------------------------------------


def wrong(goal: Goal, owner: Any, times: int = RUNS) -> list[str]:
    """What is otherwise than it has to be, in so many runs."""
    found, first = list[str](), list[str]()
    for number in range(1, times + 1):
        row = played(goal, owner)
        rows = rows_of(row)
        found += [] if row.run.outcome == "done" else [f"{goal.name}, run {number}: {rows[0]} {rows[1]}"]
        first = first or rows
        lines = list(unified_diff(first, rows, "first", f"run {number}", n=0, lineterm=""))
        found += [f"{goal.name}, run {number}:", *lines] if lines else []
    return found


def main() -> int:
    from tests.stage import stage

    home = tempfile.mkdtemp(prefix="magi-missions-")
    Path(home).chmod(0o711)
    found = list[str]()
    try:
        with stage("sqlite", MAGI_MISSIONS_DIR=home):
            from django.contrib.auth.models import User

            from engine.audit.full_verification import verify_all

            owner = User.objects.create(username="mira")
            for goal in GOALS:
                began = time.monotonic()
                problems = wrong(goal, owner)
                found += problems
                word = "not as it has to be" if problems else "reached, with the same rows"
                print(f"{goal.name}: {RUNS} times {word}, {time.monotonic() - began:.1f} s", flush=True)
            found += [f"fault: {one}" for one in verify_all().faults]
    finally:
        shutil.rmtree(home, ignore_errors=True)
    print("\n".join(found) or "ok")
    return 1 if found else 0


if __name__ == "__main__":
    argparse.ArgumentParser(description="Reach ten small goals, three times each.").parse_args()
    sys.exit(main())
