"""Names that only a command gives to files: none of them breaks the look at what has changed."""

import os
import threading
from concurrent.futures import ThreadPoolExecutor

from missions import workspace_files
from missions.workspace_files import Workspace


def test_files_of_any_names_are_seen_once_and_then_known(tmp_path):
    names = [b"a ", b" b", b"c\n", b"d\\", b"\xff\xfe", b"..e", b"f:g"]
    for name in names:
        with open(os.path.join(os.fsencode(tmp_path), name), "wb") as file:
            file.write(b"one")
    place = Workspace(tmp_path)
    changes = place.changes({})
    assert [(one.change, one.text, one.path.encode().decode() == one.path) for one in changes] == [
        ("A", "one", True)
    ] * len(names)
    assert place.changes({one.path: one.digest for one in changes}) == []


def test_a_folder_that_goes_while_it_is_looked_at_is_left_out(tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text("one")
    found = Workspace(tmp_path).files()
    assert next(found).path == "a/file"
    (tmp_path / "b" / "file").unlink()
    (tmp_path / "b").rmdir()
    assert list(found) == []


def test_what_comes_and_goes_while_it_is_looked_at_breaks_nothing(tmp_path):
    over, place = threading.Event(), Workspace(tmp_path)

    def come_and_go() -> None:
        while not over.is_set():
            for number in range(50):
                (tmp_path / f"f{number}").write_text("one")
            for number in range(50):
                (tmp_path / f"f{number}").unlink()

    with ThreadPoolExecutor(1) as others:
        others.submit(come_and_go)
        try:
            for _ in range(200):
                place.changes({})
        finally:
            over.set()


def test_what_is_not_looked_at_has_not_gone(tmp_path):
    (tmp_path / "node_modules").mkdir()
    (tmp_path / "node_modules" / "kept.js").write_text("one")
    (tmp_path / "folder").mkdir()
    found = Workspace(tmp_path).changes({"node_modules/kept.js": "d", "folder": "d", "gone": "d"})
    assert [(one.path, one.change) for one in found] == [("folder", "D"), ("gone", "D")]


def test_changed_files_that_are_too_much_at_once_are_told_by_the_next_call(tmp_path, monkeypatch):
    monkeypatch.setattr(workspace_files, "MAX_TEXT_BYTES", 5)
    for name in "abcde":
        (tmp_path / name).write_text("one")
    place, known, told = Workspace(tmp_path), {}, []
    while found := place.changes(known):
        told.append("".join(one.path for one in found))
        known |= {one.path: one.digest for one in found}
    assert told == ["ab", "cd", "e"]
