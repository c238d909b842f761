"""Rough times, in short. `make chaos` and the commands in `tests/crash/` play them at length."""

import pytest

from missions import workspace
from tests.acceptance.site import play
from tests.conftest import EVERYTHING, need
from tests.crash import mission, plan


@pytest.fixture
def need_servers(request, database):
    if database == "postgres":
        request.getfixturevalue("own_servers")


on_both = pytest.mark.parametrize("database", ["sqlite", "postgres"])


@pytest.mark.slow
@on_both
@pytest.mark.usefixtures("need_servers")
def test_kills_pauses_and_crashes_lose_double_and_mistake_nothing(database, tmp_path):
    # a lease that no live worker loses, however busy the machine is with other things
    words = "--kills 8 --pauses 2 --pace 0.5 --lease 5 --finished 5".split()
    done = play("tests.crash.chaos", "--database", database, *words, data=tmp_path)
    assert done.returncode == 0, done.stdout


def test_a_judgement_whose_engine_is_killed_comes_to_the_verdict_of_its_answers(tmp_path):
    words = "--kills 1 --pauses 0 --restarts 0 --pace 0.5 --lease 5 --finished 1".split()
    done = play("tests.crash.chaos", *words, data=tmp_path)
    assert done.returncode == 0, done.stdout


ONE_KILL = {"debate": ("--most", "12"), "inquiry": (), "plan": (), "mission": ("--launchers", "1", "--keepers", "1")}


@pytest.mark.parametrize("kind", ONE_KILL)
def test_a_run_whose_engine_is_killed_is_as_one_that_nobody_disturbed(kind, tmp_path):
    if kind == "mission":
        need("sandbox", not workspace.missing_programs(), workspace.missing_programs())
    settings = {"plan": plan.SETTINGS, "mission": mission.SETTINGS}.get(kind, {})
    kills = "4" if EVERYTHING else "1"
    done = play("tests.crash.kill", kind, "--kills", kills, "--no-points", *ONE_KILL[kind], data=tmp_path, **settings)
    assert done.returncode == 0, done.stdout


@pytest.mark.slow
@pytest.mark.usefixtures("own_servers")
def test_only_the_judgement_that_kills_its_engine_fails(tmp_path):
    words = "--kills 2 --judgements 9 --pace 1".split()
    done = play("tests.crash.kill", "suspect", "--database", "postgres", *words, data=tmp_path)
    assert done.returncode == 0, done.stdout


@pytest.mark.slow
@on_both
@pytest.mark.usefixtures("need_servers")
@pytest.mark.parametrize(("kind", "rounds"), [("run", 12), ("wait", 150), ("gate", 2)])
def test_of_many_who_want_the_same_at_once_one_gets_it(kind, rounds, database, tmp_path):
    done = play("tests.crash.race", kind, "--database", database, "--rounds", str(rounds), data=tmp_path)
    assert done.returncode == 0, done.stdout


@pytest.mark.slow
@on_both
@pytest.mark.usefixtures("need_servers")
def test_that_race_finds_the_wake_ups_that_are_lost(database, tmp_path):
    done = play("tests.crash.race", "wait", "--database", database, "--rounds", "40", "--naive", data=tmp_path)
    assert done.returncode == 1, done.stdout
