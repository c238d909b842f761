"""Which tests are repeated on PostgreSQL: those that send it something which no other of them sends.

Five of six tests that open the database send nothing but what others have sent. Of a plain statement, as Django writes
it for any database, that is its form and each column that it names; any other is another one with every word. With
`--choose` all are played there, what each sends is noted, and the choice is written into `on_postgresql.txt`: by
function, how many tests it makes that open the database, and which are chosen. A function that has come since, or makes
others than it did, is played whole, and so is what begins as in `WHOLE`: there the order of statements matters, or
their time.

Why so: docs/decisions.md, The tests.
"""

import json
import os
import re
from collections import defaultdict
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path

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


PLAIN = frozenset(
    "select distinct from inner left outer join on where and or not in is null like order by asc desc limit offset n "
    "insert into values default returning update set delete exists true false q s".split()
)
NAME = re.compile(r'"\w+"(?:\."\w+")?|\b[A-Z]\d+\."\w+"')
CONDITION = r"\(?q (?:=|<>|<=|>=|<|>|IN) \(?%s\)?\)?"
FORMS = (
    (re.compile(r"q = %s(?:, q = %s)+"), "q = %s"),
    (re.compile(rf"{CONDITION}(?: AND {CONDITION})*"), "condition"),
    (re.compile(r"q(?:, q)+"), "q"),
)


def new_in(sql: str) -> set[str]:
    """What a statement has that others may lack, each as a digest."""
    for pattern, instead in ALIKE:
        sql = pattern.sub(instead, sql)
    return {sha256(part.encode()).hexdigest()[:12] for part in _parts(sql)}


def _parts(sql: str) -> Iterable[str]:
    unnamed = re.sub(r' AS "\w+"', "", sql)
    form = NAME.sub("q", unnamed)
    if set(re.findall(r"[a-z_]+", form.lower())) - PLAIN or not re.fullmatch(r"[\w\s,.=%()<>*]*", form):
        return [sql]
    named = NAME.findall(unnamed)
    for pattern, instead in FORMS:
        form = pattern.sub(instead, form)
    of = f"{sql.partition(' ')[0]} {named[0].partition('.')[0] if named else ''}"
    return [form, *(f"{of} {name}" for name in named)]


def choose(folder: Path) -> str:
    """The text of the choice, from the notes in the folder: of tests that send something new, the cheapest for it."""
    notes = [json.loads(line) for file in folder.glob("*.jsonl") for line in file.read_text().splitlines()]
    left = {note["test"]: (set(note["sent"]), note["seconds"] + 0.02) for note in notes}
    chosen = {test for test in left if test.startswith(WHOLE)}
    there = set().union(*(left[test][0] for test in chosen))
    while True:
        worth = {test: len(sent - there) / seconds for test, (sent, seconds) in left.items() if sent - there}
        if not worth:
            return _told(left, chosen)
        best = max(sorted(worth), key=worth.__getitem__)
        chosen.add(best)
        there |= left[best][0]


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


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if CHOSEN not in os.environ:
        return
    functions, found = chosen_of(CHOICE.read_text()), defaultdict(list)
    for item in items:
        if item.get_closest_marker("database"):
            found[function_of(item.nodeid)].append(item.nodeid)
    out = set().union(*(left_out(functions, function, tests) for function, tests in found.items()))
    config.hook.pytest_deselected(items=[item for item in items if item.nodeid in out])
    items[:] = [item for item in items if item.nodeid not in out]
