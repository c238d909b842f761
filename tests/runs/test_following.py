"""To wait for a run and to follow it by the API."""

import asyncio
import gc

import pytest
from asgiref.sync import sync_to_async
from django.test import AsyncClient

from engine import pubsub
from judgements import schemas
from judgements.models import Judgement
from magi_site.models import Token
from runs import run_actions
from runs.api import waiting
from tests.callers import API, bearer, messages, problem
from tests.conftest import JAPAN, agents, perform, submitted
from tests.waiting import until

pytestmark = pytest.mark.django_db


@pytest.fixture
async def async_mira(mira):
    """Asks for an address of the API as Mira."""
    token = await sync_to_async(bearer)(mira)

    async def get(path, headers=(), **query):
        return await AsyncClient().get(f"{API}{path}", headers=token | dict(headers), query_params=query)

    return get


@pytest.fixture
def place_free():
    yield
    assert waiting._taken.total() == 0


slow = pytest.mark.django_db(transaction=True)


@slow
async def test_a_wait_ends_with_the_judgement(async_mira, mira, place_free):
    made = await sync_to_async(Judgement.objects.submit)(owner=mira, content=JAPAN, agents=agents())
    asking = asyncio.create_task(async_mira(f"/judgements/{made.pk}", wait="30"))
    await perform(made.pk)
    answer = await asyncio.wait_for(asking, 30)
    assert answer.json()["status"] in ("approved", "rejected")
    schemas.JudgementOut.model_validate(answer.json())


@slow
async def test_a_wait_ends_after_its_time(async_mira, judgement, place_free):
    answer = await async_mira(f"/judgements/{judgement.pk}", wait="0.3")
    assert (answer.status_code, answer.json()["status"]) == (200, "idle")


@slow
async def test_a_stream_brings_each_revision_and_ends(async_mira, mira, place_free):
    made = await sync_to_async(Judgement.objects.submit)(owner=mira, content=JAPAN, agents=agents())
    answer = await async_mira(f"/judgements/{made.pk}/events")
    assert answer.headers["Content-Type"] == "text/event-stream"
    told = messages(answer)
    async with asyncio.timeout(60):
        found = [await anext(told)]
        performing = asyncio.create_task(perform(made.pk))
        found += [message async for message in told]
    await performing
    revisions = [revision for revision, _ in found]
    assert revisions == sorted(set(revisions))
    assert all(revision == data["revision"] for revision, data in found)
    assert found[0][1]["status"] == "idle"
    assert found[-1][1]["status"] in ("approved", "rejected")


@slow
async def test_a_stream_goes_on_after_what_is_known(async_mira, judgement, place_free):
    path = f"/judgements/{judgement.pk}/events"
    answer = await async_mira(path, headers={"Last-Event-ID": "0"})
    told = messages(answer)
    following = asyncio.create_task(anext(told))
    done, _ = await asyncio.wait([following], timeout=0.3)
    assert not done
    await sync_to_async(run_actions.cancel)(judgement, None)
    revision, data = await asyncio.wait_for(following, 30)
    assert (revision, data["status"]) == (1, "cancelled")
    assert [message async for message in told] == []
    assert (await async_mira(path, headers={"Last-Event-ID": "1"})).status_code == 204
    late = await async_mira(path, headers={"Last-Event-ID": "nonsense"})
    assert [r async for r, _ in messages(late)] == [1]


@slow
@pytest.mark.parametrize("ended", ["token", "user"])
async def test_a_stream_ends_with_the_right_to_it(async_mira, judgement, mira, ended, place_free):
    answer = await async_mira(f"/judgements/{judgement.pk}/events")
    told = messages(answer)
    await anext(told)
    if ended == "token":
        await sync_to_async(Token.objects.all().revoke)()
    else:
        await type(mira).objects.aupdate(is_active=False)
    pubsub.announce(judgement.pk)
    async with asyncio.timeout(30):
        assert [message async for message in told] == []


def test_each_look_of_a_stream_reads_the_right_to_see_it(mira, noor):
    judgement, token = submitted(noor), Token.objects.make(mira)
    assert waiting._look(judgement.pk, token, "http://magi", None) == waiting.SentState(None, last=True)


@slow
async def test_a_stream_that_nobody_reads_gives_its_place_back(judgement, mira, place_free):
    token = await sync_to_async(Token.objects.make)(mira)
    pieces = waiting.stream(judgement.pk, token, "http://magi", None, "judgement")
    assert await anext(pieces) == ""
    assert waiting._taken.total() == 1
    del pieces
    gc.collect()

    async def is_free():
        return not waiting._taken.total()

    await until(is_free, "its place is free")


@slow
@pytest.mark.parametrize(("limit", "status"), [("MAX_LISTENERS_PER_USER", 429), ("MAX_LISTENERS", 503)])
async def test_there_are_only_so_many_places(async_mira, judgement, monkeypatch, limit, status):
    monkeypatch.setattr(waiting, limit, 0)
    for path, query in (("/events", {}), ("", {"wait": "1"})):
        answer = await async_mira(f"/judgements/{judgement.pk}{path}", **query)
        problem(answer, status)
        assert answer.headers["Retry-After"] == "5"
