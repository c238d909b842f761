"""The live page's fragments and its socket."""

import asyncio
import re
from uuid import uuid4

import pytest
from channels.db import database_sync_to_async
from channels.testing import WebsocketCommunicator
from django.contrib.auth.models import AnonymousUser
from django.contrib.sessions.backends.db import SessionStore
from django.urls import reverse

from engine import pubsub, run_control
from engine.models import ModelCall, Run
from judgements.display import display_of, fragments
from judgements.models import CRITERIA_LENGTH, Judgement
from judgements.prompts import LONGEST_REASON
from runs.live.consumers import RunConsumer
from runs.procedure.fragments import LivePageState
from tests.conftest import JAPAN, agents, claim, perform, says
from tests.judgements.open_pages import until

pytestmark = pytest.mark.django_db(transaction=True)

EVIL = '<img src=x onerror="alert(1)"></script>'
PER_AGENT = ("state", "tally", "reason", "dstate", "sum", "rounds")
IDS = {
    *(
        "plate",
        "stamp",
        "chips",
        "verdict-sub",
        "verdict-meta",
        "actions",
        "kept",
        "matrix",
        "decided",
        "tr-empty",
        "announcer",
        "replay",
    ),
    *(f"agent-{n}-{part}" for n in (1, 2, 3) for part in PER_AGENT),
    *(f"t-r{r}-a{n}" for r in (1, 2, 3) for n in (1, 2, 3)),
}


def display(judgement, **texts):
    judgement = Judgement.objects.with_agents().get(pk=judgement.pk)
    return display_of(judgement, list(judgement.run.calls.order_by("pk")), texts)


def under_way(judgement, *steps):
    """The judgement is claimed, and models have been asked for these steps."""
    claim("one", 1)
    for step in steps:
        ModelCall.objects.create(
            run=judgement.run, step=step, attempt=1, model="x", prompt="[]", deadline=judgement.run.created
        )


def ids(html):
    return re.findall(r'\sid="([^"]+)"', html)


def snapshot(judgement):
    page = LivePageState()
    page.update(fragments(display(judgement)), 1)
    return page.newer_than(0)


@pytest.fixture
async def open_socket():
    """Opens sockets as a browser would; what is open at the end is closed."""
    sockets = []

    async def open_socket(judgement, user, session=None):
        socket = WebsocketCommunicator(RunConsumer.as_asgi(), "/ws/")
        socket.scope |= {"user": user, "session": session, "url_route": {"kwargs": {"pk": judgement.pk}}}
        connected, _ = await socket.connect(timeout=10)
        if not connected:
            return None
        sockets.append(socket)
        return socket

    yield open_socket
    for socket in sockets:
        await socket.disconnect(timeout=10)


async def next_message(socket):
    """The next message, acknowledged as the page does it."""
    message = await socket.receive_from(30)
    await socket.send_to(re.match(r"<!--(\d+)-->", message)[1])
    return message


async def message_with(socket, word):
    async with asyncio.timeout(30):
        while word not in (message := await next_message(socket)):
            pass
    return message


async def closing_code(socket):
    """The code that the socket is closed with; what is sent before is read away."""
    async with asyncio.timeout(60):
        while (output := await socket.receive_output(30))["type"] != "websocket.close":
            pass
    return output["code"]


def test_the_page_has_each_id_once(client, mira, judgement):
    client.force_login(mira)
    found = ids(client.get(reverse("live", args=[judgement.pk])).content.decode())
    assert len(found) == len(set(found))
    assert set(found) >= IDS | {"ws"}


def test_the_snapshot_holds_every_fragment_once(judgement):
    html = snapshot(judgement)
    assert sorted(re.findall(r'<\w+[^>]*\sid="([^"]+)"[^>]*hx-swap-oob', html)) == sorted(IDS)


def poll(client, judgement, tag=""):
    headers = {"If-None-Match": tag} if tag else {}
    return client.get(reverse("fragments", args=[judgement.pk]), headers=headers)


def test_a_poll_brings_every_fragment_and_nothing_while_nothing_has_changed(client, mira, judgement):
    client.force_login(mira)
    first = poll(client, judgement)
    assert set(ids(first.content.decode())) == IDS | {"conn", "decided-h", "asking"}
    assert (poll(client, judgement, first["ETag"]).status_code, first["Cache-Control"]) == (304, "no-store")
    claim("one", 1)
    again = poll(client, judgement, first["ETag"])
    assert "Judging" in again.content.decode()
    assert again["ETag"] != first["ETag"]


def test_a_poll_without_a_change_reads_no_judgement(client, mira, judgement, django_assert_num_queries):
    client.force_login(mira)
    tag = poll(client, judgement)["ETag"]
    with django_assert_num_queries(4):  # session, user, its permissions, revision
        poll(client, judgement, tag)


def test_the_last_poll_takes_the_socket_away(client, mira, judgement):
    client.force_login(mira)
    run_control.cancel(judgement.pk, mira)
    assert re.search(r'<div id="ws"[^>]*></div>', poll(client, judgement).content.decode())


def test_who_has_signed_out_or_may_not_see_it_polls_in_vain(client, mira, noor, judgement):
    client.force_login(mira)
    tag = poll(client, judgement)["ETag"]
    client.logout()
    assert reverse("login") in poll(client, judgement, tag)["Location"]
    client.force_login(noor)
    assert poll(client, judgement, tag).status_code == 404


def test_the_announcer_keeps_its_element(judgement):
    assert re.search(r'id="announcer"[^>]*hx-swap-oob="innerHTML"', snapshot(judgement))


def test_only_fragments_that_changed_are_new(judgement):
    page = LivePageState()
    page.update(fragments(display(judgement)), 1)
    page.update(fragments(display(judgement)), 1)
    assert page.version == 1
    claim("one", 1)
    page.update(fragments(display(judgement)), 1)
    news = page.newer_than(1)
    assert news.startswith("<!--2-->")
    assert 'id="agent-2-state"' in news
    assert 'id="agent-2-sum"' not in news


async def test_the_largest_judgement_fits_into_one_message(mira, models):
    trio = [agent | {"criteria": "'" * CRITERIA_LENGTH} for agent in agents("openai/a", "openai/b", "openai/c")]
    judgement = await database_sync_to_async(Judgement.objects.submit)(owner=mira, content=JAPAN, agents=trio)
    for model in ("openai/a", "openai/b", "openai/c"):
        models.will(model, *[says("reject", "a b" + "'" * (LONGEST_REASON - 3))] * 3)
    await perform(judgement.pk, models)
    html = await database_sync_to_async(snapshot)(judgement)
    assert 600_000 < len(html.encode()) < 1024 * 1024  # what the server sends at most


@pytest.mark.parametrize(("status", "stays"), [("cancelled", False), ("failed", True)])
def test_the_socket_goes_only_when_nothing_can_change_any_more(judgement, status, stays):
    Run.objects.update(status=status, ended=judgement.run.created, error={"code": "internal", "message": "Oh."})
    html = snapshot(judgement)
    assert bool(re.search(r'<div id="ws"[^>]*>\s*</div>', html)) is not stays
    assert "ws-connect" not in html


async def test_text_of_a_model_is_escaped_in_every_fragment(mira, models):
    said = {"title": EVIL, "content": EVIL, "agents": agents("openai/a", "openai/b", "openai/c")}
    judgement = await database_sync_to_async(Judgement.objects.submit)(owner=mira, **said)
    models.will("openai/a", says("approve", EVIL), f"{EVIL} is no JSON")
    await perform(judgement.pk, models)
    html = await database_sync_to_async(snapshot)(judgement)
    assert EVIL not in html
    assert "&lt;img src=x" in html


async def test_a_watcher_gets_the_whole_display_and_then_what_changes(judgement, mira, open_socket):
    socket = await open_socket(judgement, mira)
    whole = await next_message(socket)
    assert set(ids(whole)) >= IDS
    await database_sync_to_async(claim)("one", 1)
    pubsub.announce(judgement.pk)
    change = await next_message(socket)
    assert "Judging" in change
    assert "agent-1-sum" not in ids(change)


async def test_a_growing_reason_reaches_the_watcher_and_only_its_fragments(judgement, mira, open_socket):
    await database_sync_to_async(under_way)(judgement, "B1")
    socket = await open_socket(judgement, mira)
    await next_message(socket)
    pubsub.show_text(judgement.pk, "B1", "Nothing in it speaks")
    change = await next_message(socket)
    assert {"agent-2-reason", "agent-2-rounds", "t-r1-a2", "asking"} == set(ids(change))


async def test_a_watcher_sees_a_judgement_to_its_end(judgement, mira, models, open_socket):
    socket = await open_socket(judgement, mira)
    await perform(judgement.pk, models)
    assert 'id="ws"' in await message_with(socket, "Approved")


async def test_a_stranger_and_another_user_see_nothing(judgement, noor, open_socket):
    assert await open_socket(judgement, AnonymousUser()) is None
    assert await open_socket(judgement, noor) is None


async def test_nobody_watches_a_judgement_that_does_not_exist(mira, open_socket):
    assert await open_socket(Judgement(pk=uuid4()), mira) is None


@pytest.mark.parametrize("growing", [True, False])
async def test_a_user_who_is_shut_out_is_told_so_and_sees_nothing_more(judgement, mira, growing, open_socket):
    await database_sync_to_async(under_way)(judgement, "B1")
    socket = await open_socket(judgement, mira)
    await next_message(socket)
    mira.is_active = False
    await mira.asave()
    closing = asyncio.create_task(closing_code(socket))
    for number in range(50 if growing else 0):
        pubsub.show_text(judgement.pk, "B1", f"Nothing in it speaks {number}")
        await asyncio.wait([closing], timeout=0.1)
    assert await closing == 4404


async def test_a_user_who_signs_out_sees_nothing_more(judgement, mira, open_socket):
    session = SessionStore()
    await session.acreate()
    socket = await open_socket(judgement, mira, session)
    await session.aflush()
    assert await closing_code(socket) == 4404


async def test_a_new_password_ends_what_the_old_one_opened(judgement, mira, open_socket):
    socket = await open_socket(judgement, mira)
    mira.set_password("another long secret")
    await mira.asave()
    assert await closing_code(socket) == 4404


async def test_what_no_page_says_is_not_heard(judgement, mira, open_socket):
    socket = await open_socket(judgement, mira)
    await next_message(socket)
    for nonsense in ("-1", "1e3", "null", '{"ack": 1}', "²", "9" * 1024):
        await socket.send_to(nonsense)
    await database_sync_to_async(claim)("one", 1)
    assert "Judging" in await next_message(socket)


@pytest.mark.parametrize("said", ["1" * 1025, b"1"])
async def test_a_page_that_says_much_is_closed(judgement, mira, open_socket, said):
    socket = await open_socket(judgement, mira)
    await socket.send_input({"type": "websocket.receive", "bytes" if isinstance(said, bytes) else "text": said})
    assert await closing_code(socket) == 1009


async def test_the_twenty_first_page_of_one_user_is_closed(judgement, mira, reviewer, open_socket):
    for _ in range(20):
        await next_message(await open_socket(judgement, mira))
    assert await closing_code(await open_socket(judgement, mira)) == 4429
    assert "Idle" in await next_message(await open_socket(judgement, reviewer))


async def test_a_push_that_fails_is_only_logged(judgement, settings, models, caplog, monkeypatch):
    monkeypatch.setattr(pubsub.log, "filters", [])  # another test may have said it just now
    settings.CHANNEL_LAYERS = {"default": {"BACKEND": "tests.judgements.test_live.BrokenLayer"}}
    assert (await perform(judgement.pk, models)).status == Run.Status.FINISHED
    await until(lambda: "A push was lost" in caplog.text)


class BrokenLayer:
    def __init__(self, **config):
        pass

    async def send(self, channel, message):
        raise ConnectionError("Redis is gone")

    group_send = send
