"""Missions in every state a page can be seen in, on a site without an engine: they are performed here, by models that
say what is written. Commands really run.

`python -m tests.missions.cast SCENE`, told of the site by its environment, prints the key of the one that it made.
"""

import asyncio
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import django

django.setup()

from django.contrib.auth.models import User  # noqa: E402
from django.utils import timezone  # noqa: E402

from engine.llm.errors import Unauthorized  # noqa: E402
from engine.models import Run  # noqa: E402
from engine.queue.worker import Worker  # noqa: E402
from missions import comments, memory_review  # noqa: E402
from missions.examples import FAULT  # noqa: E402
from missions.memory_files import MemoryFile  # noqa: E402
from missions.models import Memory, MissionStep  # noqa: E402
from missions.presets import agent_row  # noqa: E402
from missions.procedure import submit  # noqa: E402
from tests.conftest import ScriptedModels, perform  # noqa: E402
from tests.missions.scenes import finishes, runs, step  # noqa: E402

ENDLESS = timedelta(days=300)
READS = step("read_file", "I read how totals are computed before I run anything.", path="totals.py")
TESTED = runs(
    "python3 -m unittest -v 2>&1 | tail -12; false", reasoning="I run the tests and stop at the first failure."
)
SERVES = runs(
    r"printf '\033[32mINFO\033[0m:     Started server process [14]\n'; sleep 300",
    reasoning="The service must answer before its tests mean anything, so I start it in the background.",
    timeout=0,
)
ASKS = runs('read -p "Overwrite 44 lines? [y/N] " answer', reasoning="The tool asks before it overwrites.", timeout=20)
EDITS_BY_HAND = runs("vi totals.py", reasoning="The editor shows me the lines around it.", timeout=20)
SEEKS = step(
    "send_command_input", "I go to where it rounds.", command_id=2, input=":set number\n/round", key="enter", wait=2
)
LOOKS_AT_MACHINE = runs("top -d 1", reasoning="Something else is slow: I see what runs.", timeout=20)
ORDERS = step(
    "send_message",
    "Somebody else runs the tests meanwhile.",
    recipient="Tester",
    message="Run the tests. Report the first failure with its cause, change nothing yet.",
)
WAITS = step("wait", "I wait for the test run before I change the invoice template.")
QUESTION = step(
    "ask_person",
    "Both rules stand in the files; a person has to say which one holds.",
    question="Which rule holds for invoices that were already sent?",
    choices=["They stay as they are", "They are corrected and sent again"],
)
KEPT = step("remember", "Kept: this project rounds half up.", text="This project rounds half up.")
EDITS = step(
    "edit_file",
    "Half-even rounding is the cause; I let quantize round half up.",
    path="totals.py",
    target_text="    return round(Decimal(price) * count, 2)",
    replacement_text='    return (Decimal(price) * count).quantize(Decimal("0.01"), "ROUND_HALF_UP")',
)
RESULT = (
    "Totals were rounded half to even, because round() was used on a Decimal. They now round half up by quantize. "
    "Invoices that were already sent are not corrected: somebody must decide that."
)


class StallingMissionModels(ScriptedModels):
    """Where nothing more is written it thinks for ever."""

    async def ask(self, model: str, *args: Any) -> Any:
        if not self.script[model]:
            await asyncio.sleep(3600)
        return await super().ask(model, *args)


def begun(owner: User, models: ScriptedModels, name: str, crew: dict[str, tuple[Any, ...]], **asked: Any) -> Any:
    """Each agent has a model of its own, or scenes would take each other's answers."""
    for who, answers in crew.items():
        models.will(f"test/{name}-{who}", *answers)
    return submit(
        owner=owner,
        title="Make invoice totals round half up",
        goal="Find why invoices are a cent short, correct it with a test that fails without the correction.",
        agents=[agent_row({"name": who}, f"test/{name}-{who}") for who in crew],
        files=FAULT.files,
        **asked,
    ).pk


def performed(owner: User, name: str, *answers: Any, **asked: Any) -> Any:
    models = ScriptedModels()
    pk = begun(owner, models, name, {"Coordinator": answers}, **asked)
    asyncio.run(perform(pk, models))
    return pk


ANSWERS = (READS, TESTED, EDITS, runs("python3 -m unittest"), KEPT, finishes(RESULT))
SAID = step(reasoning="I cannot tell which of the two rounding rules the law wants.")
OVER: dict[str, tuple[Any, ...]] = {
    "done": ANSWERS,
    "unproven": (READS, finishes("Nothing was changed yet.")),
    "failed": (READS, Unauthorized("test/one refused its key.")),
    "gate": (READS, TESTED, SAID, SAID),
    "question": (READS, TESTED, QUESTION),
}
CHECKED = ("done", "unproven")


def live(owner: User) -> Any:
    memories()
    kept = (KEPT, step(reasoning="Kept: this project rounds half up."))
    crew = {"Coordinator": (ORDERS, WAITS), "Tester": (READS, TESTED, SERVES), "LTM-Manager": kept}
    told = "Amounts must round half up, never half to even."
    return left(owner, "live", crew, 7, told=told, limits={"at_once": 3})


def asks(owner: User) -> Any:
    return left(owner, "asks", {"Coordinator": (READS, ASKS)}, 2)


def drawn(owner: User) -> Any:
    return left(owner, "drawn", {"Coordinator": (LOOKS_AT_MACHINE, EDITS_BY_HAND, SEEKS)}, 3)


def paused(owner: User) -> Any:
    pk = left(owner, "paused", {"Coordinator": (READS, TESTED)}, 2)
    comments.pause(pk, owner, True)
    Run.objects.filter(pk=pk).update(status=Run.Status.WAITING, worker="", lease_expires_at=None)
    return pk


LEFT: dict[str, Callable[[User], Any]] = {"live": live, "asks": asks, "drawn": drawn, "paused": paused}


def left(owner: User, name: str, crew: dict[str, tuple[Any, ...]], steps: int, told: str = "", **asked: Any) -> Any:
    """It goes on, and nobody goes on with it."""
    models = StallingMissionModels()
    pk = begun(owner, models, name, crew, **asked)
    if told:
        comments.post_message(pk, owner, told)
    asyncio.run(until(models, pk, steps))
    held = {"status": Run.Status.RUNNING, "worker": "nobody", "lease_expires_at": timezone.now() + ENDLESS}
    Run.objects.filter(pk=pk).update(**held)
    return pk


async def until(models: ScriptedModels, pk: Any, steps: int) -> None:
    """So many steps have come to their end."""
    engine = Worker(models=models, only=pk)
    performing = asyncio.create_task(engine.run())
    async with asyncio.timeout(60):
        while await MissionStep.objects.filter(mission=pk, settled__isnull=False).acount() < steps:
            await asyncio.sleep(0.05)
    await engine.stop(grace=0)
    await performing


def memories() -> None:
    """Of which one waits for somebody to accept it."""
    if Memory.objects.filter(name="rounding"):
        return
    rounding = MemoryFile("rounding", "How amounts are rounded", "Amounts round half up.\n", visible_to=("all",))
    memory_review.propose(rounding, "M. Okafor", accepted=True)
    more = replace(rounding, text="Amounts round half up, at the end of a sum.\n", active_for=("Tester",))
    memory_review.propose(more, "LTM-Manager")


def made_here(owner: User, name: str) -> Any:
    if name == "memories":
        return memories()
    if name in LEFT:
        return LEFT[name](owner)
    return performed(owner, name, *OVER[name], **({"check": FAULT.check} if name in CHECKED else {}))


if __name__ == "__main__":
    print(made_here(User.objects.order_by("pk")[0], sys.argv[1]))
