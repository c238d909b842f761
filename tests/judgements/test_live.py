"""The live page's fragments and its socket."""

import asyncio
import re

import pytest
from channels.db import database_sync_to_async
from channels.testing import WebsocketCommunicator
from django.contrib.auth.models import AnonymousUser
from django.contrib.sessions.backends.db import SessionStore
from django.urls import reverse

from engine import live
from engine.models import Run
from judgements.board import board_of
from judgements.consumers import LiveConsumer
from judgements.leaves import Sent, leaves
from judgements.models import Judgement
from tests.conftest import perform, says

pytestmark = pytest.mark.django_db(transaction=True)

EVIL = '<img src=x onerror="alert(1)"></script>'
PER_AGENT = ("state", "tally", "reason", "dstate", "sum", "rounds")
IDS = {
    *("plate", "verdict-sub", "verdict-meta", "actions", "matrix", "tr-empty", "announcer"),
    *(f"agent-{n}-{part}" for n in (1, 2, 3) for part in PER_AGENT),
    *(f"t-r{r}-a{n}" for r in (1, 2, 3) for n in (1, 2, 3)),
}


def board(judgement, **texts):
    judgement = Judgement.objects.whole().get(pk=judgement.pk)
    return board_of(judgement, list(judgement.run.calls.order_by("pk")), texts)


def ids(html):
    return re.findall(r'\sid="([^"]+)"', html)


async def watcher(judgement, user, session=None):
    socket = WebsocketCommunicator(LiveConsumer.as_asgi(), "/ws/")
    socket.scope |= {"user": user, "session": session, "url_route": {"kwargs": {"pk": judgement.pk}}}
    connected, _ = await socket.connect()
    return socket if connected else None


async def everything(socket):
    """All that the socket sends until it has been silent for a moment."""
    messages = []
    while not await socket.receive_nothing(timeout=0.4, interval=0.05):
        messages.append(await socket.receive_from())
    return messages


def test_the_page_has_each_id_once(client, mira, judgement):
    client.force_login(mira)
    found = ids(client.get(reverse("live", args=[judgement.pk])).content.decode())
    assert len(found) == len(set(found))
    assert set(found) >= IDS | {"ws"}


def test_the_snapshot_holds_every_leaf_once(judgement):
    html = Sent().changed(leaves(board(judgement)))
    assert sorted(re.findall(r'<\w+[^>]*\sid="([^"]+)"[^>]*hx-swap-oob', html)) == sorted(IDS)


def test_the_announcer_keeps_its_element(judgement):
    html = Sent().changed(leaves(board(judgement)))
    assert re.search(r'id="announcer"[^>]*hx-swap-oob="innerHTML"', html)


def test_only_leaves_that_changed_are_sent_again(judgement):
    sent = Sent()
    sent.changed(leaves(board(judgement)))
    assert sent.changed(leaves(board(judgement))) == ""
    Run.objects.claim("one", 1)
    assert 'id="agent-2-state"' in sent.changed(leaves(board(judgement)))


def test_the_socket_goes_when_the_judgement_is_over(judgement):
    Run.objects.update(status="failed", ended=judgement.run.created, error={"code": "internal", "message": "Oh."})
    html = Sent().changed(leaves(board(judgement)))
    assert re.search(r'<div id="ws"[^>]*>\s*</div>', html)
    assert "ws-connect" not in html


async def test_text_of_a_model_is_escaped_in_every_leaf(judgement, models):
    await Judgement.objects.aupdate(title=EVIL, content=EVIL)
    models.will("openai/a", says("approve", EVIL), f"{EVIL} is no JSON")
    await perform(judgement.pk, models)
    html = await database_sync_to_async(lambda: Sent().changed(leaves(board(judgement))))()
    assert EVIL not in html
    assert "&lt;img src=x" in html


async def test_a_watcher_gets_the_whole_board_and_then_what_changes(judgement, mira):
    socket = await watcher(judgement, mira)
    (snapshot,) = await everything(socket)
    assert "Idle" in snapshot
    await database_sync_to_async(Run.objects.claim)("one", 1)
    live.announce(judgement.pk)
    (change,) = await everything(socket)
    assert "Judging" in change
    assert len(change) < len(snapshot)
    await socket.disconnect()


async def test_a_growing_reason_reaches_the_watcher_and_only_its_leaves(judgement, mira):
    await database_sync_to_async(Run.objects.claim)("one", 1)
    socket = await watcher(judgement, mira)
    await everything(socket)
    live.show_text(judgement.pk, "B1", "Nothing in it speaks")
    (change,) = await everything(socket)
    assert set(ids(change)) >= {"agent-2-reason", "agent-2-rounds", "t-r1-a2"}
    assert "agent-1-reason" not in change
    await socket.disconnect()


async def test_a_lost_nudge_is_made_up_for(judgement, mira):
    socket = await watcher(judgement, mira)
    await everything(socket)
    await database_sync_to_async(Run.objects.claim)("one", 1)
    assert "Judging" in await socket.receive_from(timeout=3)
    await socket.disconnect()


async def test_a_watcher_sees_a_judgement_to_its_end(judgement, mira, models):
    socket = await watcher(judgement, mira)
    await perform(judgement.pk, models)
    assert "Approved" in "".join(await everything(socket))
    await socket.disconnect()


async def test_a_stranger_and_another_user_see_nothing(judgement, noor):
    assert await watcher(judgement, AnonymousUser()) is None
    assert await watcher(judgement, noor) is None


@pytest.mark.parametrize("growing", [True, False])
async def test_a_user_who_is_shut_out_sees_nothing_more(judgement, mira, growing):
    await database_sync_to_async(Run.objects.claim)("one", 1)
    socket = await watcher(judgement, mira)
    await everything(socket)
    mira.is_active = False
    await mira.asave()
    output = {"type": "websocket.send"}
    for number in range(40):
        if growing:
            live.show_text(judgement.pk, "B1", f"Nothing in it speaks {number}")
        if not await socket.receive_nothing(timeout=0.1) and output["type"] == "websocket.send":
            output = await socket.receive_output()
    assert (output["type"], output["code"]) == ("websocket.close", 4404)


async def test_a_user_who_signs_out_sees_nothing_more(judgement, mira):
    session = SessionStore()
    await session.acreate()
    socket = await watcher(judgement, mira, session)
    await everything(socket)
    await session.aflush()
    assert (await socket.receive_output(timeout=4))["code"] == 4404


async def test_a_push_that_fails_is_only_logged(judgement, settings, models, caplog):
    settings.CHANNEL_LAYERS = {"default": {"BACKEND": "tests.judgements.test_live.BrokenLayer"}}
    assert (await perform(judgement.pk, models)).status == Run.Status.FINISHED
    await asyncio.sleep(0.05)
    assert "A push was lost" in caplog.text


class BrokenLayer:
    def __init__(self, **config):
        pass

    async def send(self, channel, message):
        raise ConnectionError("Redis is gone")

    group_send = send
