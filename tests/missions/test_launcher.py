"""The process that begins commands, and holds nothing."""

import os
import subprocess
import sys
import textwrap

import pytest

from missions.sandbox.bwrap import SandboxLimits, shell_command
from missions.terminals.drawn import text_of_command
from missions.terminals.launcher import LaunchRefused, request_launch
from tests.acceptance.site import ROOT
from tests.missions.commands import ended, until

SERVE = """
import asyncio, sys
from pathlib import Path
from missions.terminals.launcher import Launcher, LauncherServer
home = Path(sys.argv[1])
asyncio.run(LauncherServer(Launcher(home), frozenset()).serve(home / "launcher"))
"""


@pytest.fixture
def started(workshop):
    """Starts a launcher in another process; gives its process."""
    processes = []

    def start():
        command = [sys.executable, "-c", SERVE, str(workshop.place.parent)]
        processes.append(subprocess.Popen(command, cwd=ROOT))
        until(lambda: answers(workshop))
        return processes[-1]

    yield start
    for process in processes:
        process.kill()
        process.wait()


def answers(workshop):
    try:
        asked(workshop, "no name", "true")
    except LaunchRefused:
        return True
    except OSError:
        return False


def asked(workshop, call, command, **limits):
    address = workshop.place.parent / "launcher"
    request_launch(address, workshop.mission, call, shell_command(command), ".", SandboxLimits(**limits))
    return workshop.spool(call)


def test_a_command_begun_by_the_launcher_outlives_it_and_is_found_again(workshop, started):
    launcher = started()
    spool = asked(workshop, "c1", "sleep 1; echo done")
    until(lambda: (spool.folder / "sock").exists())
    launcher.kill()
    launcher.wait()
    assert (ended(spool)["code"], text_of_command(spool)) == (0, "done\n")
    started()
    assert asked(workshop, "c2", "echo again").folder.name == "c2"


def test_what_makes_no_sense_is_refused_with_a_sentence_and_it_goes_on(workshop, started):
    started()
    with pytest.raises(LaunchRefused, match="is no name of a mission or a call"):
        asked(workshop, "../c1", "true")
    with pytest.raises(LaunchRefused, match="unexpected keyword"):
        ask_raw(workshop, limits={"more": 1})
    assert ended(asked(workshop, "c1", "true"))["code"] == 0


def ask_raw(workshop, limits):
    import json
    import socket

    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(workshop.place.parent / "launcher"))
        said = {"mission": "m1", "call": "c9", "program": ["/bin/true"], "cwd": ".", "limits": limits}
        client.sendall(json.dumps(said).encode() + b"\n")
        raise LaunchRefused(json.loads(client.makefile("rb").readline())["refused"])


@pytest.mark.skipif(os.geteuid() != 0, reason="to become another user takes root")
def test_another_user_is_answered_nothing(workshop, started):
    started()
    address = workshop.place.parent / "launcher"
    address.chmod(0o666)
    code = textwrap.dedent(f"""
        import os, socket
        os.setgroups([]); os.setgid(64211); os.setuid(64211)
        client = socket.socket(socket.AF_UNIX)
        client.connect({str(address)!r})
        try:
            client.sendall(b"{{}}\\n")
            print(client.recv(100))
        except (ConnectionResetError, BrokenPipeError):
            print("closed")
    """)
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert said.stdout.strip() in ("b''", "closed"), said.stderr
