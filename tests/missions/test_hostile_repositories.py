"""A repository of a few bytes that would take all memory, and commits that say more than their messages."""

import asyncio
import json
import os
import pty
import socket
import struct
import subprocess
import sys
import threading
import tracemalloc
import zlib
from hashlib import sha1
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from engine.tools import ToolRefused, available_tools
from missions import publishing
from missions.publishing import NotPublished, branch_problem
from missions.repositories import commits, contents, git
from missions.repositories.checkout import ABOUT, _references, beginning
from missions.repositories.cloning import RepositoryRefused, from_address
from missions.repositories.contents import (
    LONG_TARGET,
    TreeEntry,
    entries,
    keep_blob,
    keep_commit,
    left_out,
    with_entries,
)
from missions.tools.publish import PublishCommitArguments, publish

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


@pytest.fixture
def own(place, monkeypatch):
    """A mission whose repository it is."""
    monkeypatch.setattr(publishing, "repository", lambda mission: place)
    return "it"


def test_many_links_to_one_great_blob_are_left_out_unread(place):
    blob = keep_blob(place, bytes(1_000_000))
    tree = with_entries(place, EMPTY, {b"l%d" % n: TreeEntry(b"120000", blob) for n in range(2_000)})
    assert set(left_out(place, entries(place, tree)).values()) == {LONG_TARGET}
    with pytest.raises(git.GitFailed, match="more than 100 bytes"):
        git.git(place, "ls-tree", tree, most=100)


@pytest.fixture
def emptied(place, own, settings, tmp_path):
    """A mission that has taken away the forty files with which it began; each has 300 kB of text."""
    blobs = {b"f%02d" % number: keep_blob(place, b"%02d" % number * 150_000) for number in range(40)}
    tree = with_entries(place, EMPTY, {path: TreeEntry(b"100644", name) for path, name in blobs.items()})
    start = keep_commit(place, f"tree {tree}\nauthor {WHO}\ncommitter {WHO}\n\nSaid\n".encode())
    (place / ABOUT).write_text(json.dumps({"commit": start, "start": start, "branch": "magi/1"}))
    settings.MISSIONS_DIR = tmp_path
    (tmp_path / own / "workspace").mkdir(parents=True)
    return own


def test_first_versions_of_many_changed_files_are_read_in_portions(emptied, monkeypatch):
    monkeypatch.setattr(contents, "PORTION_BYTES", 1_000_000)
    monkeypatch.setattr(publishing, "text_of", lambda data: "")
    publishing.first_blobs(publishing.repository(emptied))
    tracemalloc.start()
    found = publishing.changes(emptied, {}, ())
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert [one.change for one in found] == ["F", "D"] * 40
    assert len({one.digest for one in found}) == 41
    assert peak < 4_000_000


def test_changes_whose_texts_are_too_long_together_are_told_with_the_next_ones(emptied, monkeypatch):
    monkeypatch.setattr(publishing, "MAX_TEXT_BYTES", 3_000_000)
    paths, rounds = set(), 0
    while found := publishing.changes(emptied, {}, paths):
        assert sum(one.text_bytes for one in found) == 3_000_000
        paths, rounds = paths | {one.path for one in found}, rounds + 1
    assert (len(paths), rounds) == (40, 4)


def test_a_gate_shows_lines_of_a_commit_that_git_shows_nobody(place, both):
    tip = commit(place, "new", both[0], odd="hidden a secret\n")
    assert 'another line of it: "hidden a secret"' in commits.described(place, commits.read(place, tip))


def test_a_gate_shows_what_comes_of_another_branch_of_the_repository(place, both):
    base, other = both
    for tip in (other, commit(place, "new", other), commit(place, "new", other, base)):
        told = commits.described(place, commits.read(place, tip))
        assert "\n+lines of other\n" in told
        assert f'\ngoes along: {other}, 1970-01-01T00:00:01+00:00, author "a <a@b>", message "Said"\n' in told
    assert "All of it" not in commits.described(place, commits.read(place, commit(place, "new", base)))


def test_all_commits_that_a_branch_holds_are_named_and_who_decides_reads_which_lines_are_not_there(place, both, own):
    base, other = both
    third = commit(place, "third", other)
    tip = commit(place, "new", third, base)
    made = publishing._described(own, tip)
    assert made.merged == [f"{other} Said"]
    assert made.commits == [f"{third} Said", f"{tip} [merges {base[:12]}] Said"]
    assert "Not shown here: the lines of each of 1 commit of other branches of the repository." in made.difference
    asked = PublishCommitArguments(branch="it", message="It", to="there", **vars(made))
    assert available_tools("mission")["publish_commit"].cut_from(asked) == made.digest
    mail = publishing.mailed(own, tip).decode()
    assert [mail.count(one) for one in ("\nSubject: ", "lines of new", "lines of other", "lines of third")] == [1] * 4


def test_a_branch_whose_name_has_another_end_of_a_line_is_one_line(place, both):
    found = list(_references(place, beginning(place)))
    assert f"{both[1]} refs/remotes/origin/o\u2028dd\n" in found


def test_the_newest_is_what_was_made_last_whatever_the_crew_dates_it(place, both, own):
    for name, path in (("a", "first"), ("b", "last")):
        git.git(place, "update-ref", f"refs/magi/{name}", commit(place, path, both[0]))
    os.utime(place / "refs/magi/a", (1, 1))
    assert publishing.newest_made(own) == git.text(place, "rev-parse", "refs/magi/b")


def test_what_was_approved_for_one_place_goes_to_no_other(settings):
    settings.PUBLISH_TO = "https://example.org/other.git"
    about = {"branch": "it", "message": "It", "commit": "1" * 40, "files": 1, "left_out": 0}
    about |= {"difference": "", "digest": "", "to": "https://example.org/house.git"}
    with pytest.raises(ToolRefused, match="changed: branches go to"):
        asyncio.run(publish(PublishCommitArguments(**about), None))


@pytest.fixture
def there(place, both, settings):
    """Where branches go: it has the branch fix of the repository's first commit, and away of another."""
    there = place.with_name("there.git")
    git.make(there)
    git.git(place, "push", "-q", there, f"{both[0]}:refs/heads/fix", f"{both[1]}:refs/heads/away", outward=True)
    settings.PUBLISH_TO = str(there)
    return there


def test_who_decides_reads_what_the_push_will_do_and_nobody_is_asked_about_one_that_is_refused(there, place, both, own):
    tip = commit(place, "new", both[0])
    new = publishing.target(own, "1.1", "new", tip)
    assert (new.there, new.effect) == ("", "The branch is not there yet: it is made.")
    known = publishing.target(own, "1.2", "fix", tip)
    assert (known.there, known.effect.endswith("moves on from that: a fast-forward.")) == (both[0], True)
    refused = {("away", tip): "branch_exists: ", ("fix", both[0]): "nothing: ", ("fix/it", tip): "branch_exists: "}
    for number, ((branch, name), why) in enumerate(refused.items()):
        with pytest.raises(NotPublished, match=why):
            publishing.target(own, f"2.{number}", branch, name)
    shown = publishing._described(own, tip).difference
    publishing.publish(own, "fix", tip, shown, both[0])
    assert git.text(there, "rev-parse", "fix") == tip
    assert publishing.target(own, "1.2", "fix", commit(place, "more", tip)) == known


def test_a_branch_that_has_moved_since_it_was_decided_is_left_alone(there, place, both, own, monkeypatch):
    tip = commit(place, "new", both[0])
    shown = publishing._described(own, tip).difference
    with pytest.raises(NotPublished, match=f"changed: fix was not there when it was decided, and is {both[0]} by now"):
        publishing.publish(own, "fix", tip, shown)
    monkeypatch.setattr(publishing, "_there", lambda *about: "")  # it moves between the look and the push
    with pytest.raises(NotPublished, match="stale info"):
        publishing.publish(own, "fix", tip, shown)
    assert git.text(there, "rev-parse", "fix") == both[0]


def test_where_branches_go_that_wants_a_password_is_told_before_anybody_is_asked(
    both, own, asking, settings, monkeypatch
):
    monkeypatch.setattr(git, "OUTWARD", (*git.OUTWARD, "http"))
    settings.PUBLISH_TO = asking
    with pytest.raises(NotPublished, match=r"not_reached: .*could not read Username"):
        publishing.target(own, "1.1", "fix", both[1])


def test_no_branch_is_called_as_one_that_it_is_not():
    odd = ("m\u0430in", "HEAD", "a..b", "-x", "a/.b", "a.lock", "a\u202eb", "a\n", "a//b")
    assert [one for one in odd if not branch_problem(one)] == []
    assert not branch_problem("fix/it_2.0")


def swelling_pack():
    """A blob of 64 kB and, in a few kB, what copies it so often that it names one of 4 GB."""
    size = 2**32 - 1
    base, copies = bytes(0x10000), b"\xb0\xff\xff" * 0x10001
    delta = b"\x80\x80\x04" + bytes([*(size >> shift & 127 | 128 for shift in (0, 7, 14, 21)), size >> 28]) + copies
    first = b"\xb0\x80\x20" + zlib.compress(base)
    back = len(first)
    offset = [back & 127]
    while back := back >> 7:
        back -= 1
        offset.insert(0, 128 | back & 127)
    head, rest = len(delta) & 15, len(delta) >> 4
    second = bytes([0x60 | head | 128, rest & 127 | 128, rest >> 7 & 127 | 128, rest >> 14])
    pack = b"PACK" + struct.pack(">II", 2, 2) + first + second + bytes(offset) + zlib.compress(delta)
    return pack + sha1(pack, usedforsecurity=False).digest()


def test_a_pack_that_swells_to_4_gb_ends_by_a_limit_of_memory(place):
    pack = swelling_pack()
    assert len(pack) < 10_000
    with pytest.raises(git.GitFailed, match=r"it needs more than 2,048 MB of memory"):
        git.git(place, "index-pack", "--strict", "--stdin", given=pack)


class AsksForPassword(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(401)
        self.send_header("WWW-Authenticate", 'Basic realm="house"')
        self.end_headers()

    def log_message(self, *about):
        pass


@pytest.fixture
def asking():
    """Whoever asks each caller for a password."""
    with HTTPServer(("127.0.0.1", 0), AsksForPassword) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/house.git"
        server.shutdown()


@pytest.fixture
def silent():
    """Whoever takes each call and never speaks."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"127.0.0.1:{server.getsockname()[1]}/house.git"


TAKES_THE_TERMINAL = "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY)"
BY_OURS = f"""{TAKES_THE_TERMINAL}
from pathlib import Path
from missions.repositories import git
git.OUTWARD = (*git.OUTWARD, "http")
try:
    git.git(Path(sys.argv[1]), *sys.argv[2:], outward=True)
except git.GitFailed as failed:
    os.write(0, str(failed).encode())
"""
BY_PLAIN_GIT = f"{TAKES_THE_TERMINAL}; os.execv('/usr/bin/git', ['git', '--git-dir', *sys.argv[1:]])"


def on_a_terminal(program, *words):
    """What stands first on the terminal of a process that has one of its own."""
    terminal, own = pty.openpty()
    command = [sys.executable, "-c", program, *map(str, words)]
    with subprocess.Popen(command, stdin=own, stdout=own, stderr=own, start_new_session=True) as process:
        said = os.read(terminal, 1_000).decode()
        process.kill()
    os.close(own)
    os.close(terminal)
    return said


def test_who_wants_a_password_is_answered_by_no_terminal_that_is_there(place, both, asking):
    assert on_a_terminal(BY_PLAIN_GIT, place, "ls-remote", asking).startswith("Username for 'http")
    for words in (("ls-remote", asking), ("push", asking, f"{both[0]}:refs/heads/it"), ("fetch", asking)):
        assert "could not read Username" in on_a_terminal(BY_OURS, place, *words)


@pytest.fixture
def helpers(tmp_path, monkeypatch):
    """What the environment and the home of whoever runs MAGI name to be asked for passwords: each leaves a mark."""
    mark, home = tmp_path / "asked", tmp_path / "home"
    home.mkdir()
    helper = home / "helper"
    helper.write_text(f"#!/bin/sh\ntouch {mark}\necho password=secret\n")
    helper.chmod(0o755)
    (home / ".gitconfig").write_text(f"[credential]\nhelper = {helper}\n[core]\naskPass = {helper}\n")
    for name in ("GIT_ASKPASS", "SSH_ASKPASS", "GIT_SSH", "GIT_SSH_COMMAND"):
        monkeypatch.setenv(name, str(helper))
    for name, said in (
        ("HOME", home),
        ("DISPLAY", ":0"),
        ("SSH_ASKPASS_REQUIRE", "force"),
        ("GIT_TERMINAL_PROMPT", "1"),
    ):
        monkeypatch.setenv(name, str(said))
    return mark


def test_neither_a_clone_nor_a_push_asks_a_helper_for_a_password(both, own, asking, helpers, settings, monkeypatch):
    monkeypatch.setattr(git, "OUTWARD", (*git.OUTWARD, "http"))
    shown, why = publishing._described(own, commit(publishing.repository(own), "new", both[0])), "could not read"
    for address in (asking, asking.replace("//", "//somebody@")):
        settings.PUBLISH_TO = address
        with pytest.raises(NotPublished, match=why):
            publishing.publish(own, "fix", shown.commit, shown.difference)
        with pytest.raises(NotPublished, match=why):
            publishing._push(own, "fix", shown.commit, "")
        with pytest.raises(RepositoryRefused, match=why):
            from_address(address)
    assert not helpers.exists()
    subprocess.run(["git", "ls-remote", asking], capture_output=True, check=False)
    assert helpers.exists()  # as it would be asked otherwise


def test_ssh_is_begun_so_that_it_asks_for_no_password_and_for_no_unknown_host(place, helpers):
    words = ("-c", "alias.says=!echo $GIT_SSH_COMMAND", "says")
    command = git.text(place, *words, outward=True).split()
    facts = subprocess.run([*command, "-G", "example.org"], capture_output=True, text=True, check=True).stdout
    assert ("batchmode yes" in facts.splitlines(), helpers.exists()) == (True, False)


@pytest.mark.parametrize(
    ("address", "why"), [("ssh://{}", "timed out during banner exchange"), ("http://{}", "longer than 2 seconds")]
)
def test_who_never_speaks_is_not_waited_for(place, silent, monkeypatch, address, why):
    monkeypatch.setattr(git, "OUTWARD", (*git.OUTWARD, "http"))
    monkeypatch.setattr(git, "LONGEST", 2.0 if "http" in address else git.LONGEST)
    monkeypatch.setattr(git, "SSH", git.SSH.replace(f"={git.ANSWERS_WITHIN}", "=1"))
    with pytest.raises(git.GitFailed, match=why):
        git.git(place, "ls-remote", address.format(silent), outward=True)
