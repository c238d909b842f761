"""The open page of somebody hears at once what waits for them, and nobody else's."""

import asyncio
import json

import pytest
from asgiref.sync import sync_to_async
from channels.testing import WebsocketCommunicator
from django.contrib.auth.models import AnonymousUser
from django.contrib.sessions.backends.db import SessionStore
from django.db import DatabaseError
from django.urls import reverse
from django.utils import timezone

from engine import gate_decisions
from engine.models import Gate, Run
from engine.policy import parse_policy
from runs.live import notifications
from runs.live.consumers import PendingConsumer
from tests.conftest import at_once

pytestmark = pytest.mark.django_db(transaction=True)


@sync_to_async
def ask(owner, title="A letter"):
    run = Run.objects.create(procedure="judgement", owner=owner, status=Run.Status.WAITING)
    about = {"kind": "letter", "title": title, "text": "Dear Ada", "policy": parse_policy({})}
    return Gate.objects.create(run=run, step="letter", number=1, made=timezone.now(), **about)


@pytest.fixture
async def listens(monkeypatch):
    monkeypatch.setattr(notifications, "POLL_SECONDS", 0.05)
    sockets = []

    async def listens(user, after=0, session=None):
        socket = WebsocketCommunicator(PendingConsumer.as_asgi(), f"/ws/waiting/?after={after}")
        socket.scope |= {"user": user, "session": session}
        connected, _ = await socket.connect(timeout=30)
        sockets.append(socket)
        return socket if connected else None

    yield listens
    for socket in sockets:
        await socket.disconnect(timeout=30)
    if notifications._looking and not notifications._looking.done():
        await asyncio.wait([notifications._looking])


async def hears(socket):
    return json.loads(await socket.receive_from(timeout=30))


async def comes(socket, said):
    """What is counted and what is named may be of two moments: the next look puts that right."""
    async with asyncio.timeout(30):
        while await hears(socket) != said:
            pass


async def test_it_says_what_waits_and_then_what_is_new(listens, mira):
    known = await ask(mira)
    socket = await listens(mira, after=known.pk)
    assert await hears(socket) == {"number": "1", "new": []}
    gate = await ask(mira, "Another")
    new = {"id": gate.pk, "title": "Another", "address": reverse("gate", args=[gate.pk])}
    await comes(socket, {"number": "2", "new": [new]})


async def test_what_was_decided_is_counted_no_more(listens, mira):
    gate = await ask(mira)
    socket = await listens(mira, after=gate.pk)
    await hears(socket)
    await sync_to_async(gate_decisions.decide)(gate.pk, mira, "approve")
    assert await hears(socket) == {"number": "", "new": []}


async def test_others_hear_nothing_of_it(listens, mira, noor):
    socket = await listens(noor)
    assert await hears(socket) == {"number": "", "new": []}
    await ask(mira)
    assert await socket.receive_nothing(timeout=0.5)


async def test_who_is_not_signed_in_is_turned_away(listens):
    assert await listens(AnonymousUser()) is None


async def test_whose_session_has_ended_hears_nothing_more(listens, mira):
    session = SessionStore()
    await sync_to_async(session.create)()
    socket = await listens(mira, session=session)
    await hears(socket)
    await sync_to_async(session.delete)()
    await ask(mira)
    assert await socket.receive_output(timeout=30) == {"type": "websocket.close", "code": 4404}


async def test_who_signs_out_while_news_are_looked_for_hears_none_of_them(listens, mira, monkeypatch):
    session, look = SessionStore(), notifications._new
    await sync_to_async(session.create)()
    socket = await listens(mira, session=session)
    await hears(socket)
    monkeypatch.setattr(
        notifications, "_new", lambda *which: at_once(session.delete, refused=DatabaseError) and look(*which)
    )
    await ask(mira)
    assert await socket.receive_output(timeout=30) == {"type": "websocket.close", "code": 4404}


async def test_nobody_opens_too_many(listens, mira, monkeypatch):
    monkeypatch.setattr(notifications, "SOCKETS_PER_USER", 1)
    await hears(await listens(mira))
    second = await listens(mira)
    assert (await second.receive_output(timeout=30))["code"] == 4429


async def test_a_page_that_talks_is_closed(listens, mira):
    socket = await listens(mira)
    await hears(socket)
    await socket.send_to(text_data="hello")
    assert (await socket.receive_output(timeout=30))["type"] == "websocket.close"


async def test_a_database_that_is_away_for_a_moment_closes_pages_and_ends_nothing_else(listens, mira, monkeypatch):
    socket = await listens(mira)
    await hears(socket)
    monkeypatch.setattr(notifications, "_stamp", lambda: 1 / 0)
    assert (await socket.receive_output(timeout=30))["code"] == 1013
    monkeypatch.undo()
    assert await hears(await listens(mira)) == {"number": "", "new": []}


def test_the_page_knows_the_newest_and_has_the_switch_that_only_scripts_show(client, mira):
    client.force_login(mira)
    html = client.get(reverse("waiting")).content.decode()
    assert 'data-after="0"' in html
    assert 'id="tell" aria-pressed="false" hidden' in html
    assert "js/waiting.js" in html


# ---- how one's runs go ------------------------------------------------------------------------------------


@sync_to_async
def begin(owner, **more):
    return Run.objects.create(procedure="judgement", owner=owner, title="Japan", **more)


@sync_to_async
def end(run, outcome="approved"):
    Run.objects.filter(pk=run.pk).update(status="finished", outcome=outcome, ended=timezone.now())


async def follows(listens, user, since=0):
    return await listens(user, f"0&since={since}")


async def test_who_follows_hears_how_many_runs_are_under_way_and_which_have_ended(listens, mira):
    run = await begin(mira, status=Run.Status.RUNNING)
    socket = await follows(listens, mira)
    assert (await hears(socket))["running"] == "1"
    await end(run)
    async with asyncio.timeout(30):
        while (said := await hears(socket))["running"]:
            pass  # what is counted and what is named may be of two moments
    over = {"title": "Japan", "word": "Approved", "address": reverse("live", args=[run.pk])}
    assert (said["running"], said["over"]) == ("", [over])


async def test_nobody_hears_how_the_runs_of_others_go(listens, mira, noor):
    run = await begin(mira, status=Run.Status.RUNNING)
    socket = await follows(listens, noor)
    said = await hears(socket)
    assert (said["running"], said["over"]) == ("", [])
    await end(run)
    assert await socket.receive_nothing(timeout=0.5)


@pytest.mark.parametrize("since", ["0", "9" * 18])
async def test_what_ended_before_is_not_told_late(listens, mira, since):
    before = timezone.now() - timezone.timedelta(minutes=1)
    await begin(mira, status="finished", outcome="approved", ended=before)
    assert (await hears(await follows(listens, mira, since)))["over"] == []
