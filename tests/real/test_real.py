"""A real server with a small model: what scripted endpoints cannot show. Form alone is looked at, not what it says."""

import asyncio
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.conf import settings

from debates.procedure import submit as debate
from engine.llm.client import ModelClient
from engine.models import ModelCall, Run
from engine.queue.worker import Worker
from inquiries.models import ROLES
from inquiries.procedure import submit as inquiry
from judgements.models import Judgement
from missions.presets import agent_row
from missions.procedure import submit as mission
from missions.sandbox.bwrap import available
from runs import run_actions
from tests.conftest import JAPAN, ScriptedModels, agents, need
from tests.inquiries.scenes import DOCUMENTS, NO_PAUSE, QUESTION, going_well, passes, planned
from tests.plans.scenes import plan, team
from tests.real.llama import Llama, small_model
from tests.real.words import of_the_prompt
from tests.waiting import until

pytestmark = [pytest.mark.real, pytest.mark.slow, pytest.mark.django_db(transaction=True)]
MODEL = "local/model"
AN_HOUR = 3600.0  # seconds: no bound of what is tested, but the end of what hangs, also where others have the machine
LONGEST = {"max_tokens": 400, "temperature": 0.3}  # a small model goes round in circles, which says nothing of form
THEIR_OWN_FAULT = {"", "unusable_answer", "cut_off"}  # codes of answers that came and could not be used
OPTIONS = [
    {"word": "HIRE", "direction": "for", "meaning": "Make the offer."},
    {"word": "DO NOT HIRE", "direction": "against", "meaning": "Make no offer."},
]


@pytest.fixture(scope="module")
def llama(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[Llama]:
    found = small_model()
    need("model", bool(found), "`make var/real/installed` has brought no model")
    with Llama(found, tmp_path_factory.mktemp("llama") / "log") as llama:
        yield llama
        with request.config.pluginmanager.getplugin("capturemanager").global_and_fixture_disabled():
            print(f"\n{llama.figures()}")


@pytest.fixture(autouse=True)
def _asked(llama: Llama, settings: Any) -> None:
    provider = {"base_url": llama.base_url, "api_key": "none", "concurrency": llama.slots}
    settings.PROVIDERS = {"local": provider | {"contexts": {"*": llama.context}, "fields": {"*": LONGEST}}}
    settings.DEFAULT_MODEL = MODEL
    settings.CALL_TIMEOUT = settings.CALL_FIRST = settings.CALL_SILENCE = settings.RUN_TIMEOUT = AN_HOUR


class MixedModels(ModelClient):
    """The real model, and others that say what is written: those are called test/…"""

    def __init__(self, script: ScriptedModels) -> None:
        super().__init__(settings.CALL_TIMEOUT)
        self._script = script

    async def ask(self, model: str, *args: Any) -> Any:
        return await (self._script if model.startswith("test/") else super()).ask(model, *args)


async def performed(pk: Any, enough: Callable[[list[ModelCall]], bool], models: Any = None) -> list[ModelCall]:
    """The calls of the real model, until these are enough or the run is over; it is cancelled then."""
    engine = Worker(models=models)
    performing = asyncio.create_task(engine.run())

    async def come() -> bool:
        run = await Run.objects.aget(pk=pk)
        return run.is_ended or enough([call async for call in closed(pk)])

    await until(come, f"enough answers in {pk}", AN_HOUR)
    await sync_to_async(run_actions.cancel)(await Run.objects.aget(pk=pk), None)
    await engine.stop(grace=0)
    await performing
    return [call async for call in closed(pk)]


def closed(pk: Any) -> Any:
    ended = (ModelCall.Status.ANSWERED, ModelCall.Status.FAILED)
    return ModelCall.objects.filter(run=pk, model=MODEL, status__in=ended).order_by("pk")


def amiss(calls: list[ModelCall]) -> list[str]:
    """What is wrong about the form of these calls, in sentences."""
    found = [] if calls else ["no call has ended"]
    for call in calls:
        if call.error_code not in THEIR_OWN_FAULT:
            found.append(f"{call}: {call.error_code}, {call.error}")
        elif not call.answer:
            found.append(f"{call}: nothing came, {call.error}")
        elif call.answer_format != "json_schema":
            found.append(f"{call}: the server did not take the schema")
        elif call.status == ModelCall.Status.ANSWERED and (own := of_the_prompt(call.answer, json.loads(call.prompt))):
            found.append(f"{call}: words of the prompt were taken as an answer: {own}")
    return found


async def test_a_judgement_ends_and_no_reason_is_of_the_prompt(llama: Llama, mira: Any) -> None:
    before = llama.counts()
    row = await sync_to_async(Judgement.objects.submit)(owner=mira, content=JAPAN, agents=agents(*[MODEL] * 3))
    calls = await performed(row.pk, lambda calls: False)
    run, after = await Run.objects.aget(pk=row.pk), llama.counts()
    assert amiss(calls) == []
    assert run.status in (Run.Status.FINISHED, Run.Status.FAILED)
    assert run.outcome in ("approved", "rejected") or "attempts" in run.error["message"]
    read, cached = (
        after[f"prompt_tokens_{name}"] - before[f"prompt_tokens_{name}"] for name in ("total", "cached_total")
    )
    assert cached > read / 4, f"{read} tokens were read, and {cached} of the server's own used again"


async def test_a_message_of_a_debate(mira: Any) -> None:
    members = [{"name": name, "who": "Knows the laboratory.", "model": MODEL} for name in ("Ana", "Bo")]
    about = {"owner": mira, "question": "Do we hire her?", "options": OPTIONS, "members": members}
    row = await sync_to_async(debate)(**about, switches={"first": False})
    assert amiss(await performed(row.pk, lambda calls: len(calls) > 0)) == []


def asked(owner: Any, **models: str) -> Any:
    about = {"owner": owner, "question": QUESTION, "documents": DOCUMENTS, "limits": NO_PAUSE}
    return inquiry(**about, models={post: models.get(post, f"test/{post}") for post in ROLES})


async def test_the_plan_of_an_inquiry(mira: Any) -> None:
    row = await sync_to_async(asked)(mira, planner=MODEL)
    assert amiss(await performed(row.pk, lambda calls: len(calls) > 0)) == []


async def test_a_move_of_research(mira: Any, models: ScriptedModels) -> None:
    going_well(models, planner=[planned("Find the limit of the law.")], critic_planner=[passes()])
    row = await sync_to_async(asked)(mira, researcher=MODEL)
    assert amiss(await performed(row.pk, lambda calls: len(calls) > 0, MixedModels(models))) == []


async def test_a_plan(mira: Any) -> None:
    row = await sync_to_async(plan)(mira, await sync_to_async(team)(planner=MODEL))
    assert amiss(await performed(row.pk, lambda calls: len(calls) > 0)) == []


async def test_a_step_of_a_mission(mira: Any) -> None:
    need("sandbox", not available(), available())
    crew = [agent_row({"name": "Ada"}, MODEL)]
    row = await sync_to_async(mission)(owner=mira, goal="Write hello.txt that holds the word hello.", agents=crew)
    assert amiss(await performed(row.pk, lambda calls: len(calls) > 0)) == []


async def test_a_cancelled_run_leaves_the_server_free(llama: Llama, mira: Any) -> None:
    """While it reads or writes for three: that takes far longer than to cancel, however busy the machine is."""
    row = await sync_to_async(Judgement.objects.submit)(owner=mira, content=JAPAN, agents=agents(*[MODEL] * 3))
    ended = llama.log.read_text().count("cancel task")

    def at_work(calls: list[ModelCall]) -> bool:
        return llama.busy() == llama.slots

    await performed(row.pk, at_work)

    async def free() -> bool:
        return llama.busy() == 0

    await until(free, "free slots of the server", AN_HOUR)
    assert llama.log.read_text().count("cancel task") > ended
