"""What a command in the sandbox cannot do. Every attempt runs inside one; none as root outside a user namespace."""

import base64
import os
import struct
import subprocess
import sys

import pytest

from missions.sandbox import escape_attempts, seccomp
from missions.sandbox.bwrap import BubblewrapSandbox
from missions.sandbox.probe import fake_secrets, is_reachable_outside, run_probe
from missions.terminals.launcher import NOBODY, is_root, start_supervisor
from tests.acceptance.site import ROOT
from tests.missions.commands import ended

ALLOW_ALL = struct.pack("=HBBI", seccomp.GIVE, 0, 0, seccomp.ALLOW)


@pytest.fixture
def tried(workshop):
    """What got through, of a sandbox whose request was changed so."""

    def changed(**otherwise):
        def run(program):
            request = BubblewrapSandbox(workshop.workspace, program).request()
            spool = workshop.spool("probe")
            spool.folder.mkdir()
            if is_root():
                os.chown(spool.folder, NOBODY, NOBODY)
            start_supervisor(
                spool.folder, request | {name: change(request[name]) for name, change in otherwise.items()}
            )
            ended(spool)
            return spool.said().data.decode()

        database = workshop.place.parent / "db.sqlite3"
        database.touch()
        with fake_secrets(database, ROOT) as told:
            assert is_reachable_outside(told)
            return run_probe(run, told)

    return changed


def test_nothing_that_a_hostile_program_would_try_gets_out(tried):
    found, number = tried(), len(escape_attempts.ATTEMPTS)
    assert (found.through, found.trouble, found.holds) == ((), "", True)
    assert str(found) == f"The sandbox kept in {number} of {number} attempts."


def test_without_the_filter_the_attempts_find_what_it_keeps(tried):
    found = tried(filter=lambda _: base64.b64encode(ALLOW_ALL).decode())
    assert not found.holds
    assert {"a socket for vsock", "words in the terminal's mouth", "tracing another process"} <= set(found.through)
    assert "got out of the sandbox: " in str(found)


def test_without_its_own_network_and_processes_the_attempts_find_the_engine(tried):
    found = tried(arguments=lambda said: [one for one in said if one not in ("--unshare-net", "--unshare-pid")])
    kept = {"the engine on loopback", "an abstract socket", "seeing the machine's processes"}
    assert kept <= set(found.through)


def test_a_sandbox_that_cannot_be_made_is_trouble_and_does_not_hold(tried):
    found = tried(arguments=lambda said: ["--no-such-option", *said])
    assert (found.holds, found.tried, found.through) == (False, 0, ())
    assert str(found).startswith("The sandbox could not be tried: ")


def test_the_attempts_refuse_to_run_outside_a_sandbox():
    tried = subprocess.run([sys.executable, "-I", "-S", escape_attempts.__file__, "{}"], capture_output=True, text=True)
    assert (tried.returncode, tried.stdout) == (64, "")
    assert "inside a sandbox alone" in tried.stderr


def test_nothing_of_the_machine_stands_where_a_command_can_read_it(workshop):
    code, screen = workshop.done("env; cat /proc/1/cmdline | tr '\\0' ' '; ls -l /proc/1/fd /proc/self/fd; mount")
    assert (code, str(workshop.place) in screen, "MAGI" in screen) == (0, False, False)
