"""Commands in living terminals: begun once, kept whole, spoken to, ended."""

import hashlib
import os
import signal

import pytest

from missions.terminals.drawn import text_of_command
from missions.terminals.launcher import LaunchRefused
from missions.terminals.output_spool import SpoolState
from missions.terminals.pty_supervisor import HEAD, RING
from missions.terminals.wait_detection import NOT_WAITING, CommandWait, InputWait, WaitKind, wait_of
from tests.missions.commands import becomes, ended, keeper_of, standing, until


def test_a_command_runs_in_the_workspace_and_its_code_and_output_are_kept(workshop):
    spool = workshop.begin("pwd; echo made > file; exit 7")
    end = ended(spool)
    assert (end["code"], end["reason"], text_of_command(spool)) == (7, "", "/workspace\n")
    assert (workshop.workspace / "file").read_text() == "made\n"
    assert end["digest"] == hashlib.sha256(spool.said().data).hexdigest()


def test_whoever_asks_twice_begins_it_once(workshop):
    for _ in range(5):
        workshop.begin("echo once >> file; sleep 0.3", call="c1")
    ended(workshop.begin("echo once >> file", call="c1"))
    assert workshop.done("true") == (0, "")  # what had begun a second time would be done by now
    assert (workshop.workspace / "file").read_text() == "once\n"


def test_what_was_refused_first_never_begins(workshop):
    spool = workshop.begin("true")
    ended(spool)
    assert not spool.refuse()
    late = type(spool)(spool.folder.parent / "late")
    assert late.refuse()
    workshop.begin("echo never > file", call="late")
    assert workshop.done("true") == (0, "")  # nor has it begun by the end of the next one
    assert (late.state, (workshop.workspace / "file").exists()) == (SpoolState.REFUSED, False)


def test_a_keeper_that_is_killed_takes_all_of_its_command_with_it_and_it_is_cut(workshop):
    spool = workshop.begin("setsid sleep 98765 & echo begun; sleep 98765")
    until(lambda: b"begun" in spool.said().data)
    os.kill(keeper_of(spool), signal.SIGKILL)
    until(lambda: spool.state == SpoolState.CUT)
    until(lambda: not living("98765"))
    assert b"begun" in spool.said().data


def test_each_input_is_typed_once_by_its_number(workshop):
    spool = workshop.begin("read -p 'Name? ' name; read -p 'Age? ' age; echo $name is $age")
    becomes(spool, InputWait.ASKS)
    assert not spool.type(2, b"too early\n")
    assert [spool.type(1, b"Ada\n"), spool.type(1, b"Ada\n"), spool.type(2, b"36\n")] == [True, True, True]
    assert (ended(spool)["inputs"], text_of_command(spool).count("Ada is 36\n")) == (2, 1)


@pytest.mark.parametrize(
    ("command", "state"),
    [
        ("sleep 60", InputWait.RUNNING),
        ("while :; do :; done", InputWait.RUNNING),
        ("cat", InputWait.ASKS),
        ("read -p 'Name? '", InputWait.ASKS),
        ("python3 -q", InputWait.ASKS),
        ("read -s -p 'Word? '", InputWait.PASSWORD),
        ("python3 -c 'import getpass; getpass.getpass()'", InputWait.PASSWORD),
        ("printf '\\033[?1049hmenu'; read -rsn1", InputWait.FULL_SCREEN),
    ],
)
def test_what_it_waits_for_is_known_from_the_kernel(workshop, command, state):
    spool = workshop.begin(f"echo begun; {command}")
    until(lambda: b"begun" in spool.said().data)
    becomes(spool, state)
    assert {standing(spool) for _ in range(5)} == {state}
    spool.stop("ended")


@pytest.mark.parametrize(
    ("command", "wait"),
    [
        ("sleep 60", CommandWait(WaitKind.TIME)),
        ("python3 -c 'import time; time.sleep(60)'", CommandWait(WaitKind.TIME)),
        ("read -p 'Name? '", CommandWait(WaitKind.INPUT)),
        ("python3 -c 'while True: pass'; :", CommandWait(WaitKind.CHILD, ("python3",))),
        ("timeout 60 cat /dev/zero > /dev/null; :", CommandWait(WaitKind.CHILD, ("timeout",))),
        ("while :; do :; done", NOT_WAITING),
        ("python3 -c 'import threading, time; threading.Thread(target=time.sleep, args=[60]).start()'", NOT_WAITING),
    ],
)
def test_input_time_and_children_that_it_waits_for_are_told_apart(workshop, command, wait):
    spool = workshop.begin(f"echo begun; {command}")
    until(lambda: b"begun" in spool.said().data)
    until(lambda: wait_of(spool.status(), standing(spool)) == wait)
    spool.stop("ended")


def test_of_a_keeper_that_says_nothing_of_processes_no_wait_is_known():
    status = {"echo": True, "lines": True, "calls": [["", ""]]}
    assert wait_of(status, InputWait.RUNNING) == NOT_WAITING


def test_words_on_the_screen_do_not_say_that_it_asks(workshop):
    spool = workshop.begin("printf 'Password: '; sleep 60")
    until(lambda: b"Password" in spool.said().data)
    becomes(spool, InputWait.RUNNING)
    spool.stop("ended")


def test_of_a_flood_the_beginning_and_the_end_are_kept(workshop):
    spool = workshop.begin("seq 1 400000")
    end = ended(spool)
    first, last = spool.said(0, 20), spool.said(-20)
    assert (end["code"], end["total"]) == (0, sum(len(str(number)) + 2 for number in range(1, 400_001)))
    assert (first.data[:9], last.data[-8:]) == (b"1\r\n2\r\n3\r\n", b"400000\r\n")
    middle = spool.said(HEAD)
    assert (middle.lost > 0, middle.data[-8:]) == (True, b"400000\r\n")
    assert len(middle.data) > RING * 0.9


@pytest.mark.parametrize(
    ("command", "limits", "reason"),
    [
        ("sleep 60", {"seconds": 1}, "timeout"),
        ("yes", {"output": 2_000_000}, "too_much_output"),
        ("dd if=/dev/zero of=big bs=1M count=200; sleep 60", {"disk": 50_000_000}, "no_space"),
    ],
)
def test_a_limit_ends_it_and_says_which(workshop, command, limits, reason):
    end = ended(workshop.begin(command, **limits))
    assert (end["reason"], end["code"] != 0) == (reason, True)


def test_it_is_interrupted_first_told_harder_then_and_killed_at_last(workshop):
    said = "trap 'echo int' INT; trap 'echo term' TERM; echo begun; while :; do sleep 0.1; done"
    spool = workshop.begin(said)
    until(lambda: b"begun" in spool.said().data)
    spool.stop("cancelled")
    end = ended(spool)
    assert [line for line in text_of_command(spool).split() if line in ("int", "term")] == ["int", "term"]
    assert (end["reason"], end["code"]) == ("cancelled", -9)


def test_a_program_may_tidy_up_when_it_is_interrupted(workshop):
    spool = workshop.begin("trap 'echo tidied > file; exit 5' INT; echo begun; while :; do sleep 0.1; done")
    until(lambda: b"begun" in spool.said().data)
    spool.stop("cancelled")
    assert (ended(spool)["code"], (workshop.workspace / "file").read_text()) == (5, "tidied\n")


def test_a_fork_bomb_is_held_and_the_next_command_runs(workshop):
    workshop.done("for i in $(seq 400); do sleep 5 & done 2>/dev/null; true", processes=64, seconds=3)
    assert workshop.done("echo still here") == (0, "still here\n")


def test_what_is_no_name_begins_nothing(workshop):
    for name in ("", "..", "a/b", "a b", "ä", ".hidden"):
        with pytest.raises(LaunchRefused):
            workshop.launcher.begin(name, "c1", ("true",), ".", None)


def living(word: str) -> bool:
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline") as file:
                if word in file.read().split("\0"):
                    return True
        except OSError:
            continue
    return False
