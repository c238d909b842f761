"""Debates with real endpoints, each as strict as some servers are."""

import pytest
from asgiref.sync import sync_to_async

from debates import prompts
from debates.models import Debate
from engine.llm.client import ModelClient
from engine.llm.response_format import RequestMode, messages_for_mode
from engine.models import ModelCall
from tests.conftest import perform, some_of
from tests.strict_roles import TEMPLATES, TemplateError

from .endpoint import serving
from .random_histories import table_of
from .table import asked

SERVERS = {
    "json_schema": (("json_schema", "json_object"), "any"),
    "json_object": (("json_object",), "any"),
    "plain": ((), "any"),
    "mistral": (("json_schema", "json_object"), "mistral"),
    "gemma": (("json_object",), "gemma"),
}


@pytest.mark.slow
@pytest.mark.django_db
@pytest.mark.parametrize("name", SERVERS)
async def test_eight_messages_are_debated_with(name, mira, settings):
    with serving(*SERVERS[name]) as server:
        settings.PROVIDERS = {"strict": {"base_url": server.url, "api_key": "none"}}
        await debated_with(mira)
    assert not any("alternate" in words or "last role" in words for words in server.refused)
    assert ("System role not supported" in server.refused) == (name == "gemma")
    assert bool(server.refused) == (name not in ("json_schema", "mistral"))


async def debated_with(mira):
    told = asked(3, model="strict/one", most=8, spend=None)
    debate = await sync_to_async(Debate.objects.submit)(owner=mira, **told)
    client = ModelClient(timeout=20)
    run = await perform(debate.pk, client)
    await client.close()
    course = (await Debate.objects.with_messages().aget(pk=debate.pk)).state()
    assert (run.status, run.error, course.clock) == ("finished", None, 8)
    assert await ModelCall.objects.filter(run=debate.pk, error_code="unusable_answer").aexists()


def strictly(conversation):
    """What goes out of it, taken by both templates."""
    TEMPLATES["mistral"](messages_for_mode(conversation, RequestMode()))
    TEMPLATES["gemma"](messages_for_mode(conversation, RequestMode(system=False)))


def test_the_templates_refuse_what_they_are_there_to_refuse():
    user, assistant, system = ({"role": role, "content": "x"} for role in ("user", "assistant", "system"))
    for roles in ([user, user], [system, assistant], [user, assistant], [system]):
        for template in ("mistral", "gemma"):
            with pytest.raises(TemplateError):
                TEMPLATES[template](roles)


def test_every_prompt_of_a_debate_is_taken_and_so_is_a_complaint_about_its_answer():
    complaint = {"role": "user", "content": prompts.retry_message("It is no JSON.")}
    for table, turn in map(table_of, some_of(range(60), 20)):
        for conversation in (
            prompts.member_messages(table, turn),
            *(prompts.first_verdict_messages(table, seat) for seat in (1, 2)),
        ):
            strictly(conversation)
            strictly([*conversation, complaint])
            strictly([*conversation, {"role": "assistant", "content": "{}"}, complaint])


def test_what_stands_in_a_row_is_sent_as_one():
    conversation = [{"role": role, "content": role[0]} for role in ("system", "user", "user")]
    assert messages_for_mode(conversation, RequestMode()) == [
        {"role": "system", "content": "s"},
        {"role": "user", "content": "u\n\nu"},
    ]
    assert messages_for_mode(conversation, RequestMode(system=False)) == [{"role": "user", "content": "s\n\nu\n\nu"}]
