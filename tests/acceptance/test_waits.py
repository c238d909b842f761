"""A worker is killed around a wait: the next one goes on from the rows, and nobody is asked twice."""

import json
import shutil
import sqlite3
from contextlib import closing

import pytest

from engine import fault_injection
from tests.acceptance.site import EngineProcess, environment, manage
from tests.conftest import some_of
from tests.waiting import wait_until

QUESTION = "A xylophone is an instrument."  # without a question mark it is doubted


@pytest.fixture(scope="module")
def empty(tmp_path_factory):
    """The database with the procedure of the tests, and somebody who may decide."""
    folder = tmp_path_factory.mktemp("empty")
    env = environment(folder, empty=True, DJANGO_SETTINGS_MODULE="tests.settings")
    manage("migrate", env=env)
    manage("createsuperuser", "--noinput", "--username", "root", "--email", "", env=env)
    return folder / "magi.sqlite3"


@pytest.fixture
def env(empty, tmp_path):
    shutil.copy(empty, tmp_path / "magi.sqlite3")
    return environment(tmp_path, DJANGO_SETTINGS_MODULE="tests.settings", MAGI_ENGINE_LEASE="2")


def rows(folder, query):
    with closing(sqlite3.connect(f"file:{folder}/magi.sqlite3?mode=ro", uri=True, timeout=20)) as database:
        return database.execute(query).fetchall()


def status(folder):
    return rows(folder, "SELECT status FROM engine_run")[0][0]


@pytest.mark.slow
@pytest.mark.parametrize(
    "point", some_of([*fault_injection.POINTS_OF_WAITS[:2], *fault_injection.POINTS_OF_GATES[:2]], 1)
)
def test_a_worker_that_dies_around_a_wait_asks_nobody_twice_and_loses_no_decision(env, tmp_path, point):
    pk = manage("checkup", QUESTION, "--no-wait", env=env).stdout.strip()
    with EngineProcess(env | {"MAGI_TEST_FAULT": f"{point}=exit@1"}, tmp_path / "faulty") as faulty:
        wait_until(lambda: faulty.process.poll() == 137, "it died")
    with EngineProcess(env, tmp_path / "honest") as honest:
        wait_until(lambda: status(tmp_path) == "waiting", "the run is waiting")
        (gate,) = json.loads(manage("gates", "--json", env=env).stdout)
        manage("decide", str(gate["id"]), "--by", "root", "--approve", "--then", "publish", env=env)
        wait_until(lambda: status(tmp_path) == "finished", "the run is finished")
        assert honest.stop() == 0
    answered = rows(tmp_path, "SELECT step FROM engine_modelcall WHERE status = 'answered' ORDER BY step")
    assert [step for (step,) in answered] == ["check", "sum up", "write"]
    assert rows(tmp_path, "SELECT outcome FROM engine_run") == [("approved",)]
    assert rows(tmp_path, "SELECT number, state FROM engine_gate") == [(1, "approved")]
    verified = manage("verify_record", pk, env=env)
    assert verified.returncode == 0, verified.stdout


def test_a_decision_while_no_engine_runs_is_not_lost(env, tmp_path):
    manage("checkup", QUESTION, "--no-wait", env=env)
    with EngineProcess(env, tmp_path / "first") as first:
        wait_until(lambda: status(tmp_path) == "waiting", "the run is waiting")
        first.stop()
    assert (
        manage("decide", "1", "--by", "root", "--reject", "No.", "--then", "withdraw", env=env).stdout == "rejected\n"
    )
    with EngineProcess(env, tmp_path / "second"):
        wait_until(lambda: status(tmp_path) == "finished", "the run is finished")
    assert rows(tmp_path, "SELECT outcome FROM engine_run") == [("withdrawn",)]


def test_the_command_line_ends_with_three_where_it_waits_for_a_person(env):
    done = manage("checkup", QUESTION, env=env)
    assert (done.returncode, done.stdout.strip()) == (3, "waiting")
