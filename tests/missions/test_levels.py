"""What Landlock holds without namespaces, here and now: it is told, with what comes through, and holds no command."""

from pathlib import Path

import pytest

from missions.sandbox import alternatives, landlock, seccomp
from missions.sandbox.probe import fake_secrets
from tests.conftest import need

# it knows no processes, no mounts and no names of files, and a socket in a folder is none of its matters
NOT_ITS_OWN = {
    *("a route outward", "a network card", "a socket in a folder", "the container engine's socket"),
    *("reading the database", "reading the checkout", "reading the outside", "the disk", "capabilities"),
    *("the secret in anybody's command line", "seeing the machine's processes", "600 MB in /tmp", "100 MB in /dev/shm"),
}


def test_all_but_what_is_not_its_own_is_kept_in(tmp_path):
    why = landlock.landlock_problem() or ("" if seccomp.available() else "another processor")
    need("Landlock", not why, why)
    with fake_secrets(tmp_path / "none.sqlite3", Path(__file__)) as told:
        found = alternatives.probe_alternatives(told)
    assert (found.trouble, set(found.through) - NOT_ITS_OWN) == ("", set())


@pytest.mark.parametrize(("version", "offered"), [(-1, False), (5, False), (6, True)])
def test_it_is_offered_where_the_kernel_has_enough_of_it(monkeypatch, version, offered):
    monkeypatch.setattr(landlock.LIBC, "syscall", lambda *_: version, raising=False)
    assert (landlock.landlock_problem() == "") is offered
    if not offered:
        assert alternatives.landlock_report({}).startswith("Landlock: not offered here. This kernel has ")


def test_of_sockets_only_those_of_unix_pass_its_filter():
    assert len(seccomp.filter_bytes(seccomp.UNIX)) < len(seccomp.filter_bytes())
