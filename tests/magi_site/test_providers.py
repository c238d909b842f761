"""Which providers the environment names, and what is wrong with it in one sentence."""

import json

import pytest
from pydantic import ValidationError

from engine.llm import providers
from magi_site.environment import Environment, _first_error


@pytest.fixture
def environment(monkeypatch):
    def read(**variables):
        for name in Environment.model_fields:
            monkeypatch.delenv(name, raising=False)
        for name, value in variables.items():
            monkeypatch.setenv(name, value if isinstance(value, str) else json.dumps(value))
        return Environment()

    return read


def wrong(environment, **variables):
    with pytest.raises(ValidationError) as error:
        environment(**variables)
    return " ".join(_first_error(error.value))


KNOWN = {
    "openai": ({"OPENAI_API_KEY": "k"}, "https://api.openai.com/v1"),
    "anthropic": ({"ANTHROPIC_API_KEY": "k"}, "https://api.anthropic.com/v1"),
    "gemini": ({"GEMINI_API_KEY": "k"}, "https://generativelanguage.googleapis.com/v1beta/openai"),
    "openrouter": ({"OPENROUTER_API_KEY": "k"}, "https://openrouter.ai/api/v1"),
    "azure": (
        {"AZURE_OPENAI_ENDPOINT": "https://a.openai.azure.com/", "AZURE_OPENAI_API_KEY": "k"},
        "https://a.openai.azure.com/openai/v1",
    ),
}


@pytest.mark.parametrize("name", KNOWN)
def test_a_provider_is_known_by_its_usual_variables(environment, name):
    variables, address = KNOWN[name]
    (found,) = environment(**variables).providers.items()
    assert (found[0], found[1]["base_url"], found[1]["api_key"]) == (name, address, "k")


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("127.0.0.1", "http://127.0.0.1:11434/v1"),
        ("0.0.0.0:8000", "http://127.0.0.1:8000/v1"),
        ("http://gpu:11434/", "http://gpu:11434/v1"),
        ("https://gpu", "https://gpu:443/v1"),
        ("[::1]:1", "http://[::1]:1/v1"),
    ],
)
def test_ollama_is_found_however_its_host_is_written(environment, host, address):
    assert environment(OLLAMA_HOST=host).providers["ollama"]["base_url"] == address


def test_any_other_endpoint_is_declared_with_its_key_in_a_variable(environment, monkeypatch):
    monkeypatch.setenv("VLLM_KEY", "secret\n")
    declared = {"base_url": "http://gpu:8000/v1/", "api_key_env": "VLLM_KEY", "models": ["q"], "concurrency": 5}
    found = environment(MAGI_PROVIDERS={"vllm": declared | {"price": {"input": 1, "output": 2}}}).providers["vllm"]
    assert providers.Provider("vllm", **found) == providers.Provider(
        "vllm", "http://gpu:8000/v1", "secret", concurrency=5, models=("q",), prices={"*": (1.0, 2.0)}
    )


HERE = {"base_url": "http://gpu/v1"}
WRONG = {
    "no JSON": ({"MAGI_PROVIDERS": "{"}, "MAGI_PROVIDERS must be a JSON object"),
    "a name twice": ({"MAGI_PROVIDERS": '{"a": {}, "a": {}}'}, "names “a” twice"),
    "no address": ({"MAGI_PROVIDERS": {"a": {}}}, "a.base_url: Field required"),
    "another scheme": ({"MAGI_PROVIDERS": {"a": {"base_url": "file:///etc"}}}, "must be an address like"),
    "a key in the address": ({"OPENAI_BASE_URL": "http://u:secret@h/v1"}, "no user name and password"),
    "a reserved name": ({"MAGI_PROVIDERS": {"rehearsal": HERE}}, "cannot name a provider"),
    "a variable that is not set": (
        {"MAGI_PROVIDERS": {"a": HERE | {"api_key_env": "NO_SUCH"}}},
        "a variable that is not set",
    ),
    "an empty key": ({"MAGI_PROVIDERS": {"a": HERE | {"api_key": ""}}}, "a.api_key: stands in a variable of its own"),
    "a key in the wrong place": ({"MAGI_PROVIDERS": {"a": HERE | {"api_key": "secret"}}}, "name that in api_key_env"),
    "a variable with an empty key": (
        {"MAGI_PROVIDERS": {"a": HERE | {"api_key_env": "BLANK"}}},
        "a.api_key_env: is no key",
    ),
    "a misspelt word": ({"MAGI_PROVIDERS": {"a": HERE | {"prize": 1}}}, "a.prize: Extra inputs"),
    "a field of ours": (
        {"MAGI_PROVIDERS": {"a": HERE | {"fields": {"stream": False}}}},
        "“stream” is set by MAGI for each request; leave it out",
    ),
    "a temperature beyond all": ({"MAGI_PROVIDERS": {"a": HERE | {"temperature": 3}}}, "a.temperature"),
    "a negative price": ({"MAGI_PROVIDERS": {"a": HERE | {"price": {"input": -1, "output": 1}}}}, "greater than"),
    "a key of two words": ({"OPENAI_API_KEY": "sk secret"}, "OPENAI_API_KEY is no key"),
    "half of azure": ({"AZURE_OPENAI_API_KEY": "k"}, "AZURE_OPENAI_ENDPOINT is missing"),
    "no port": ({"OLLAMA_HOST": "gpu:x"}, "must be a host"),
}


def test_fields_of_ones_own_are_for_all_models_or_by_model(environment):
    declared = HERE | {"temperature": 0.2, "seed": 1, "fields": {"q": {"top_k": 20}}}
    found = environment(MAGI_PROVIDERS={"a": declared, "b": HERE | {"fields": {"min_p": 0.1}}}).providers
    assert found["a"]["fields"] == {"q": {"top_k": 20}, "*": {"temperature": 0.2, "seed": 1}}
    assert found["b"]["fields"] == {"*": {"min_p": 0.1}}


@pytest.mark.parametrize(("variables", "words"), WRONG.values(), ids=WRONG.keys())
def test_what_is_wrong_is_said_with_its_variable_and_never_with_a_key(environment, monkeypatch, variables, words):
    monkeypatch.setenv("BLANK", " ")
    sentence = wrong(environment, **variables)
    assert words in sentence
    assert "secret" not in sentence


@pytest.mark.parametrize(
    ("models", "warning"),
    [
        (["openai/a", "openai/a", "openai/a"], "one model, openai/a"),
        (["openai/a", "openai/b", "router/openai/c"], "one vendor, openai"),
        (["openai/a", "openai/b", "router/meta/c"], ""),
        (["rehearsal/magi"] * 3, ""),
    ],
)
def test_agents_that_will_err_together_are_warned_of(settings, models, warning):
    settings.PROVIDERS = {name: {"base_url": "http://h/v1", "api_key": "k"} for name in ("openai", "router")}
    said = providers.independence_warning(models)
    assert warning in said
    assert bool(said) == bool(warning)


@pytest.mark.parametrize(
    ("variables", "model"),
    [
        ({}, "rehearsal/magi"),
        ({"OPENAI_API_KEY": "k"}, "openai/gpt-5-mini"),
        ({"ANTHROPIC_API_KEY": "k"}, "anthropic/claude-sonnet-4-5"),
        ({"MAGI_PROVIDERS": {"vllm": {"base_url": "http://h/v1", "models": ["q"]}}}, "vllm/q"),
        ({"MAGI_PROVIDERS": {"vllm": {"base_url": "http://h/v1"}}}, ""),
        ({"OPENAI_API_KEY": "k", "MAGI_DEFAULT_MODEL": "openai/o4-mini"}, "openai/o4-mini"),
    ],
)
def test_the_default_model_is_one_of_a_configured_provider(environment, variables, model):
    assert environment(**variables).default_model == model


def test_a_sender_of_mail_is_one_line_without_encoded_words(environment):
    assert environment(EMAIL_URL="smtp://host?from=MAGI%20%3Ca@magi.example%3E").EMAIL_URL
    for sender in (
        "%3D?utf-8?q?Boss?%3D%20%3Ca@magi.example%3E",
        "a@magi.example%0ABcc:%20x@evil.example",
        "MAGI,%20Inc%20%3Ca@magi.example%3E",
    ):
        said = wrong(environment, EMAIL_URL=f"smtp://host?from={sender}")
        assert "EMAIL_URL" in said
        assert "names a sender (?from=) that" in said
