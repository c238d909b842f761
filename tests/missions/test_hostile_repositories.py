"""A repository of a few bytes that would take all memory, and commits that say more than their messages."""

import asyncio
import json
import os

import pytest

from engine.tools import Refused
from missions import publishing
from missions.publishing import branch_complaint
from missions.repositories import commits, git
from missions.repositories.checkout import ABOUT, _references, beginning
from missions.repositories.contents import (
    LONG_TARGET,
    TreeEntry,
    entries,
    keep_blob,
    keep_commit,
    left_out,
    with_entries,
)
from missions.tools.publish import PublishCommit, publish

EMPTY = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
WHO = "a <a@b> 1 +0000"


@pytest.fixture
def place(tmp_path):
    git.make(tmp_path / "house.git")
    return tmp_path / "house.git"


def commit(place, path, *parents, odd=""):
    below = f"{parents[0]}^{{tree}}" if parents else git.git(place, "mktree", given=b"").decode().strip()
    blob = keep_blob(place, b"lines of %s\n" % path.encode())
    tree = with_entries(place, below, {path.encode(): TreeEntry(b"100644", blob)})
    told = "".join(f"parent {one}\n" for one in parents)
    return keep_commit(place, f"tree {tree}\n{told}author {WHO}\ncommitter {WHO}\n{odd}\nSaid\n".encode())


@pytest.fixture
def both(place):
    """The commit with which a mission begins, and that of another branch, whose name is odd."""
    base = commit(place, "plain")
    other = commit(place, "other", base)
    git.git(place, "update-ref", "refs/origin/heads/main", base)
    git.git(place, "update-ref", "refs/origin/heads/o\u2028dd", other)
    (place / ABOUT).write_text(json.dumps({"commit": base, "start": base, "branch": "magi/1"}))
    return base, other


def test_many_links_to_one_great_blob_are_left_out_unread(place):
    blob = keep_blob(place, bytes(1_000_000))
    tree = with_entries(place, EMPTY, {b"l%d" % n: TreeEntry(b"120000", blob) for n in range(2_000)})
    assert set(left_out(place, entries(place, tree)).values()) == {LONG_TARGET}
    with pytest.raises(git.GitFailed, match="more than 100 bytes"):
        git.git(place, "ls-tree", tree, most=100)


def test_a_gate_shows_lines_of_a_commit_that_git_shows_nobody(place, both):
    tip = commit(place, "new", both[0], odd="hidden a secret\n")
    assert 'another line of it: "hidden a secret"' in commits.described(place, commits.read(place, tip))


def test_a_gate_shows_what_comes_of_another_branch_of_the_repository(place, both):
    base, other = both
    for tip in (other, commit(place, "new", other), commit(place, "new", other, base)):
        assert "\n+lines of other\n" in commits.described(place, commits.read(place, tip))
    assert "All of it" not in commits.described(place, commits.read(place, commit(place, "new", base)))


def test_a_branch_whose_name_has_another_end_of_a_line_is_one_line(place, both):
    found = list(_references(place, beginning(place)))
    assert f"{both[1]} refs/remotes/origin/o\u2028dd\n" in found


def test_the_newest_is_what_was_made_last_whatever_the_crew_dates_it(place, both, monkeypatch):
    monkeypatch.setattr(publishing, "repository", lambda mission: place)
    for name, path in (("a", "first"), ("b", "last")):
        git.git(place, "update-ref", f"refs/magi/{name}", commit(place, path, both[0]))
    os.utime(place / "refs/magi/a", (1, 1))
    assert publishing.newest_made("it") == git.text(place, "rev-parse", "refs/magi/b")


def test_what_was_approved_for_one_place_goes_to_no_other(settings):
    settings.PUBLISH_TO = "https://example.org/other.git"
    about = {"branch": "it", "message": "It", "commit": "1" * 40, "files": 1, "left_out": 0}
    about |= {"difference": "", "digest": "", "to": "https://example.org/house.git"}
    with pytest.raises(Refused, match="changed: branches go to"):
        asyncio.run(publish(PublishCommit(**about), None))


def test_no_branch_is_called_as_one_that_it_is_not():
    odd = ("m\u0430in", "HEAD", "a..b", "-x", "a/.b", "a.lock", "a\u202eb", "a\n", "a//b")
    assert [one for one in odd if not branch_complaint(one)] == []
    assert not branch_complaint("fix/it_2.0")
