"""Which tests are repeated on PostgreSQL: those that send it something which no other of them sends.

Most tests that open the database send nothing but what others have sent. With `--choose` all are played there, what
each sends is noted, and the choice is written into `on_postgresql.txt`: by function, how many tests it makes that open
the database, and which are chosen, of each file one at least. A function that has come since, or makes others than it
did, is played whole. So is what begins as in `WHOLE` and what does several things at once: there the order of
statements matters, or their time.

Why so: docs/decisions.md, The tests.
"""

import json
import os
import re
from collections import defaultdict
from collections.abc import Callable, Iterable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

CHOICE = Path(__file__).with_name("on_postgresql.txt")
WHOLE = ("tests/engine/test_",)  # claims, leases, writer, parks, gates, seals, guards
NOTES = "MAGI_TEST_NOTES"  # the folder in which it is noted what each test sends (tests/sent.py)
CHOSEN = "MAGI_TEST_CHOSEN"  # whether the choice alone is played
# what differs from one time to the next: how many values there are, names that are counted up
ALIKE = (
    (re.compile(r"\((%s|DEFAULT|\?)(, (%s|DEFAULT|\?))*\)"), "(%s)"),
    (re.compile(r"(\(%s\))(, \(%s\))+"), "(%s)"),
    (re.compile(r"\b(LIMIT|OFFSET) \d+"), r"\1 n"),
    (re.compile(r'"?\b(s\d+_x\d+|_django_curs_\w+|made_\d+)\b"?'), "name"),
)


# words of what any database takes as Django writes it, and answers alike; q is a name, s a value, n a number
PLAIN = frozenset(
    "select from inner left outer join on where and or not in is null order by asc desc limit offset n "
    "insert into values returning update set delete true false q s".split()
)
NAME = r'"\w+"(?:\."\w+")?'
COMPARED = rf"(?:=|<>|<=|>=|<|>|IN) \(?(?:%s|{NAME})"
SIGNS = re.compile(r"(?:[\w\s,.=()<>]|%s|\*(?= FROM))*")
CALL = re.compile(r"\w\(")  # Django has a blank before each other bracket
CONDITION = r"\(?c\)?"
FORMS = (
    (re.compile(r"q = %s(?:, q = %s)+"), "q = %s"),
    (re.compile(r"q (?:=|<>|<=|>=|<|>|IN) (?:%s|\(%s\))"), "c"),
    (re.compile(rf"{CONDITION}(?: AND {CONDITION})+"), "c"),
    (re.compile(r"q(?:, q)+"), "q"),
)


def new_in(sql: str) -> set[str]:
    """What a statement has that others may lack, each as a digest."""
    for pattern, instead in ALIKE:
        sql = pattern.sub(instead, sql)
    return {sha256(part.encode()).hexdigest()[:12] for part in _parts(sql)}


def _parts(sql: str) -> Iterable[str]:
    """Of a plain one its form, each column, each comparison and the order; any other whole."""
    sql = re.sub(r' AS "\w+"', "", sql)
    form = re.sub(NAME, "q", sql)
    if set(re.findall(r"[a-z_]+", form.lower())) - PLAIN or CALL.search(form) or not SIGNS.fullmatch(form):
        return [sql]
    names = re.findall(NAME, sql)
    for pattern, instead in FORMS:
        form = pattern.sub(instead, form)
    parts = [*names, *re.findall(rf"{NAME} {COMPARED}", sql), *re.findall(" ORDER BY .*?(?= LIMIT|$)", sql)]
    of = f"{sql.partition(' ')[0]} {names[0].partition('.')[0] if names else ''}"
    return [form, *(f"{of} {part}" for part in parts)]


def choose(folder: Path) -> str:
    """The text of the choice, from the notes in the folder: of tests that send something new, the cheapest for it."""
    notes = [json.loads(line) for file in folder.glob("*.jsonl") for line in file.read_text().splitlines()]
    left = {note["test"]: (set(note["sent"]), note["seconds"] + 0.02) for note in notes}
    chosen = {test for test in left if test.startswith(WHOLE)}
    there = set().union(*(left[test][0] for test in chosen))
    while worth := {test: len(sent - there) / seconds for test, (sent, seconds) in left.items() if sent - there}:
        best = max(sorted(worth), key=worth.__getitem__)
        chosen.add(best)
        there |= left[best][0]
    without = {file_of(test) for test in left} - {file_of(test) for test in chosen}
    for file in without:
        chosen.add(min(sorted(test for test in left if file_of(test) == file), key=lambda test: left[test][1]))
    return _told(left, chosen)


def _told(tests: Iterable[str], chosen: set[str]) -> str:
    functions: dict[str, list[str]] = defaultdict(list)
    for test in tests:
        functions[function_of(test)].append(test)
    lines, last = [], ""
    for function, there in sorted(functions.items()):
        if function.startswith(WHOLE):
            continue
        file, _, name = function.partition("::")
        lines += [file] if file != last else []
        lines.append(f"  {name} {len(there)}")
        lines += [f"    {test.partition('::')[2]}" for test in sorted(chosen & {*there})]
        last = file
    return "\n".join(lines) + "\n"


def function_of(test: str) -> str:
    return test.partition("[")[0]


def file_of(test: str) -> str:
    return test.partition("::")[0]


def chosen_of(text: str) -> dict[str, tuple[int, set[str]]]:
    """By function, how many tests it made, and which of them are played."""
    functions: dict[str, tuple[int, set[str]]] = {}
    file = function = ""
    for line in text.splitlines():
        if line.startswith("    "):
            functions[function][1].add(f"{file}::{line.strip()}")
        elif line.startswith("  "):
            name, _, number = line.strip().rpartition(" ")
            function = f"{file}::{name}"
            functions[function] = int(number), set()
        else:
            file = line
    return functions


def left_out(functions: dict[str, tuple[int, set[str]]], function: str, tests: list[str]) -> set[str]:
    number, chosen = functions.get(function, (-1, set()))
    others = number != len(tests) or not chosen <= {*tests}  # than when they were chosen
    return set() if function.startswith(WHOLE) or others else {*tests} - chosen


AT_ONCE = {"at_once", "threading", "Thread", "ThreadPoolExecutor", "gather"}


def at_once(test: Callable[..., Any]) -> bool:
    """Whether it does several things at the same moment: what comes of that, no statement says."""
    return bool(AT_ONCE & {*test.__code__.co_names})


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if CHOSEN not in os.environ:
        return
    functions, found = chosen_of(CHOICE.read_text()), defaultdict(list)
    for item in items:
        if item.get_closest_marker("database"):
            found[function_of(item.nodeid)].append(item.nodeid)
    out = set().union(*(left_out(functions, function, tests) for function, tests in found.items()))
    out -= {item.nodeid for item in items if isinstance(item, pytest.Function) and at_once(item.function)}
    config.hook.pytest_deselected(items=[item for item in items if item.nodeid in out])
    items[:] = [item for item in items if item.nodeid not in out]
