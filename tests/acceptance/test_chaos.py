"""Rough times, in short. `make chaos` and the commands in `tests/` play them at length."""

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from missions import workshop
from tests.acceptance.site import ROOT, environment, play
from tests.conftest import need
from tests.mission_kills import SETTINGS as OF_MISSIONS
from tests.plan_kills import SETTINGS


@pytest.fixture
def need_servers(request, database):
    if database == "postgres":
        request.getfixturevalue("own_servers")


on_both = pytest.mark.parametrize("database", ["sqlite", "postgres"])


@on_both
@pytest.mark.usefixtures("need_servers")
def test_kills_pauses_and_crashes_lose_double_and_mistake_nothing(database, tmp_path):
    # a lease that no live worker loses, however busy the machine is with other things
    words = "--kills 8 --pauses 2 --pace 0.5 --lease 5 --finished 5".split()
    done = play("tests.chaos", "--database", database, *words, data=tmp_path)
    assert done.returncode == 0, done.stdout


@pytest.mark.usefixtures("own_servers")
def test_only_the_judgement_that_kills_its_engine_fails(tmp_path):
    words = "--kills 2 --judgements 9 --lease 2 --pace 1".split()
    done = play("tests.blame", "--database", "postgres", *words, data=tmp_path)
    assert done.returncode == 0, done.stdout


@on_both
@pytest.mark.usefixtures("need_servers")
def test_of_eight_workers_one_gets_a_run(database, tmp_path):
    done = play("tests.race", "--database", database, "--rounds", "12", data=tmp_path)
    assert done.returncode == 0, done.stdout


@on_both
@pytest.mark.usefixtures("need_servers")
def test_no_wake_up_is_lost_while_a_run_is_about_to_wait(database, tmp_path):
    done = play("tests.park_race", "--database", database, "--rounds", "150", data=tmp_path)
    assert done.returncode == 0, done.stdout


@on_both
@pytest.mark.usefixtures("need_servers")
def test_that_race_finds_the_wake_ups_that_are_lost(database, tmp_path):
    done = play("tests.park_race", "--database", database, "--rounds", "40", "--naive", data=tmp_path)
    assert done.returncode == 1, done.stdout


@on_both
@pytest.mark.usefixtures("need_servers")
def test_of_fifty_who_decide_at_once_one_decides_and_each_other_is_told(database, tmp_path):
    done = play("tests.gate_race", "--database", database, "--rounds", "2", data=tmp_path)
    assert done.returncode == 0, done.stdout


def test_a_debate_whose_workers_are_killed_is_the_one_that_its_seed_says(tmp_path):
    done = play("tests.debate_kills", *"--kills 4 --most 12 --no-points".split(), data=tmp_path)
    assert done.returncode == 0, done.stdout


def test_a_plan_whose_workers_are_killed_comes_out_the_same_with_each_effect_once(tmp_path):
    done = play("tests.plan_kills", *"--kills 3 --no-points".split(), data=tmp_path, **SETTINGS)
    assert done.returncode == 0, done.stdout


def test_a_mission_whose_engines_are_killed_runs_each_command_once(tmp_path):
    need("sandbox", not workshop.missing(), workshop.missing())
    short = "--kills 3 --no-points --launchers 2 --keepers 2"
    done = play("tests.mission_kills", *short.split(), data=tmp_path, **OF_MISSIONS)
    assert done.returncode == 0, done.stdout


@pytest.fixture
def folder():
    """Where a command keeps its temporary files; PostgreSQL, another user, may pass through."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o711)
        yield folder


@pytest.mark.parametrize(("database", "number"), [("sqlite", signal.SIGINT), ("postgres", signal.SIGTERM)])
@pytest.mark.usefixtures("need_servers")
def test_a_play_that_is_told_to_end_leaves_nothing_behind(database, number, folder, tmp_path):
    command = [sys.executable, "-m", "tests.chaos", "--database", database]
    env = environment(tmp_path, TMPDIR=folder)
    with subprocess.Popen(command, cwd=ROOT, env=env, stdout=subprocess.PIPE) as process:
        process.stdout.readline()  # the first progress: everything runs
        assert len(processes_at(folder)) > 3
        process.send_signal(number)
    assert process.returncode == 128 + number
    assert (os.listdir(folder), processes_at(folder)) == ([], [])


def processes_at(folder: str) -> list[str]:
    """Those that have to do with the folder: in their words, their environment or where they are."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            about = (path / "cmdline").read_text() + (path / "environ").read_text() + str((path / "cwd").readlink())
        except (OSError, UnicodeDecodeError):  # gone, or somebody else's
            continue
        if folder in about:
            found.append(about.replace("\0", " ")[:200])
    return found
