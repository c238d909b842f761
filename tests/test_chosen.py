"""Of the tests that open the database, as few are repeated on PostgreSQL as send it every statement."""

import json
import subprocess
import sys

from tests import chosen

FUNCTION = "tests/runs/test_a.py::test_a"
NOTES = {"one": (1, "ab"), "two": (9, "ab"), "three": (2, "abc"), "four": (1, "")}
TESTS = [f"{FUNCTION}[{name}]" for name in NOTES]


def choice(folder):
    notes = [
        {"test": f"{FUNCTION}[{name}]", "seconds": seconds, "sent": [*sent]} for name, (seconds, sent) in NOTES.items()
    ]
    (folder / "1.jsonl").write_text("\n".join(map(json.dumps, notes)))
    return chosen.chosen_of(chosen.choose(folder))


def test_the_cheapest_are_chosen_that_send_all_of_it(tmp_path):
    assert choice(tmp_path) == {FUNCTION: (4, {f"{FUNCTION}[one]", f"{FUNCTION}[three]"})}


def test_a_function_that_makes_other_tests_than_it_did_is_played_whole(tmp_path):
    assert chosen.left_out(choice(tmp_path), FUNCTION, TESTS) == {f"{FUNCTION}[two]", f"{FUNCTION}[four]"}
    assert chosen.left_out(choice(tmp_path), FUNCTION, TESTS[1:]) == set()
    assert chosen.left_out(choice(tmp_path), FUNCTION, [f"{FUNCTION}[five]", *TESTS[1:]]) == set()
    assert chosen.left_out(choice(tmp_path), "tests/runs/test_a.py::test_new", ["one"]) == set()


def test_the_tests_of_the_engine_are_all_played():
    function = "tests/engine/test_gates.py::test_one"
    assert chosen.left_out({function: (1, set())}, function, [function]) == set()


def test_statements_with_more_values_or_other_names_that_are_counted_up_are_alike():
    assert chosen.alike("SELECT a WHERE b IN (%s, %s) LIMIT 21") == chosen.alike("SELECT a WHERE b IN (%s) LIMIT 2")
    assert chosen.alike('SAVEPOINT "s1_x2"') == chosen.alike('SAVEPOINT "s12_x7"')
    assert chosen.alike("SELECT a") != chosen.alike("SELECT b")


def test_what_plays_them_is_no_test_and_starts_without_a_site():
    done = subprocess.run([sys.executable, "-m", "tests.on_postgresql", "--help"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
