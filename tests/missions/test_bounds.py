"""What all processes of a command take together has a bound, however they take it. Each attempt runs in a sandbox."""

import errno

import pytest

from missions.sandbox import bounds, control_groups
from missions.sandbox.bwrap import MIB
from missions.terminals import launcher, pty_supervisor
from missions.terminals.launcher import is_root
from tests.missions.commands import ended

SMALL = {"temporary": MIB, "home": MIB, "shared": MIB}
FILES = "for place in /workspace /tmp /dev/shm; do for i in $(seq 700); do : > $place/$i; done; done; sleep 30"
CLOSED = "mkdir closed && cd closed && chmod 300 . && for i in $(seq 700); do : > $i; done; sleep 30"
SHARES = """import os, time
held = bytearray(b'x' * (40 << 20))
for _ in range(8):
    if not os.fork():
        time.sleep(1)
        os._exit(0)
time.sleep(1)
"""
LOCKS = (
    "from multiprocessing import Lock, shared_memory as s; Lock(); s.SharedMemory(create=True, size=1 << 20).unlink()"
)
DEEP = f"import os, time\nfor _ in range(30):\n os.mkdir('{'d' * 200}'); os.chdir('{'d' * 200}')\ntime.sleep(30)"


@pytest.fixture(params=["group", "sum"])
def bounded_by(request, monkeypatch):
    """By the kernel where this user may make a control group, and by the keeper's own sum."""
    if request.param == "sum":
        monkeypatch.setattr(launcher.control_groups, "create_group", lambda memory: None)
    elif not control_groups.create_group(MIB):
        assert not is_root()  # whose groups these are
        monkeypatch.setattr(launcher.control_groups, "create_group", lambda memory: None)


@pytest.mark.usefixtures("bounded_by")
def test_memory_of_many_processes_ends_the_command(workshop):
    source = f"python3 -c '{bounds.MEMORY}'"
    assert ended(workshop.begin(source, all_memory=64 * MIB, **SMALL))["reason"] == "too_much_memory"
    assert workshop.done(source.replace("range(4)", "range(1)").replace("time.sleep", "int"), all_memory=64 * MIB) == (
        0,
        "",
    )


def test_shared_pages_of_many_processes_count_once(workshop):
    assert workshop.done(f'python3 -c "{SHARES}"', all_memory=128 * MIB) == (0, "")


def test_buffers_of_sockets_count_where_no_group_counts_them(workshop, monkeypatch):
    monkeypatch.setattr(launcher.control_groups, "create_group", lambda memory: None)
    pairs = "python3 -c 'import socket, time; held = [socket.socketpair() for _ in range({})]; time.sleep({})'"
    assert ended(workshop.begin(pairs.format(400, 30), all_memory=64 * MIB))["reason"] == "too_much_memory"
    assert workshop.done(pairs.format(50, 1), all_memory=64 * MIB) == (0, "")


@pytest.mark.parametrize("command", [FILES, CLOSED, f'python3 -c "{DEEP}"'])
def test_files_without_bytes_end_the_command(workshop, command):
    assert ended(workshop.begin(command, entries=600))["reason"] == "too_many_files"


def test_a_folder_that_becomes_a_link_to_itself_while_it_is_counted_ends_no_keeper(tmp_path):
    """As a program can have it that trades their names again and again."""
    (tmp_path / "link").symlink_to("link")
    assert pty_supervisor.taken_of(str(tmp_path / "link"), MIB, MIB, []) == (0, 0)


def test_what_is_left_too_deep_to_be_counted_raises_no_limit_of_the_next_command(tmp_path, monkeypatch):
    def too_deep(folder):
        raise OSError(errno.ENAMETOOLONG, "File name too long")

    monkeypatch.setattr(pty_supervisor.os, "scandir", too_deep)
    assert pty_supervisor.left_in(str(tmp_path))[pty_supervisor.MANY_FILES] == 0


def test_bytes_in_a_closed_folder_count(workshop):
    fills = "mkdir closed && cd closed && chmod 300 . && dd if=/dev/zero of=big bs=1M count=30; sleep 30"
    assert ended(workshop.begin(fills, disk=10 * MIB))["reason"] == "no_space"


def test_a_workspace_above_its_limit_can_be_tidied_up_and_not_filled_further(workshop):
    workshop.done("for i in $(seq 300); do : > $i; done")
    assert workshop.done("rm 1?? && sleep 1", entries=100) == (0, "")
    assert (
        ended(workshop.begin("for i in $(seq 300); do : > new$i; done; sleep 30", entries=100))["reason"]
        == "too_many_files"
    )


def test_a_program_in_the_sandbox_still_shares_memory_as_far_as_it_goes(workshop):
    assert workshop.done(f'python3 -c "{LOCKS}"') == (0, "")
