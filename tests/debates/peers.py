"""A debate beside those of other programs: five members and 20 messages against one endpoint that answers at once.

    python -m tests.debates.peers --ag2 VENV/bin/python --mallm VENV/bin/python

Each plays in a process of its own, in the environment that is named (`pip install "ag2[openai]<1"`; `pip install mallm
"pyarrow<18"`); what is not named is left out. Of each: seconds of processor for its process and for the debate alone,
calls and characters that were asked. Beside it who speaks next by AG2 in 10,000 turns, with how often one speaks twice
in a row, and what the votes of five come to by MALLM and here. MALLM debates nowhere that has no way to Hugging Face:
it loads a script and models from there before it begins.
"""

import argparse
import asyncio
import json
import os
import resource
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.acceptance.site import ROOT
from tests.debates.endpoint import answer

MEMBERS, MESSAGES = 5, 20
AG2 = """
import json, random, sys, time, autogen
from collections import Counter
url = sys.argv[1]
config = {"config_list": [{"model": "one", "base_url": url, "api_key": "none"}], "cache_seed": None}
def made(way, repeat):
    agents = [autogen.ConversableAgent(f"m{n}", f"You are m{n}.", llm_config=config, human_input_mode="NEVER")
              for n in range(5)]
    said = {"max_round": 21, "speaker_selection_method": way, "allow_repeat_speaker": repeat}
    return agents, autogen.GroupChat(agents, [], **said)
began = time.process_time()
agents, group = made("random", False)
manager = autogen.GroupChatManager(group, llm_config=False)
agents[0].initiate_chat(manager, message="Shall we hire her?", silent=True)
spent, said = time.process_time() - began, [one["name"] for one in group.messages]
orders = {}
for way, repeat in (("round_robin", True), ("random", False), ("random", True)):
    agents, group = made(way, repeat)
    last, drawn = agents[0], []
    for _ in range(10_000):
        last = group.select_speaker(last, agents[1])
        drawn.append(last.name)
    orders[f"{way}, repeat {repeat}"] = [sorted(Counter(drawn).values()), sum(map(str.__eq__, drawn, drawn[1:]))]
print(json.dumps({"spent": spent, "messages": len(said) - 1, "orders": orders}))
"""
MALLM = """
import itertools, json
from mallm.decision_protocols.simple_voting import SimpleVoting
from mallm.utils.enums import DecisionAlteration
said = type("Said", (), {"persona": ""})()
vote, way, come = SimpleVoting([said] * 5, 0, None), list(DecisionAlteration)[0], []
for votes in itertools.product(range(3), repeat=5):
    come.append([votes, vote.process_results({}, way, ["A", "B", "C"], list(votes))[way.value].most_voted])
print(json.dumps({"votes": come}))
"""


class DebatePeerHandler(BaseHTTPRequestHandler):
    asked = Counter[str]()

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.asked["calls"] += 1
        self.asked["characters"] += sum(len(str(one["content"])) for one in body["messages"])
        own, number = "response_format" in body, self.asked["calls"]
        text = json.dumps(answer(body["messages"], number)) if own else f"I say {number}, for reason {number}."
        made = {"id": "1", "object": "chat.completion", "created": 1, "model": "one"}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        said = {"role": "assistant", "content": text}
        choice = {"index": 0, "message": said, "finish_reason": "stop"}
        sent = json.dumps({**made, "usage": usage, "choices": [choice]}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(sent)))
        self.end_headers()
        self.wfile.write(sent)

    def log_message(self, *_: object) -> None:
        pass


def here(url: str) -> dict[str, Any]:
    """Ours, with its database, its engine and its sealed record."""
    from tests.stage import stage

    with stage("sqlite", MAGI_PROVIDERS=json.dumps({"peer": {"base_url": url}})):
        from debates import procedure
        from debates.models import DebateMessage
        from engine.ledger.entries import AuditEntry
        from engine.llm.client import ModelClient
        from tests.conftest import perform
        from tests.debates.table import asked

        async def performed() -> None:
            client = ModelClient(timeout=20)
            await perform(debate.pk, client)
            await client.close()

        began = time.process_time()
        told = asked(MEMBERS, model="peer/one", most=MESSAGES, spend=None, switches={"first": False})
        debate = procedure.submit(owner=None, **told)
        asyncio.run(performed())
        spent, said = time.process_time() - began, DebateMessage.objects.filter(debate=debate.pk, kind="said").count()
        return {"spent": spent, "messages": said, "entries": AuditEntry.objects.filter(run=debate.pk).count()}


def played(url: str, command: list[str]) -> dict[str, Any]:
    """What it says, with the processor time of its whole process, and what the endpoint was asked meanwhile."""
    DebatePeerHandler.asked.clear()
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([*command, url], cwd=ROOT, capture_output=True, text=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        return {"failed": done.stderr[-600:]}
    whole = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {**json.loads(done.stdout.splitlines()[-1]), "whole": round(whole, 2), **DebatePeerHandler.asked}


def other_outcomes(votes: list[Any]) -> Iterator[str]:
    """Of the votes of five, in words, where it comes to another winner than plurality does here."""
    from debates.rules.outcome import DecisionRule, outcome_of

    options = ("A", "B", "C")
    for given, won in votes:
        ours = outcome_of(DecisionRule.PLURALITY, options, [options[one] for one in given]).option or ""
        if ours != ("" if won < 0 else options[won]):
            yield f"{given}: {ours or 'none'} here"


def main(peers: dict[str, str | None]) -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), DebatePeerHandler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}/v1"
    found = {"MAGI": played(url, [sys.executable, "-m", "tests.debates.peers", "--here"])}
    for name, script in (("ag2", AG2), ("mallm", MALLM)):
        if python := peers[name]:
            found[name] = played(url, [python, "-c", script])
    votes = found.get("mallm", {}).pop("votes", [])
    print(json.dumps({"load": os.getloadavg(), **found}, indent=1))
    if votes:
        print(f"{len(votes)} ways to vote, other outcomes: {list(other_outcomes(votes)) or 'none'}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Play a debate here and by other programs.")
    parser.add_argument("--ag2", help="the Python in whose environment it is")
    parser.add_argument("--mallm", help="the same")
    parser.add_argument("--here", help=argparse.SUPPRESS)
    options = parser.parse_args()
    print(json.dumps(here(options.here))) if options.here else main(vars(options))
