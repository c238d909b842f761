import json
import re
import uuid

import pytest

from tests.acceptance.site import environment, judge, manage
from tests.conftest import JAPAN, agents, some_of


@pytest.fixture
def env(tmp_path):
    return environment(tmp_path, MAGI_DEFAULT_MODEL="rehearsal/instant")


def agents_file(tmp_path, *criteria):
    trio = agents()
    for agent, text in zip(trio, criteria, strict=False):
        agent["criteria"] = text
    file = tmp_path / "agents.json"
    file.write_text(json.dumps(trio))
    return str(file)


def test_a_fresh_folder_judges_with_the_first_council_and_says_that_it_rehearses(tmp_path):
    env = environment(tmp_path, empty=True, MAGI_DEFAULT_MODEL="rehearsal/instant")
    done = manage("judge", "-", env=env, text=JAPAN)
    assert done.stdout.strip() in ("approved", "rejected")
    assert done.returncode == {"approved": 0, "rejected": 1}[done.stdout.strip()]
    assert "Rehearsal: no model was asked." in done.stderr
    assert done.stderr.count("Rehearsal. ") == 9
    assert "tokens" not in done.stderr
    assert "cost" not in done.stderr


def test_what_models_used_is_said_once_at_the_end(endpoint, tmp_path):
    endpoint.script(by_text=[["You are agent ", {"reason": "It is so.", "decision": "approve"}]])
    env = environment(tmp_path, OPENAI_BASE_URL=endpoint.base_url, MAGI_DEFAULT_MODEL="openai/unheard-of")
    said = manage("judge", JAPAN, env=env | {"OPENAI_API_KEY": "sk-canary-1234567890"}).stderr
    assert said.count("cost unknown") == 1
    assert re.search(r"Used (about )?[\d,]+ tokens in, [\d,]+ out, cost unknown\.\n$", said)


def test_the_exit_status_is_the_verdict(env, tmp_path):
    yes = agents_file(tmp_path, "Always approve.", "Always approve.", "Always reject.")
    assert judge(JAPAN, "--agents", yes, env=env)[0] == 0
    no = agents_file(tmp_path, "Always reject.", "Always approve.", "Always reject.")
    assert judge(JAPAN, "--agents", no, env=env)[0] == 1


def test_the_judgement_object_has_the_agreed_shape(env):
    _, judgement = judge(JAPAN, "--title", "Japan", "--council", "Travel and spend", env=env)
    assert uuid.UUID(judgement["id"])
    assert (judgement["title"], judgement["content"]) == ("Japan", JAPAN)
    assert (judgement["council"], judgement["rehearsal"], judgement["round"]) == ("Travel and spend", True, 3)
    assert [agent["seat"] for agent in judgement["agents"]] == ["A", "B", "C"]
    assert set(judgement["agents"][0]["decisions"][0]) == {
        *("round", "decision", "reason", "repeats", "seconds", "attempts", "model", "answered_by")
    }


def test_the_rehearsal_decides_the_same_again(env):
    first, second = [judge(JAPAN, env=env)[1]["agents"] for _ in range(2)]
    without_time = [
        [[(d["decision"], d["reason"]) for d in agent["decisions"]] for agent in run] for run in (first, second)
    ]
    assert without_time[0] == without_time[1]


def test_no_wait_prints_the_id_and_leaves_the_work(env):
    done = manage("judge", JAPAN, "--no-wait", env=env)
    assert uuid.UUID(done.stdout.strip())
    assert done.returncode == 0


BAD = {
    "empty content": ["   "],
    "no such council": [JAPAN, "--council", "Nobody"],
    "no such file": [JAPAN, "--agents", "missing.json"],
    "no such option": [JAPAN, "--colour"],
    "council and agents": [JAPAN, "--council", "Magi", "--agents", "x.json"],
    "content without end": ["x" * 20_001],
}


def test_bad_usage_or_input_is_status_64_with_a_sentence_on_stderr(env):
    done = {name: manage("judge", *words, env=env) for name, words in some_of(BAD.items(), 3)}
    assert {name: (one.returncode, one.stdout) for name, one in done.items()} == dict.fromkeys(done, (64, ""))
    assert [name for name, one in done.items() if "Traceback" in one.stderr or not one.stderr.strip()] == []


def test_two_agents_are_not_three(env, tmp_path):
    (tmp_path / "two.json").write_text(json.dumps(agents()[:2]))
    done = manage("judge", JAPAN, "--agents", f"{tmp_path}/two.json", env=env)
    assert done.returncode == 64
    assert "exactly three agents" in done.stderr


WRONG = {
    "MAGI_CALL_TIMEOUT": "soon",
    "DATABASE_URL": "mysql://a:b@c/d",
    "REDIS_URL": "nonsense",
    "OPENAI_BASE_URL": "http://user:secret@127.0.0.1/v1",
    "MAGI_DATA_DIR": "/proc/self/x",
    "ALLOWED_HOSTS": "*",
}


@pytest.mark.parametrize(("variable", "value"), some_of(WRONG.items(), 2))
def test_a_wrong_setting_stops_the_start_and_names_the_variable(tmp_path, variable, value):
    done = manage("judge", JAPAN, env=environment(tmp_path) | {variable: value})
    assert done.returncode == 78
    assert done.stderr.startswith(f"The environment variable {variable} is wrong:")
    assert len(done.stderr.splitlines()) == 1


def test_what_breaks_is_no_rejection(tmp_path):
    env = environment(tmp_path, DATABASE_URL="postgres://postgres@127.0.0.1:9/none")
    assert manage("judge", JAPAN, env=env, wait=90).returncode == 2


def test_the_verdict_comes_out_of_a_terminal_without_unicode(env):
    status, judgement = judge("Grüße", env=env | {"PYTHONIOENCODING": "ascii"})
    assert status in (0, 1)
    assert judgement["content"] == "Grüße"
