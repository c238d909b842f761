"""Missions as tests need them, and answers of models written out."""

import asyncio
import json

from missions.presets import agent_row
from missions.procedure import submit
from missions.reaper import sweep_ended_commands
from tests.conftest import perform
from tests.waiting import wait_until

MODEL = "test/one"


def mission(owner, *answers, models=None, goal="Say hello.", crew=("Ada",), **asked):
    """Of agents with models of their own names, where there are several."""
    agents = [agent_row({"name": name}, MODEL if name == crew[0] else f"test/{name}") for name in crew]
    if models is not None:
        models.will(MODEL, *answers)
    return submit(owner=owner, goal=goal, agents=agents, **asked)


def step(tool=None, reasoning="I do this now.", **args):
    return json.dumps({"reasoning": reasoning, "tool_name": tool, "tool_args": json.dumps(args) if tool else None})


def runs(command, **more):
    return step("run_command", command=command, **more)


def finishes(result="It is so.", **more):
    return step("finish", result=result, **more)


def until_over(row, models):
    """The mission when it has ended: performed again whenever its commands have woken it."""

    def over():
        run = asyncio.run(perform(row.pk, models))
        if not run.is_ended:
            sweep_ended_commands()
        return run if run.is_ended else None

    return wait_until(over, "the end of a mission")
