"""Of the tests that open the database, as few are repeated on PostgreSQL as send it every statement."""

import json
import subprocess
import sys

from tests import chosen

FILE = "tests/runs/test_a.py"
NOTES = {"one": (1, "ab"), "two": (9, "ab"), "three": (2, "abc"), "four": (1, "")}


def choice(folder):
    notes = [
        {"test": f"{FILE}::test_{name}", "seconds": seconds, "sent": [*sent]} for name, (seconds, sent) in NOTES.items()
    ]
    (folder / "1.jsonl").write_text("\n".join(map(json.dumps, notes)))
    return chosen.chosen_of(chosen.choose(folder))


def test_the_cheapest_are_chosen_that_send_all_of_it(tmp_path):
    assert choice(tmp_path) == {FILE: (4, {f"{FILE}::test_one", f"{FILE}::test_three"})}


def test_a_file_with_another_number_of_tests_than_it_had_is_played_whole(tmp_path):
    tests = [f"{FILE}::test_{name}" for name in NOTES]
    assert chosen.left_out(choice(tmp_path), FILE, tests) == {f"{FILE}::test_two", f"{FILE}::test_four"}
    assert chosen.left_out(choice(tmp_path), FILE, tests[1:]) == set()
    assert chosen.left_out(choice(tmp_path), "tests/runs/test_new.py", ["one"]) == set()


def test_the_tests_of_the_engine_are_all_played():
    assert chosen.left_out({"tests/engine/test_gates.py": (1, set())}, "tests/engine/test_gates.py", ["one"]) == set()


def test_statements_with_more_values_or_other_names_that_are_counted_up_are_alike():
    assert chosen.alike("SELECT a WHERE b IN (%s, %s) LIMIT 21") == chosen.alike("SELECT a WHERE b IN (%s) LIMIT 2")
    assert chosen.alike('SAVEPOINT "s1_x2"') == chosen.alike('SAVEPOINT "s12_x7"')
    assert chosen.alike("SELECT a") != chosen.alike("SELECT b")


def test_what_plays_them_is_no_test_and_starts_without_a_site():
    done = subprocess.run([sys.executable, "-m", "tests.on_postgresql", "--help"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
