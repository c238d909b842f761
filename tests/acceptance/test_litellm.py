"""Through a LiteLLM proxy in an environment of its own, which stands for every gateway that people put between."""

import json
import subprocess
from contextlib import suppress
from urllib.error import URLError
from urllib.request import urlopen

import pytest

from engine.llm import errors
from engine.llm.client import ModelClient
from judgements.procedure import DECISION
from tests.acceptance.site import environment, free_port, judge
from tests.conftest import JAPAN, agents, says
from tests.endpoint import ScriptedEndpoint
from tests.waiting import wait_until

pytestmark = pytest.mark.slow
KEY = "sk-litellm-canary-12345"
MOCKED = {
    "approving": says("approve", "The criteria are met, as far as can be seen."),
    "limited": "litellm.RateLimitError",
    "broken": "litellm.InternalServerError",
    "overlong": "litellm.ContextWindowExceededError",
    "prose": "I approve of this.",
}
ERRORS = {
    "limited": errors.RateLimited,
    "broken": errors.ServerError,
    "overlong": errors.RequestRejected,
    "gone": errors.ServerError,
    "unheard-of": errors.UnknownModel,
    "badkey": errors.Unauthorized,
    "penniless": errors.QuotaExceeded,
}


def config(endpoint: ScriptedEndpoint) -> str:
    def model(name, **params):
        usual = {"model": "openai/any", "api_key": "none"}
        return {"model_name": name, "litellm_params": usual | params}

    behind = {"badkey": "invalid_api_key", "penniless": "insufficient_quota"}
    rules = [[f"as {name}", {"behaviour": "status", "error": error}] for name, error in behind.items()]
    endpoint.script(by_text=rules)
    models = [model(name, mock_response=answer) for name, answer in MOCKED.items()]
    models += [model(name, api_base=endpoint.base_url) for name in behind]
    models += [model("gone", api_base="http://127.0.0.1:9/v1")]
    return json.dumps(
        {"model_list": models, "general_settings": {"master_key": KEY}, "router_settings": {"num_retries": 0}}
    )


@pytest.fixture(scope="module")
def proxy(litellm, tmp_path_factory):
    folder, port = tmp_path_factory.mktemp("litellm"), free_port()
    with ScriptedEndpoint() as endpoint:
        (folder / "config.yaml").write_text(config(endpoint))  # JSON is YAML
        command = [litellm, "--config", "config.yaml", "--host", "127.0.0.1", "--port", str(port)]
        env = environment(folder, LITELLM_LOCAL_MODEL_COST_MAP="True", HOME=str(folder))
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen(command, cwd=folder, env=env, stdout=log, stderr=log)
        try:
            wait_for(f"http://127.0.0.1:{port}/health/liveliness", process)
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            process.terminate()
            process.wait(60)


def wait_for(url, process):
    def answers():
        assert process.poll() is None, "the proxy has ended"
        with suppress(URLError, OSError), urlopen(url, timeout=2):
            return True
        return False

    wait_until(answers, "the proxy answers", limit=300)


@pytest.fixture
async def models(proxy, settings):
    settings.PROVIDERS = {"litellm": {"base_url": proxy, "api_key": KEY}}
    models = ModelClient(timeout=20)
    yield models
    await models.close()


def ask(models, name, on_growth=lambda text: None):
    messages = [{"role": "user", "content": f"Answer as {name}."}]
    return models.ask(f"litellm/{name}", messages, DECISION, on_growth, models.way(f"litellm/{name}"))


def test_a_whole_judgement_goes_through_the_proxy(proxy, tmp_path):
    (tmp_path / "agents.json").write_text(json.dumps(agents(*["litellm/approving"] * 3)))
    providers = {"litellm": {"base_url": proxy, "api_key_env": "LITELLM_KEY"}}
    env = environment(tmp_path, MAGI_PROVIDERS=json.dumps(providers), LITELLM_KEY=KEY)
    status, judgement = judge(JAPAN, "--agents", f"{tmp_path}/agents.json", env=env)
    assert (status, judgement["status"]) == (0, "approved")
    assert [len(agent["decisions"]) for agent in judgement["agents"]] == [3, 3, 3]


async def test_an_answer_streams_through_the_proxy(models):
    seen = []
    reply = await ask(models, "approving", seen.append)
    assert DECISION.read(reply.text).decision == "approve"
    assert len(seen) > 3
    assert reply.input_tokens is not None


@pytest.mark.parametrize("name", ERRORS)
async def test_an_error_behind_the_proxy_is_a_failure_of_its_kind(models, name):
    with pytest.raises(errors.CallFailed) as failed:
        await ask(models, name)
    assert type(failed.value) is ERRORS[name], failed.value
    assert KEY not in str(failed.value) + failed.value.raw


async def test_the_models_of_the_proxy_are_listed(models):
    from engine.llm.providers import configured_providers

    assert set(MOCKED) < set(await models.names(configured_providers()["litellm"]))
