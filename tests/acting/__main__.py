"""python -m tests.acting submit NUMBER | say CHOICE | judge | post ADDRESS | late | class

Runs that act, an answer at every gate that waits, and whether anything was lost or done twice: a line of JSON.
"""

import json
import sys
from collections import Counter

import django

django.setup()

from django.contrib.auth.models import User  # noqa: E402
from django.utils import timezone  # noqa: E402

from engine import gate_decisions, mcp  # noqa: E402
from engine.audit import sealing  # noqa: E402
from engine.audit.full_verification import verify_all  # noqa: E402
from engine.models import Gate, Letter, McpTool, Run, ToolCall, account_key  # noqa: E402
from engine.models.emails import DELIVERY_TIMEOUT  # noqa: E402
from engine.runtime import definition_check  # noqa: E402
from office.models import Task  # noqa: E402
from tests.acting.tools import world  # noqa: E402


def submit(number: str) -> object:
    sealing.adopt_unsealed_runs()
    owner, _ = User.objects.get_or_create(username="root")
    for _ in range(int(number)):
        run = Run.objects.create(procedure="acting", owner=owner, account=account_key(owner), asked_by="root")
        sealing.record_submission(run.pk)
    return number


def post(url: str) -> object:
    """A letter that is to be sent."""
    return Letter.objects.write(Letter.State.TO_SEND, None, [url], "Hello", "We come on Friday.").pk


def late() -> object:
    """As if whoever took a letter had been silent for long; how each stands."""
    Letter.objects.update(taken=timezone.now() - 2 * DELIVERY_TIMEOUT)
    return list(Letter.objects.values_list("state", flat=True))


def class_all() -> object:
    """Every tool of every MCP server, as one that writes and brings nothing of strangers."""
    for server in mcp.servers().values():
        definition_check.refresh_listing(server)
    return [row.classify("writes", False, False, None, row.definition) for row in McpTool.objects.all()]


def say(choice: str) -> object:
    waiting = list(Gate.objects.pending().filter(run__status="waiting"))
    for gate in waiting:
        gate_decisions.decide(gate.pk, User.objects.get(), "answer", choice=choice)
    return len(waiting)


def judge() -> object:
    """`twice`: what was done more often than anybody asked for. `uncertain`: gates, by how many of them a run has."""
    acts = Counter(world().read_text().split()) if world().exists() else Counter()
    tasks = Counter(Task.objects.values_list("title", flat=True))
    asked = Counter(str(pk) for pk in Gate.objects.filter(kind="uncertain").values_list("run", flat=True))
    cut = Counter(str(pk) for pk in ToolCall.objects.filter(status="interrupted").values_list("run", flat=True))
    return {
        "runs": dict(Counter(Run.objects.values_list("outcome", flat=True))),
        "statuses": dict(Counter(Run.objects.values_list("status", flat=True))),
        "tasks": len(tasks),
        "acts": len(acts),
        "twice": sorted(one for one, times in (*acts.items(), *tasks.items()) if times > 1),
        "uncertain": len(asked),
        "asked_wrongly": asked != cut,
        "faults": [str(fault) for fault in verify_all().faults],
    }


if __name__ == "__main__":
    word, *rest = sys.argv[1:]
    words = {"submit": submit, "say": say, "judge": judge, "post": post, "late": late, "class": class_all}
    print(json.dumps(words[word](*rest)))
