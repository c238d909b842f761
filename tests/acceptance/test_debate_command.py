"""`manage.py debate`, as others call it."""

import json
import uuid

import pytest

from debates.schemas import DebateOut
from tests.acceptance.site import environment, manage
from tests.conftest import some_of

QUESTION = "Should the city library open on Sundays?"


@pytest.fixture
def env(tmp_path):
    return environment(tmp_path, MAGI_DEFAULT_MODEL="rehearsal/instant")


def test_a_debate_is_held_and_told_as_it_goes_on(env):
    done = manage("debate", QUESTION, "--most", "8", env=env)
    assert (done.returncode, done.stdout.strip()) in ((2, "no decision"), (0, done.stdout.strip()))
    assert "Rehearsal: no model was asked." in done.stderr
    assert "1. Timekeeper: Up to 8 messages." in done.stderr


def test_its_object_is_as_the_api_describes_it(env):
    done = manage("debate", QUESTION, "--most", "8", "--seed", "ab" * 32, "--title", "Sundays", "--json", env=env)
    debate = json.loads(done.stdout)
    assert DebateOut.model_validate(debate)
    assert (debate["title"], debate["seed"], debate["status"]) == ("Sundays", "ab" * 32, "finished")
    assert {"id", "kind", "outcome", "usage", "members", "messages", "tally"} <= debate.keys()


def test_the_same_seed_holds_the_same_debate(env):
    said = []
    for _ in range(2):
        done = manage("debate", QUESTION, "--most", "8", "--seed", "cd" * 32, "--json", env=env)
        messages = json.loads(done.stdout)["messages"]
        last_words = [
            one for one in messages if one["kind"] == "closing"
        ]  # said at once: who is first is nobody's rule
        messages[len(messages) - len(last_words) :] = sorted(last_words, key=lambda one: one["seat"])
        said.append([(one["seat"], one["content"]) for one in messages])
    assert said[0] == said[1]


def test_the_exit_status_says_whether_it_came_out_as_expected(env):
    same = ("debate", QUESTION, "--most", "12", "--seed", "ab" * 32)
    outcome = manage(*same, env=env).stdout.strip()
    others = {"HIRE", "HIRE ON CONDITIONS", "DO NOT HIRE"} - {outcome}
    assert manage(*same, "--expect", outcome.lower(), env=env).returncode == 0
    assert manage(*same, "--expect", others.pop(), env=env).returncode == 1


def test_no_wait_prints_the_id_and_leaves_the_work(env):
    done = manage("debate", QUESTION, "--no-wait", env=env)
    assert (done.returncode, bool(uuid.UUID(done.stdout.strip()))) == (0, True)


BAD = {
    "no question": ["  "],
    "no such panel": [QUESTION, "--panel", "Nobody"],
    "no such option": [QUESTION, "--expect", "FIRE"],
    "too few messages": [QUESTION, "--most", "3"],
    "no number": [QUESTION, "--most", "many"],
    "no money": [QUESTION, "--spend", "much"],
    "no seed": [QUESTION, "--seed", "7"],
    "no such flag": [QUESTION, "--colour"],
}


def test_bad_usage_or_input_is_status_64_with_a_sentence_on_stderr(env):
    done = {name: manage("debate", *words, env=env) for name, words in some_of(BAD.items(), 4)}
    assert {name: (one.returncode, one.stdout) for name, one in done.items()} == dict.fromkeys(done, (64, ""))
    assert [name for name, one in done.items() if "Traceback" in one.stderr or not one.stderr.strip()] == []
