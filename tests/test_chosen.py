"""Of the tests that open the database, as few are repeated on PostgreSQL as send it every statement."""

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

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


def test_of_a_file_whose_tests_send_nothing_new_the_cheapest_is_chosen(tmp_path):
    sent = [("a", 2, "x"), ("b", 2, ""), ("b", 1, "")]
    notes = [
        {"test": f"tests/runs/test_{file}.py::test_{seconds}", "seconds": seconds, "sent": [*new]}
        for file, seconds, new in sent
    ]
    (tmp_path / "1.jsonl").write_text("\n".join(map(json.dumps, notes)))
    assert chosen.chosen_of(chosen.choose(tmp_path))["tests/runs/test_b.py::test_1"][1]
    assert not chosen.chosen_of(chosen.choose(tmp_path))["tests/runs/test_b.py::test_2"][1]


def test_what_does_several_things_at_once_is_known_by_its_words():
    assert chosen.at_once(lambda: ThreadPoolExecutor(2))
    assert not chosen.at_once(lambda: json.dumps(""))


def test_the_tests_of_the_engine_are_all_played():
    function = "tests/engine/test_gates.py::test_one"
    assert chosen.left_out({function: (1, set())}, function, [function]) == set()


def new(other, than):
    return chosen.new_in(other) - chosen.new_in(than)


def test_more_values_and_other_names_that_are_counted_up_are_nothing_new():
    assert not new("SELECT a WHERE b IN (%s, %s) LIMIT 21", than="SELECT a WHERE b IN (%s) LIMIT 2")
    assert not new('SAVEPOINT "s1_x2"', than='SAVEPOINT "s12_x7"')
    assert new("SELECT a", than="SELECT b")


OF_TWO = 'SELECT "a"."x", "a"."y" FROM "a" WHERE ("a"."x" IN (%s) AND "a"."y" = %s)'


@pytest.mark.parametrize(
    "other", ['SELECT "a"."y" FROM "a" WHERE "a"."y" = %s', 'SELECT "a"."x" AS "z" FROM "a" WHERE "a"."x" IN (%s, %s)']
)
def test_of_a_plain_statement_fewer_columns_and_conditions_are_nothing_new(other):
    assert not new(other, than=OF_TWO)


@pytest.mark.parametrize(
    "other",
    [
        'SELECT "a"."z" FROM "a" WHERE "a"."y" = %s',
        'SELECT "b"."x" FROM "b" WHERE "b"."x" = %s',
        'SELECT "a"."x" FROM "a" WHERE "a"."x" = %s',
        'SELECT "a"."x" FROM "a" WHERE "a"."x" = ("a"."y")',
        'SELECT "a"."x" FROM "a" WHERE "a"."y" = %s OR "a"."x" IN (%s)',
        'SELECT "a"."x" FROM "a" WHERE "a"."y" = %s ORDER BY "a"."x" ASC',
        'SELECT "a"."x" FROM "a" WHERE "a"."y" = %s FOR UPDATE',
        'SELECT LEFT("a"."x", %s) FROM "a" WHERE "a"."y" = %s',
        'SELECT DISTINCT "a"."x" FROM "a" WHERE "a"."y" = %s',
        'SELECT "a"."x"::text FROM "a" WHERE "a"."y" = %s',
        'UPDATE "a" SET "x" = %s WHERE "a"."y" = %s',
        'IntegrityError SELECT "a"."x" FROM "a" WHERE "a"."y" = %s',
    ],
)
def test_another_column_comparison_form_order_word_or_end_is_new(other):
    assert new(other, than=OF_TWO)


def test_what_is_not_plain_is_another_with_another_name():
    assert new('SELECT max("a"."x") FROM "a"', than='SELECT max("a"."y") FROM "a"')


def test_what_plays_them_is_no_test_and_starts_without_a_site():
    done = subprocess.run([sys.executable, "-m", "tests.on_postgresql", "--help"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
