"""Missions as tests need them, and answers of models written out."""

import json

from missions.crews import made
from missions.procedure import submit

MODEL = "test/one"


def mission(owner, *answers, models=None, goal="Say hello.", crew=("Ada",), **asked):
    """Of agents with models of their own names, where there are several."""
    agents = [made({"name": name}, MODEL if name == crew[0] else f"test/{name}") for name in crew]
    if models is not None:
        models.will(MODEL, *answers)
    return submit(owner=owner, goal=goal, agents=agents, **asked)


def step(tool=None, reasoning="I do this now.", **args):
    return json.dumps({"reasoning": reasoning, "tool_name": tool, "tool_args": json.dumps(args) if tool else None})


def runs(command, **more):
    return step("run_command", command=command, **more)


def finishes(result="It is so.", **more):
    return step("finish", result=result, **more)
