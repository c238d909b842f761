"""What the open pages of one judgement are sent, whatever the channel layer and the pages do."""

import asyncio
import re
import time
from uuid import uuid4

import pytest
from channels.db import database_sync_to_async
from django.contrib.auth.models import AnonymousUser, Group, User
from django.contrib.sessions.backends.db import SessionStore
from django.db import DatabaseError, connection
from django.test.utils import CaptureQueriesContext

from engine import pubsub
from engine.db.reader import read
from engine.models import ModelCall, Run
from magi_site.groups import REVIEWERS
from runs.live import feed
from tests.conftest import allow, at_once
from tests.judgements.open_pages import LivePage, ask, asked, change, parts, until

pytestmark = pytest.mark.django_db(transaction=True)


async def test_all_pages_of_a_process_share_one_reading_and_one_subscription(judgement, mira, reviewer, opened):
    pages = [await opened(user) for user in (mira, reviewer, mira)]
    assert len({id(page.feed) for page in pages}) == 1
    await until(lambda: all("Idle" in page.shown for page in pages))
    name = await change(judgement)
    await until(lambda: all(name in page.shown for page in pages))
    assert len({page.last for page in pages}) == 1


async def test_a_page_that_comes_later_gets_everything_at_once(judgement, mira, opened):
    first = await opened(mira)
    name = await change(judgement)
    await until(lambda: name in first.shown)
    second = await opened(mira)
    await until(lambda: second.messages)
    assert second.fragments == first.fragments


async def test_a_lost_nudge_is_made_up_for(judgement, mira, opened, monkeypatch):
    monkeypatch.setattr(feed, "POLL_SECONDS", 0.2)
    page = await opened(mira)
    await until(lambda: page.messages)
    name = await change(judgement, announced=False)
    await until(lambda: name in page.shown)


async def test_many_nudges_about_nothing_send_nothing(judgement, mira, opened):
    page = await opened(mira)
    await until(lambda: page.messages)
    for _ in range(50):
        pubsub.announce(judgement.pk)
    name = await change(judgement)
    await until(lambda: name in page.shown)
    assert len(page.messages) == 2


async def test_changes_that_come_together_go_out_together(judgement, mira, opened, clock):
    page = await opened(mira)
    await until(lambda: page.messages)
    for _ in range(4):
        last = await change(judgement)
    await clock.moves(page, feed.MIN_INTERVAL)
    await until(lambda: last in page.shown)
    assert len(page.messages) == 2


async def test_growing_text_comes_at_most_four_times_a_second(judgement, mira, opened, clock):
    await asked(judgement, "A1", "B1")
    page = await opened(mira)
    await until(lambda: page.messages)
    pubsub.show_text(judgement.pk, "A1", "So far 0.")
    await until(lambda: "So far 0." in page.shown)
    for number in range(1, 9):
        pubsub.show_text(judgement.pk, "AB"[number % 2] + "1", f"So far {number}.")
    await until(lambda: "So far 8." in str(page.feed._texts))
    await clock.moves(page, 0.25)
    await until(lambda: "So far 8." in page.shown)
    assert "So far 7." in page.shown
    assert len(page.messages) == 3


async def test_text_that_comes_late_does_not_undo_a_decision(judgement, mira, opened):
    await asked(judgement, "B1")
    call = await database_sync_to_async(ask)(judgement, "A1")
    page = await opened(mira)
    await until(lambda: page.messages)
    pubsub.show_text(judgement.pk, "A1", "Half a sentence")
    await until(lambda: "Half a sentence" in page.shown)
    await database_sync_to_async(decide)(judgement, call)
    pubsub.announce(judgement.pk)
    await until(lambda: "The whole sentence." in page.shown)
    pubsub.show_text(judgement.pk, "A1", "Half a sentence")
    pubsub.show_text(judgement.pk, "B1", "Another one")
    await until(lambda: "Another one" in page.shown)
    assert "Half a sentence" not in page.shown


def decide(judgement, call):
    agent = judgement.agents.get(seat="A")
    agent.decisions.create(round=1, decision="approve", reason="The whole sentence.", call=call)
    ModelCall.objects.filter(pk=call.pk).update(status="answered", ended=call.started)
    run = Run.objects.get(pk=judgement.pk)
    Run.objects.filter(pk=run.pk).update(revision=run.revision + 1)


async def test_the_text_of_a_failed_attempt_is_not_shown_as_that_of_the_next(judgement, mira, opened):
    await asked(judgement, "A1")
    page = await opened(mira)
    await until(lambda: page.messages)
    pubsub.show_text(judgement.pk, "A1", "Half a sentence")
    await until(lambda: "Half a sentence" in page.shown)
    await ModelCall.objects.aupdate(status="interrupted")
    await asked(judgement, "A1", attempt=2)
    await until(lambda: "Half a sentence" not in page.shown)


async def test_text_that_runs_ahead_of_the_rows_makes_the_feed_look_at_them(judgement, mira, opened, monkeypatch):
    monkeypatch.setattr(feed, "POLL_SECONDS", 60)
    page = await opened(mira)
    await until(lambda: page.messages)
    await database_sync_to_async(ask)(judgement, "A1")
    pubsub.show_text(judgement.pk, "A1", "Half")
    await until(lambda: "Judging" in page.shown)


async def test_without_a_channel_layer_pages_still_follow(judgement, mira, opened, settings, monkeypatch):
    monkeypatch.setattr(feed, "POLL_SECONDS", 0.2)
    settings.CHANNEL_LAYERS = {"default": {"BACKEND": "tests.judgements.test_live.BrokenLayer"}}
    page = await opened(mira)
    await until(lambda: page.messages)
    name = await change(judgement)
    await until(lambda: name in page.shown)


# ---- flow -------------------------------------------------------------------------------------------------


async def test_a_page_that_says_nothing_gets_eight_messages_and_then_the_newest_state(
    judgement, mira, reviewer, opened, monkeypatch
):
    monkeypatch.setattr(feed, "ACK_TIMEOUT", 60)
    page, other = await opened(mira, deaf=True), await opened(reviewer)
    await until(lambda: page.messages)
    for number in range(2, 9):
        await change(judgement)
        await until(lambda number=number: len(page.messages) == number)
    name = await change(judgement)
    await until(lambda: name in other.shown)
    assert len(page.messages) == 8
    page.hears_again()
    await until(lambda: name in page.last)
    assert len(page.messages) == 9


async def test_only_what_is_newer_than_the_pages_version_is_sent(judgement, mira, opened):
    page = await opened(mira)
    await until(lambda: page.messages)
    name = await change(judgement)
    await until(lambda: name in page.shown)
    assert {re.search(r'id="([^"]+)"', part)[1] for part in parts(page.last)} == {"agent-1-reason"}


async def test_a_message_that_was_lost_is_sent_again(judgement, mira, opened, monkeypatch):
    monkeypatch.setattr(feed, "ACK_TIMEOUT", 0.3)
    page = await opened(mira)
    await until(lambda: page.messages)
    page.deaf = True
    name = await change(judgement)
    await until(lambda: name in page.last)
    page.deaf = False
    await until(lambda: name in page.shown)


async def test_what_was_lost_comes_with_the_next_message_too(judgement, mira, opened, monkeypatch):
    monkeypatch.setattr(feed, "ACK_TIMEOUT", 60)
    await asked(judgement, "A1")
    page = await opened(mira)
    await until(lambda: page.messages)
    page.deaf = True
    name = await change(judgement)
    await until(lambda: name in page.last)
    page.deaf = False
    pubsub.show_text(judgement.pk, "A1", "Half a sentence")
    await until(lambda: "Half a sentence" in page.shown)
    assert name in page.shown


async def test_a_page_that_is_silent_for_long_is_closed_to_come_again(judgement, mira, opened, monkeypatch):
    monkeypatch.setattr(feed, "PING_SECONDS", 0.5)
    silent, other = await opened(mira, deaf=True), await opened(mira)
    await until(lambda: silent.closed == 1013)
    name = await change(judgement)
    await until(lambda: name in other.shown)
    assert other.closed is None


async def test_a_page_with_nothing_to_say_may_be_silent(judgement, mira, opened, clock):
    page = await opened(mira)
    await until(lambda: page.messages)
    await clock.moves(page, feed.PING_SECONDS)
    name = await change(judgement)
    await clock.moves(page, feed.MIN_INTERVAL)
    await until(lambda: name in page.shown)
    assert page.closed is None


async def test_versions_that_were_never_sent_are_not_believed(judgement, mira, opened):
    page = await opened(mira, deaf=True)
    await until(lambda: page.messages)
    page.feed.acknowledge(page.watcher, 1_000_000)
    assert page.watcher.acknowledged == 0


async def test_large_messages_fill_the_window_sooner(judgement, mira, reviewer, opened, monkeypatch):
    monkeypatch.setattr(feed, "WINDOW_SIZE", 5_000)
    page, other = await opened(mira, deaf=True), await opened(reviewer)
    await until(lambda: page.messages)
    name = await change(judgement)
    await until(lambda: name in other.shown)
    assert len(page.messages) == 1
    assert len(page.last) > 5_000


# ---- who may see ------------------------------------------------------------------------------------------


async def test_only_who_is_active_and_may_see_may_watch(judgement, mira, noor, reviewer):
    gone = await User.objects.acreate(username="gone", is_active=False, is_superuser=True)
    people = [mira, noor, reviewer, gone, AnonymousUser()]
    may = [await feed.may_watch(judgement.pk, LivePage(person).watcher) for person in people]
    assert may == [True, False, True, False, False]
    assert not await feed.may_watch(uuid4(), LivePage(reviewer).watcher)


async def test_who_is_shut_out_is_closed_and_the_others_go_on(judgement, mira, reviewer, opened):
    page, other = await opened(mira), await opened(reviewer)
    mira.is_active = False
    await mira.asave()
    await until(lambda: page.closed == 4404)
    name = await change(judgement)
    await until(lambda: name in other.shown)
    assert name not in page.shown


async def test_who_is_shut_out_while_the_rows_are_read_is_sent_none_of_them(judgement, mira, opened, monkeypatch):
    page, rows_of = await opened(mira), feed.snapshot_of
    await until(lambda: page.messages)

    def shut_out_first(run):
        at_once(lambda: User.objects.filter(pk=mira.pk).update(is_active=False), refused=DatabaseError)
        return rows_of(run)

    monkeypatch.setattr(feed, "snapshot_of", shut_out_first)
    name = await change(judgement)
    await until(lambda: page.closed == 4404)
    assert name not in page.shown


def test_nothing_is_sent_on_a_look_at_the_right_to_see_that_is_older_than_two_seconds(mira):
    watcher = LivePage(mira).watcher
    watcher.confirmed = 100.0
    assert watcher.wants(1, now=101.9)
    assert not watcher.wants(1, now=102.1)


@pytest.mark.slow
async def test_text_waits_for_a_look_at_rights_that_takes_long(judgement, mira, opened):
    await asked(judgement, "A1")
    page = await opened(mira)
    await until(lambda: page.messages)
    slow = asyncio.create_task(read(lambda: time.sleep(3)))
    mira.is_active = False
    await mira.asave()
    lost, came = time.monotonic(), []
    take, page.watcher._send = page._take, lambda message: came.append(time.monotonic()) or take(message)
    for number in range(35):
        pubsub.show_text(judgement.pk, "A1", f"Half {number}")
        await asyncio.sleep(0.1)
    await slow
    await until(lambda: page.closed == 4404)
    assert max(came, default=lost) - lost < 2.5


async def test_who_may_no_longer_see_all_is_closed_within_two_seconds(judgement, noor, opened, monkeypatch):
    assert feed.POLL_SECONDS < feed.ACCESS_CACHE_SECONDS == 2
    monkeypatch.setattr(feed, "POLL_SECONDS", 0.2)
    page = await opened(await database_sync_to_async(allow)(noor, "engine.view_run"))
    await until(lambda: page.messages)
    await database_sync_to_async(noor.user_permissions.clear)()
    await until(lambda: page.closed == 4404)


@pytest.mark.parametrize("number", [30, 1_000])
async def test_rights_of_all_watchers_take_the_same_few_queries(judgement, number):
    session = SessionStore()
    await session.acreate()

    def look():
        users = User.objects.bulk_create(User(username=f"w{n}") for n in range(number))
        Group.objects.get(name=REVIEWERS).user_set.set(users[::2])
        watchers = [LivePage(user, session_key=session.session_key).watcher for user in users]
        with CaptureQueriesContext(connection) as queries:
            allowed = feed._look(judgement.pk, watchers, judgement.run.revision).allowed
        return len(allowed), len(queries)

    # the judgement, users (on SQLite 999 at once), sessions, who has the right as everybody has it and otherwise, and
    # who was asked at its gates, and to whom it was given
    assert await read(look) == (number / 2, 7 + (number > 999 and connection.vendor == "sqlite"))
