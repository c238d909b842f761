"""The verifier that others run states a second time what leaves a mission, and how: both say the same."""

import asyncio
import io
import json
from collections import Counter
from copy import deepcopy

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command

from engine.models import Gate
from missions import memory_review, workspace
from missions.memory_files import MemoryFile
from missions.models.memories import MEMORIES
from tests.conftest import need, perform
from tests.missions.scenes import finishes, mission, runs, step
from tests.read_gates import decide_as_read
from tests.tools.offline import change, drop, verifier

pytestmark = pytest.mark.django_db

PERSON = {"who": "person", "hours": 24, "expiry": "return"}
REACHES = runs("true\necho two", network=["example.org:443"], purpose="To look.")
PUBLISHES = step("publish", branch="fix/sum", message="Say it.")
STEPS = (step("write_to_file", path="a.txt", content="one\n", expect="new"), REACHES, PUBLISHES, finishes())


def exported() -> dict[str, dict]:
    out = io.StringIO()
    call_command("export_records", stdout=out)
    return {one["id"]: one for one in map(json.loads, out.getvalue().splitlines())}


def verified(records) -> tuple[list[str], Counter]:
    counts: Counter = Counter()
    lines = (f"{verifier.canonical(one)}\n".encode() for one in records)
    return list(verifier.verify(lines, "", "", counts)), counts


def problems(entries):
    try:
        return [f"{sentence}{place}" for sentence, place in verifier.check_mission(entries)]
    except verifier.NOT_GENUINE as error:
        return [f"It cannot be read: {error!r}"]


def other_arguments(**said):
    """Of the command that had a network."""

    def forge(entries):
        for one in entries:
            if one["kind"] == "tool" and one["facts"]["tool"] == "run_with_network":
                one["texts"]["arguments"] = json.dumps(json.loads(one["texts"]["arguments"]) | said)
        return entries

    return forge


def a_council_alone(entries):
    """Decides about a branch of whose text something was left out."""
    for one in entries:
        if one["kind"] == "gate" and one["facts"]["step"] == "1.3":
            one["facts"] |= {
                "whole": "0" * 64,
                "policy": one["facts"]["policy"] | {"who": "council", "council": "Trio"},
            }
        if one["kind"] == "decided" and one["facts"]["step"] == "1.3":
            one["facts"]["judged_by"] = "a judgement"
    return entries


LEFT_BY = ["run_with_network", "publish_commit"]
USE, LEFT, ORDER = "Nobody has approved the use", "It left a mission that was not to", "It is not what is next"
FORGERIES = {
    "another host": (other_arguments(network=["evil.example:443"]), USE),
    "another command": (other_arguments(command="true\necho three"), USE),
    "another purpose": (other_arguments(purpose="To steal."), USE),
    "another commit": (change("tool", {"tool": "publish_commit"}, "texts", arguments='{"difference": ""}'), USE),
    "a council alone about a part": (a_council_alone, USE),
    "another tool": (change("tool", {"tool": "run_with_network"}, "facts", definition="0" * 64), USE),
    "decision deleted": (drop("decided", step="1.2"), USE),
    "decision turned round": (change("decided", {"step": "1.3"}, "facts", said="reject"), USE),
    "gate deleted": (drop("gate", step="1.2"), "It cannot be read"),
    "gate forgotten": (change("tool", {"tool": "run_with_network"}, "facts", gate=7), USE),
    "never to be asked": (change("submitted", {}, "facts", policy={"network": "never"}), LEFT),
    "a council was to be asked": (change("submitted", {}, "facts", policy={"publish": {"who": "both"}}), LEFT),
    "step deleted": (drop("mission.step", number=2), ORDER),
    "memory twice in use": (lambda entries: [*entries[:-1], *recalled(entries), entries[-1]], ORDER),
    "never finished": (drop("mission.result", number=4), "The outcome does not follow"),
}


def recalled(entries):
    return [one for one in entries if one["kind"] == "mission.recalled"][:1]


def acted(mira: User, models) -> str:
    """A mission that reached for a host and published a branch, each allowed by a person, with a memory in use."""
    memory_review.propose(MemoryFile("manners", "", "Be kind.", active_for=("all",)), "mira", accepted=True)
    row = mission(mira, *STEPS, models=models, policy={"network": PERSON, "publish": PERSON})
    asyncio.run(perform(row.pk, models))
    while gate := Gate.objects.filter(run=row.pk, state="pending").first():
        decide_as_read(gate.pk, mira, "approve", "", "allow")
        asyncio.run(perform(row.pk, models))
    return str(row.pk)


def test_an_honest_mission_has_no_problem_and_each_forgery_is_one(mira: User, models):
    need("sandbox", not workspace.missing_programs(), workspace.missing_programs())
    pk = acted(mira, models)
    records = exported()
    entries = records[pk]["entries"]
    assert [one["facts"]["tool"] for one in entries if one["kind"] == "tool" and "gate" in one["facts"]] == LEFT_BY
    said, counts = verified(records.values())
    assert (said, problems(entries), counts["gates"], counts["changes of their memories"]) == ([], [], 2, 1)
    found = {name: problems(forge(deepcopy(entries))) for name, (forge, _) in FORGERIES.items()}
    wrong = {name: found[name] for name, (_, due) in FORGERIES.items() if not any(due in one for one in found[name])}
    assert wrong == {}
    assert problems([one | {"texts": {}} for one in entries]) == []
    change("memory.decided", {}, "facts", accepted=False)(records[str(MEMORIES)]["entries"])
    assert "A memory was used that nobody had accepted" in str(verified(records.values())[0])
