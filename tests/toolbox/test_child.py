"""Whatever a program in a child process does, it has an end, and nobody else is the worse for it."""

import os
import threading
from dataclasses import replace

import pytest

from tests.waiting import wait_until
from toolbox import limited_process
from toolbox.limited_process import (
    MAX_PROCESSES,
    NoProcessSlot,
    ProcessFailed,
    ProcessLimits,
    ProcessOutOfMemory,
    ProcessTimedOut,
)

SHORT = ProcessLimits(seconds=1.0, memory=128 * 2**20, output=100_000)


@pytest.fixture
def program(tmp_path):
    def written(source):
        path = tmp_path / "program.py"
        path.write_text(f"import os, sys, time\n{source}\n")
        return path

    return written


def test_it_reads_what_it_is_given_and_says_what_came_of_it(program):
    upper = program("sys.stdout.buffer.write(sys.stdin.buffer.read().upper())")
    assert limited_process.run_limited(upper, b"abc\xff") == b"ABC\xff"


@pytest.mark.parametrize(
    ("source", "end"),
    [
        ("while True: pass", ProcessTimedOut),
        ("time.sleep(60)", ProcessTimedOut),
        ("sys.stdin.close(); time.sleep(60)", ProcessTimedOut),
        ("bytes(2**28)", ProcessOutOfMemory),
        ("held = [b'x' * 2**20 for _ in range(1000)]", ProcessOutOfMemory),
        ("print('x' * 200_000)", ProcessFailed),
        ("raise ValueError('no')", ProcessFailed),
        ("os.abort()", ProcessFailed),
        ("this is no program", ProcessFailed),
    ],
)
def test_what_runs_away_is_ended(program, source, end):
    # on a busy machine a second may pass before a program begins
    bounds = SHORT if end is ProcessTimedOut else replace(SHORT, seconds=30.0)
    with pytest.raises(end):
        limited_process.run_limited(program(source), b"x" * 100_000, bounds)


def test_a_child_whose_parent_is_gone_ends_by_itself(program):
    told = program("import resource; print(resource.getrlimit(resource.RLIMIT_CPU)[0])")
    assert limited_process.run_limited(told, b"", replace(SHORT, seconds=30.0)) == b"31\n"


def test_it_has_no_key_of_ours_and_leaves_no_file(program, monkeypatch, tmp_path):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    told = program("print(sorted(name for name in os.environ if not name.startswith('LC_')))")
    assert limited_process.run_limited(told, b"") == b"[]\n"
    assert os.listdir(tmp_path) == ["program.py"]


def test_no_more_are_at_work_at_once_than_may_be(program, tmp_path):
    marks = tmp_path / "marks"
    marks.mkdir()
    counted = program(
        f"open(f'{marks}/{{os.getpid()}}', 'w').close(); time.sleep(0.2)\n"
        f"print(len(os.listdir('{marks}')))\nos.remove(f'{marks}/{{os.getpid()}}')"
    )
    seen = []
    together = [
        threading.Thread(target=lambda: seen.append(int(limited_process.run_limited(counted, b"")))) for _ in range(6)
    ]
    for thread in together:
        thread.start()
    for thread in together:
        thread.join()
    assert len(seen) == 6
    assert max(seen) <= MAX_PROCESSES


def test_nobody_waits_for_a_place_without_an_end(program, tmp_path):
    marks, over = tmp_path / "marks", tmp_path / "over"
    marks.mkdir()
    at_work = program(
        f"open(f'{marks}/{{os.getpid()}}', 'w').close()\nwhile not os.path.exists('{over}'): time.sleep(0.02)"
    )
    others = [threading.Thread(target=limited_process.run_limited, args=(at_work, b"")) for _ in range(MAX_PROCESSES)]
    for thread in others:
        thread.start()
    wait_until(lambda: len(os.listdir(marks)) == MAX_PROCESSES, "that all places are taken")
    with pytest.raises(NoProcessSlot):
        limited_process.run_limited(at_work, b"", patience=0.1)
    over.touch()
    for thread in others:
        thread.join()
    assert limited_process.run_limited(at_work, b"") == b""
