"""What programs rely on of a debate: waiting for its end or for somebody, following it, its lists, and what a person on
a seat must not know before its end."""

import json
from types import SimpleNamespace

import pytest
from asgiref.sync import sync_to_async
from django.test import AsyncClient
from django.urls import reverse

from debates import schemas
from debates.models import Debate, FirstVerdict
from engine.gate_decisions import decide
from engine.models import Gate, Run
from engine.text.search_terms import label_term
from magi_site.models import Token
from runs import run_actions
from runs.models import SearchText
from runs.record.document import record_line
from tests.callers import API
from tests.conftest import perform
from tests.databases import copied_async
from tests.debates.rows import over, queued, say
from tests.debates.test_procedure import AgreeingModels, clara, debate, says, waiting_for

__all__ = ["clara"]

pytestmark = pytest.mark.django_db
TYPED = {"content": "I have read it all.", "verdict": "DO NOT HIRE", "verdict_reasoning": "It has no methods."}


@pytest.fixture
def calls(mira):
    """A program of Mira's that may wait."""
    secret = Token.objects.make(mira, scopes=["submit", "steer", "decide"]).secret
    client, headers = AsyncClient(), {"Authorization": f"Bearer {secret}"}

    async def get(path, **asked):
        return await client.get(f"{API}{path}", asked, headers=headers)

    async def post(path, body):
        return await client.post(f"{API}{path}", body, "application/json", headers=headers)

    return SimpleNamespace(get=get, post=post)


@pytest.fixture
async def asked(mira, clara):
    """A debate that waits for Clara; the first verdicts of the others are there."""
    submitted, models = await waiting_for(clara, most=6)
    await Run.objects.filter(pk=submitted.pk).aupdate(owner=mira)
    return SimpleNamespace(pk=submitted.pk, models=models)


# ---- waiting ----------------------------------------------------------------------------------------------


async def test_a_wait_for_somebody_ends_where_somebody_is_needed(calls, asked):
    answer = await calls.get(f"/debates/{asked.pk}", wait=20, until="end,gate")
    found = answer.json()
    assert (found["status"], found["outcome"]) == ("waiting", None)
    [gate] = found["gates"]
    assert (gate["kind"], gate["state"], gate["asked"]) == ("turn", "pending", "clara")
    assert [choice["word"] for choice in gate["choices"]] == ["speak", "skip"]
    assert schemas.DebateOut.model_validate(found)


async def test_a_wait_for_the_end_does_not_end_there(calls, asked):
    assert (await calls.get(f"/debates/{asked.pk}", wait=0.3)).json()["status"] == "waiting"


async def test_what_is_waited_for_is_checked(calls, asked):
    for until in ("", "never", "gate,never"):
        assert (await calls.get(f"/debates/{asked.pk}", wait=1, until=until)).status_code == 422


async def test_the_gate_of_the_object_is_the_one_that_is_decided(calls, asked, clara):
    gate = await Gate.objects.aget(run=asked.pk, state="pending")
    found = (await calls.get(f"/gates/{gate.pk}")).json()
    assert found == (await calls.get(f"/debates/{asked.pk}")).json()["gates"][0]
    await sync_to_async(decide)(gate.pk, clara, "answer", choice="speak", answer=TYPED)
    [decided, *_] = (await calls.get(f"/debates/{asked.pk}")).json()["gates"]
    assert (decided["state"], decided["decisions"][0]["choice"]) == ("answered", "speak")


# ---- following --------------------------------------------------------------------------------------------


async def test_a_debate_is_followed_by_its_own_name(calls, mira):
    found = await sync_to_async(lambda: over(queued(mira)))()
    answer = await calls.get(f"/debates/{found.pk}/events")
    pieces = b"".join([piece async for piece in answer.streaming_content]).decode()
    name, number, data = pieces.strip().split("\n")
    assert (name, number.split(": ")[0]) == ("event: debate", "id")
    assert json.loads(data.removeprefix("data: ")) == (await calls.get(f"/debates/{found.pk}")).json()


# ---- lists ------------------------------------------------------------------------------------------------


@pytest.fixture
def three(mira):
    """One that waits in the queue, one that has decided to hire, one that was cancelled."""
    waits, hired, gone = (queued(mira, title=title) for title in ("waits", "hired", "gone"))
    for seat in (1, 2):
        say(hired, seat, "HIRE")
    over(hired)
    run_actions.cancel(gone, None)
    return waits, hired, gone


LISTS = (
    ({}, ["gone", "hired", "waits"]),
    ({"status": "queued"}, ["waits"]),
    ({"status": "finished"}, ["hired"]),
    ({"status": "cancelled"}, ["gone"]),
    ({"outcome": "nothing like that"}, []),
    ({"q": "gone"}, ["gone"]),
)


async def test_debates_are_listed_as_they_stand(calls, three):
    for asked, titles in LISTS:
        for path in ("/debates", "/runs"):
            answer = await calls.get(path, **asked)
            assert [one["title"] for one in answer.json()["results"]] == titles, (path, asked)
    assert (await calls.get("/debates", status="debating")).status_code == 422


async def test_they_are_listed_by_what_came_of_them(calls, mira):
    gone = await sync_to_async(queued)(mira)
    await sync_to_async(run_actions.cancel)(gone, None)
    await sync_to_async(lambda: SearchText.objects.add(gone.pk, [label_term("outcome", "HIRE")]))()
    for path in ("/debates", "/runs"):
        answer = await calls.get(path, outcome="hire", status="cancelled")
        assert [one["id"] for one in answer.json()["results"]] == [str(gone.pk)]


# ---- a person on a seat -----------------------------------------------------------------------------------


@pytest.fixture
async def veiled(mira, clara):
    """A debate that waits for Clara; what Ada stood by alone names marmots."""
    return await with_a_secret(mira, clara)


@copied_async
async def with_a_secret(mira, clara):
    members = [{"name": "Ada", "who": "Ada asks.", "model": "test/ada"}, {"name": "Clara", "user": clara}]
    models = AgreeingModels()
    alone = {"verdict_reasoning": "The marmots say so.", "verdict": "HIRE", "confidence": 70}
    asks = says("What do you make of it, Clara?", speaking_to=["Clara"], expects_answer=True)
    models.will("test/ada", json.dumps(alone), asks)
    submitted = await sync_to_async(debate)(members=members)
    await Run.objects.filter(pk=submitted.pk).aupdate(owner=mira)
    await perform(submitted.pk, models)
    assert await FirstVerdict.objects.acount() == 1
    return submitted.pk


@pytest.fixture
async def pages(mira, reviewer):
    """What Mira's pages and the reviewers' say of it."""
    browsers = [AsyncClient(), AsyncClient()]
    await browsers[0].aforce_login(mira)
    await browsers[1].aforce_login(reviewer)
    names = ("debate-live", "debate-record", "debate-fragments", "admin:debates_debate_change")

    async def said(pk):
        answers = [await one.get(reverse(name, args=[pk]), follow=True) for one in browsers for name in names]
        return " ".join([answer.content.decode() for answer in answers])

    return said


async def test_what_others_said_alone_is_nowhere_before_the_end(calls, veiled, pages):
    assert "marmots" not in await pages(veiled)
    for path in (f"/debates/{veiled}", f"/debates/{veiled}/messages", f"/runs/{veiled}", "/debates", "/runs"):
        answer = await calls.get(path)
        assert (answer.status_code, "marmots" in answer.content.decode()) == (200, False)
    assert (await calls.get("/debates", q="marmots")).json()["results"] == []


async def test_after_the_end_it_is_there(calls, veiled, pages):
    await sync_to_async(lambda: run_actions.cancel(Debate.objects.get(pk=veiled), None))()
    assert "marmots" in await pages(veiled)
    assert (await calls.get(f"/debates/{veiled}")).json()["first"]["verdicts"][0]["reasoning"] == "The marmots say so."


async def test_without_a_person_the_record_is_had_at_any_time(calls, mira):
    waits = await sync_to_async(queued)(mira)
    answer = await calls.get(f"/debates/{waits.pk}/record")
    assert answer.json() == json.loads(await sync_to_async(record_line)(waits.pk))
