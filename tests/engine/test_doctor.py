import io

import pytest
from django.core.management import call_command

from engine import doctor
from engine.llm import errors
from engine.llm.client import ModelClient
from engine.llm.response_format import RequestMode
from engine.text.invisible_chars import single_line
from tests.endpoint import ScriptedEndpoint
from tests.injections import INJECTIONS, STEERING

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def endpoint():
    with ScriptedEndpoint() as endpoint:
        yield endpoint


@pytest.fixture(autouse=True)
def examiners(settings):
    """Those of the applications are tried beside them: a sandbox takes a third of a second."""
    own, settings.DOCTOR_CHECKS = settings.DOCTOR_CHECKS, []
    return own


@pytest.fixture
def provider(endpoint, settings):
    endpoint.reset()
    settings.PROVIDERS = {"openai": {"base_url": endpoint.base_url, "api_key": "sk-canary-1234567890"}}
    settings.DEFAULT_MODEL = "openai/gpt-5-mini"
    return endpoint


async def about(subject):
    return next(finding for finding in await doctor.run_checks() if finding.subject.startswith(subject))


async def test_a_provider_that_works_is_told_with_its_models_format_and_time(provider):
    provider.script(default={"behaviour": "raw", "content": '{"well": "yes"}'})
    finding = await about("openai")
    assert finding.well
    assert "3 models (gpt-5-mini, gpt-5, o4-mini)" in finding.sentence
    assert "kept to the form (json_schema)" in finding.sentence


async def test_the_format_that_works_is_found(provider):
    provider.script(default={"behaviour": "picky", "accepts": [""]})
    assert "(text)" in (await about("openai")).sentence


HELP = {
    "invalid_api_key": "Check the key of this provider",
    "model_not_found": "Name a model that the endpoint has",
    "insufficient_quota": "Add credit",
    "context_length_exceeded": "or give it a larger context.",
}


async def test_a_provider_with_an_empty_key_is_a_matter_of_its_configuration_and_is_not_asked(provider, settings):
    settings.PROVIDERS["openai"]["api_key"] = ""
    finding = await about("openai")
    assert not finding.well
    assert "No key is set for openai" in finding.sentence
    assert provider.requests() == []
    with pytest.raises(errors.Unauthorized, match="No key is set"):
        await ModelClient(1.0).ask("openai/a", doctor.PROBE_QUESTION, doctor.OK_FORMAT, print, RequestMode())


async def test_a_problem_comes_with_the_sentence_that_helps(provider):
    for error, words in HELP.items():
        provider.script(default={"behaviour": "status", "error": error})
        finding = await about("openai")
        assert (finding.well, words in finding.sentence, "sk-canary" in finding.sentence) == (False, True, False)


async def test_the_address_is_blamed_where_nothing_there_is_a_model_endpoint_and_nowhere_else(provider):
    told = {}
    for behaviour in ("html", "redirect", "not_json", "cut_stream", "finish_length"):
        provider.script(default={"behaviour": behaviour})
        told[behaviour] = doctor.errors.ADDRESS in (await about("openai")).sentence
    assert [behaviour for behaviour, blamed in told.items() if blamed] == ["html", "redirect", "not_json"]


async def test_of_a_server_that_loads_it_says_that_runs_wait(provider, settings):
    provider.script(default={"behaviour": "status", "status": 503, "body": {"error": {"message": "Loading model"}}})
    assert f"Runs wait for it, for {settings.SERVER_PATIENCE:g} s at most." in (await about("openai")).sentence


async def test_an_endpoint_that_is_down_is_a_problem(settings):
    settings.PROVIDERS = {"openai": {"base_url": "http://127.0.0.1:9/v1", "api_key": "none"}}
    finding = await about("openai")
    assert not finding.well
    assert "Check the address" in finding.sentence


async def test_without_a_provider_it_says_so(settings):
    settings.PROVIDERS = {}
    assert "No provider is configured" in (await about("models")).sentence


async def test_the_database_is_looked_at_and_what_the_applications_name(settings, examiners):
    settings.DOCTOR_CHECKS = examiners
    assert (await about("database")).well
    assert {"sandbox", "Landlock"} & {finding.subject for finding in await doctor.run_checks()}


def said_by_the_command():
    said = io.StringIO()
    with pytest.raises(SystemExit):
        call_command("doctor", stdout=said)
    return said.getvalue()


@pytest.mark.parametrize("texts", [STEERING[:8], STEERING[8:], INJECTIONS[48:56], INJECTIONS[56:64]])
def test_what_an_endpoint_says_does_nothing_to_a_terminal(provider, texts):
    message = " ".join(texts)
    provider.script(default={"behaviour": "status", "status": 418, "body": {"error": {"message": message}}})
    *_, told = said_by_the_command().splitlines()
    assert told.startswith("PROBLEM  openai")
    assert f"It said: “{single_line(message.replace(chr(0), chr(92) + 'x00')[:300])}" in told


def test_models_are_listed_by_names_that_hide_nothing(provider, settings):
    settings.DEFAULT_MODEL = "rehearsal/magi"
    provider.script(models=[f"{text}{number}" for number, text in enumerate(STEERING[:5])])
    [told] = [line for line in said_by_the_command().splitlines() if "openai" in line]
    assert "A‹U+001B›[2K‹U+001B›[1Aapproved0, A‹U+001B›[8mhidden‹U+001B›[0m1" in told


async def test_it_says_how_long_a_judgement_takes_and_which_deadline_is_short(provider, settings):
    settings.CALL_FIRST = 0.0001
    provider.script(default={"behaviour": "raw", "content": '{"well": "yes"}'})
    sentence = (await about("openai")).sentence
    assert "At this speed a judgement takes less than a minute." in sentence
    assert "MAGI_CALL_FIRST (0.0001 s) is short for that: raise it." in sentence
    assert len(provider.requests()[0]["body"]["messages"][0]["content"]) > 3000


async def test_a_server_without_a_key_is_not_said_to_have_accepted_one_and_one_model_is_one(provider, settings):
    settings.PROVIDERS["openai"]["api_key"] = "none"
    settings.DEFAULT_MODEL = "rehearsal/magi"
    provider.script(models=["gpt-5-mini"])
    assert "Reachable, no key needed, 1 model (gpt-5-mini)." in (await about("openai")).sentence
