"""A worker is killed around the use of a tool: what is ours is done exactly once, what is outside at most once."""

import json
import shutil
import sqlite3
from contextlib import closing

import pytest

from tests import mcp_forks
from tests.acceptance.site import EngineProcess, environment, manage, python
from tests.conftest import some_of
from tests.mcp_folder import Folder
from tests.post_office import post_office
from tests.waiting import wait_until

LONGEST = 60.0

OURS = {"DJANGO_SETTINGS_MODULE": "tests.acting.settings", "MAGI_ENGINE_LEASE": "1"}


@pytest.fixture(scope="module")
def submitted(tmp_path_factory):
    """A data folder whose database has one run that acts."""
    folder = tmp_path_factory.mktemp("submitted")
    env = environment(folder, **OURS)
    manage("migrate", env=env)  # what these settings have more than a site
    acting(env, "submit", "1")
    return folder


@pytest.fixture
def env(submitted, tmp_path):
    shutil.copytree(submitted, tmp_path, dirs_exist_ok=True)  # its last rows may be in a file beside it
    return environment(tmp_path, **OURS)


def acting(env, *words):
    done = python("-m", "tests.acting", *words, env=env)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def wait_for(folder, status, query="SELECT status FROM engine_run"):
    with closing(sqlite3.connect(f"file:{folder}/magi.sqlite3?mode=ro", uri=True, timeout=20)) as database:
        wait_until(lambda: database.execute(query).fetchone() == (status,), f"{query}: {status}")


DEATHS = [  # where, at which passing, and whether nobody can know if it was done
    ("after-tool-open-commit", 1, True),
    ("before-tool-open-commit", 1, False),
    ("after-tool-done-commit", 1, False),
    ("before-tool-done-commit", 1, False),
    ("before-tool-done-commit", 2, True),
    ("after-tool-done-commit", 2, False),
]


@pytest.mark.slow
@pytest.mark.parametrize(("point", "passing", "uncertain"), some_of(DEATHS, 2))
def test_a_worker_that_dies_around_a_tool_does_nothing_twice(env, tmp_path, point, passing, uncertain):
    with EngineProcess(env | {"MAGI_TEST_FAULT": f"{point}=exit@{passing}"}, tmp_path / "faulty") as faulty:
        assert faulty.process.wait(LONGEST) == 137
    with EngineProcess(env, tmp_path / "honest"):
        if uncertain:
            wait_for(tmp_path, "waiting")
            assert acting(env, "say", "leave") == 1
        wait_for(tmp_path, "finished")
    found = acting(env, "judge")
    assert (found["tasks"], found["twice"], found["faults"], found["asked_wrongly"]) == (2, [], [], False)
    assert list(found["runs"]) == ["done failed done" if uncertain else "done done done"]


@pytest.mark.slow
def test_a_worker_that_dies_while_a_server_of_others_is_at_it_asks_once_and_calls_once(env, tmp_path):
    others = Folder(tmp_path / "others")
    others.say(call="hang", schema={"type": "object", "properties": {"word": {"type": "string"}}})
    command = mcp_forks.command(others.path)
    env |= {"ACTING_TOOL": "mcp.others.letter", "MAGI_MCP_SERVERS": json.dumps({"others": {"command": command}})}
    assert acting(env, "class") == [True, True]
    with EngineProcess(env, tmp_path / "dies") as dies:
        wait_until(lambda: len(others.calls) == 1, "the server of others is called")
        dies.process.kill()
    others.say(call="")
    with EngineProcess(env, tmp_path / "next"):
        wait_for(tmp_path, "waiting")
        assert acting(env, "judge")["uncertain"] == 1
        assert acting(env, "say", "happened") == 1
        wait_for(tmp_path, "finished")
    found = acting(env, "judge")
    assert (list(found["runs"]), len(others.calls), found["uncertain"]) == (["done done done"], 1, 1)
    assert (found["tasks"], found["faults"], found["asked_wrongly"]) == (2, [], False)


def test_a_worker_that_dies_while_it_sends_leaves_the_letter_to_a_person(env, tmp_path):
    acting(env, "post", "ito@example.com")
    state = "SELECT state FROM engine_letter"
    with post_office("hangs") as office, EngineProcess(env | {"EMAIL_URL": office.url}, tmp_path / "dies") as dies:
        assert "Subject: Hello" in office.next()["letter"]
        wait_for(tmp_path, "sending", state)
        dies.process.kill()
    assert acting(env, "late") == ["sending"]
    with post_office() as office, EngineProcess(env | {"EMAIL_URL": office.url}, tmp_path / "next"):
        wait_for(tmp_path, "uncertain", state)
        acting(env, "post", "mori@example.com")  # what comes after it is sent, and nothing before that
        wait_for(tmp_path, "sent", f"{state} ORDER BY id DESC LIMIT 1")
        assert ["mori" in str(one["to"]) for one in office.close()] == [True]
