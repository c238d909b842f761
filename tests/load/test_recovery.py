"""How long it takes until another worker goes on, with the lease that MAGI has by itself."""

import json
import time
from contextlib import contextmanager

import pytest

from tests.acceptance.site import EngineProcess, can_stop, environment, manage
from tests.conftest import JAPAN, agents
from tests.endpoint import ScriptedEndpoint
from tests.services import RedisServer
from tests.waiting import wait_until

pytestmark = pytest.mark.slow


@pytest.fixture
def endpoint():
    with ScriptedEndpoint() as endpoint:
        yield endpoint


@pytest.fixture
def env(endpoint, tmp_path, own_servers):
    """A judgement waits; its first three calls will never be answered."""
    endpoint.script(queue=[{"behaviour": "hang"}] * 3)
    (tmp_path / "agents.json").write_text(json.dumps(agents("openai/a", "openai/b", "openai/c")))
    with RedisServer(tmp_path) as redis:
        env = environment(tmp_path, OPENAI_BASE_URL=endpoint.base_url, REDIS_URL=redis.url)
        manage("judge", JAPAN, "--agents", f"{tmp_path}/agents.json", "--no-wait", env=env)
        yield env


@contextmanager
def one_works_one_waits(endpoint, env, tmp_path):
    with EngineProcess(env, tmp_path / "busy") as busy:
        request(endpoint, 3)
        with EngineProcess(env, tmp_path / "waiting") as waiting:
            wait_until(lambda: can_stop(waiting.process.pid), "it runs")
            yield busy


def request(endpoint, number):
    """The request of that number, as soon as it has come."""
    requests = wait_until(lambda: found if len(found := endpoint.requests()) >= number else None, "somebody goes on")
    return requests[number - 1]


def test_after_a_kill_another_worker_goes_on_within_twenty_seconds(endpoint, env, tmp_path):
    with one_works_one_waits(endpoint, env, tmp_path) as busy:
        busy.process.kill()
        killed = time.time()
        assert request(endpoint, 4)["received"] - killed < 20


def test_after_a_stop_another_worker_goes_on_within_two_seconds(endpoint, env, tmp_path):
    with one_works_one_waits(endpoint, env, tmp_path) as busy:
        assert busy.stop() == 0
        stopped = time.time()
        assert request(endpoint, 4)["received"] - stopped < 2
