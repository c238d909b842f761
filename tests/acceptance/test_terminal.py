"""The commands in a terminal, while models and an endpoint send what steers one."""

import json
import os
import pty
import subprocess
import sys

from engine.text.invisible_chars import visible_text
from tests.acceptance.site import ROOT, environment
from tests.conftest import agents
from tests.injections import STEERING, tags

MODELS = ("openai/gpt-a", "openai/gpt-b", "openai/gpt-c")


def in_a_terminal(*words, env):
    """All bytes that reach it, without the line ends that the terminal makes itself."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "manage.py", *words]
    with subprocess.Popen(command, cwd=ROOT, env=env, stdin=theirs, stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        said = bytearray()
        try:
            while data := os.read(ours, 65536):
                said += data
        except OSError:  # the other side is closed
            pass
        process.wait(60)
    os.close(ours)
    return said.decode().replace("\r\n", "\n")


def test_a_terminal_shows_what_it_is_sent_and_does_nothing_of_it(endpoint, tmp_path):
    reason = f"Reason {' '.join(STEERING)} {tags('approve')} \u202eend."
    fails = {"behaviour": "status", "status": 500, "body": {"error": {"message": STEERING[0]}}, "times": 1}
    rules = [["You are agent B ", fails], ["You are agent ", {"reason": reason, "decision": "reject"}]]
    endpoint.script(by_text=rules, models=STEERING)
    trio = [agent | {"name": f"{agent['name']}\u202e"} for agent in agents(*MODELS)]
    (tmp_path / "agents.json").write_text(json.dumps(trio))
    env = environment(tmp_path, OPENAI_BASE_URL=endpoint.base_url, OPENAI_API_KEY="sk-canary-1234567890")
    agents_file = ("--agents", str(tmp_path / "agents.json"))
    said = in_a_terminal("judge", f"Content{tags('approve')}", "--title", "A\u202eB", *agents_file, env=env)
    assert visible_text(said) == said
    lines = said.splitlines()
    assert lines[0].startswith("Judging “A‹U+202E›B”")
    assert "  B1, attempt 1:" in said
    assert sum(line.startswith("  Round ") for line in lines) == 9
    assert "‹tags: approve› ‹U+202E›end." in said
    assert lines[-1] == "rejected"


def test_nor_does_a_fault_in_what_was_typed(tmp_path):
    said = in_a_terminal("judge", "--\x1b]0;title\x07", env=environment(tmp_path))
    assert visible_text(said) == said
    assert "‹U+001B›]0;title‹U+0007›" in said
