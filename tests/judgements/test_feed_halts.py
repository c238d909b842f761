"""Moments that pages stay at before they go on, and texts that a cancellation cut off."""

from datetime import timedelta

import pytest
from channels.db import database_sync_to_async
from django.db.models import F
from django.utils import timezone

from engine import pubsub, run_control
from engine.models import ModelCall, Run
from runs.live import feed
from runs.record.redaction import redact_run
from tests.judgements.open_pages import ask, asked, change, until

pytestmark = pytest.mark.django_db(transaction=True)


def complete(judgement, number):
    """All three have decided, and are asked again in the same instant."""
    Run.objects.filter(pk=judgement.pk, started=None).update(started=F("created"))
    for agent in judgement.agents.all():
        step = agent.step(number)
        call = ModelCall.objects.filter(run=judgement.pk, step=step).first() or ask(judgement, step)
        agent.decisions.create(round=number, decision="approve", reason="So be it.", call=call)
        ModelCall.objects.filter(pk=call.pk).update(status="answered", ended=timezone.now())
    for agent in judgement.agents.all():
        ask(judgement, agent.step(number + 1))


async def stays_for_a_moment(judgement, page, clock):
    await until(lambda: page.messages)
    await database_sync_to_async(complete)(judgement, 1)
    await clock.moves(page, feed.MIN_INTERVAL)
    await until(lambda: page.shown.count('data-state="pending"') == 3)
    await clock.moves(page, feed.REVEAL_PAUSE - 0.4)
    assert page.shown.count('data-state="pending"') == 3
    await clock.moves(page, 0.4)
    await until(lambda: page.shown.count("Judging <small>round 2</small>") == 3)
    assert 'data-state="pending"' not in page.shown


async def test_who_decided_last_is_seen_waiting_before_the_next_round_is_shown(judgement, mira, opened, clock):
    await asked(judgement, "A1")
    await stays_for_a_moment(judgement, await opened(mira), clock)


async def test_what_it_takes_to_draw_that_is_no_part_of_its_time(judgement, mira, opened, clock, monkeypatch):
    draw = feed.RunFeed._fragments

    def slowly(drawn):
        if drawn._shown is not drawn._rows:
            clock.now += 0.4
        return draw(drawn)

    await asked(judgement, "A1")
    page = await opened(mira)
    monkeypatch.setattr(feed.RunFeed, "_fragments", slowly)
    await stays_for_a_moment(judgement, page, clock)


async def test_each_of_two_rounds_that_came_at_once_is_seen(judgement, mira, opened):
    await asked(judgement, "A1")
    page = await opened(mira)
    await until(lambda: page.messages)
    await database_sync_to_async(complete)(judgement, 1)
    await database_sync_to_async(complete)(judgement, 2)
    pubsub.announce(judgement.pk)
    await until(lambda: page.shown.count("<small>for round 2") == 3)
    await until(lambda: page.shown.count("<small>for round 3") == 3)
    await until(lambda: page.shown.count("Judging <small>round 3</small>") == 3)


async def test_a_page_that_comes_later_is_shown_what_is_now(judgement, mira, opened):
    await database_sync_to_async(complete)(judgement, 1)
    page = await opened(mira)
    await until(lambda: page.messages)
    assert "Judging <small>round 2</small>" in page.messages[0]


async def painted_now(judgement):
    return await Run.objects.values_list("revision", flat=True).aget(pk=judgement.pk)


async def test_a_page_that_comes_while_a_moment_is_shown_is_not_turned_back_to_it(judgement, mira, opened):
    await asked(judgement, "A1")
    first = await opened(mira)
    await until(lambda: first.messages)
    await database_sync_to_async(complete)(judgement, 1)
    await database_sync_to_async(complete)(judgement, 2)
    pubsub.announce(judgement.pk)
    await until(lambda: "<small>for round 2" in first.shown)
    second = await opened(mira, painted=await painted_now(judgement))
    await until(lambda: second.messages)
    assert "<small>for round" not in "".join(second.messages)
    assert second.shown.count("Judging <small>round 3</small>") == 3


async def test_a_page_that_knows_more_than_its_feed_is_not_turned_back(judgement, mira, opened):
    first = await opened(mira)
    await until(lambda: first.messages)
    await database_sync_to_async(ask)(judgement, "A1")
    second = await opened(mira, painted=await painted_now(judgement))
    await until(lambda: second.messages)
    assert "Idle" not in second.messages[0]


async def test_a_page_that_says_it_knows_more_than_there_is_follows_all_the_same(judgement, mira, opened):
    first = await opened(mira)
    await until(lambda: first.messages)
    page = await opened(mira, painted=1_000_000)
    name = await change(judgement)
    await until(lambda: name in page.shown)


async def test_a_clock_that_was_ahead_at_the_beginning_turns_no_page_back_to_it(judgement, mira, opened):
    await asked(judgement, "A1")
    page = await opened(mira)
    await until(lambda: page.messages)
    await Run.objects.aupdate(started=timezone.now() + timedelta(minutes=5))
    await database_sync_to_async(complete)(judgement, 1)
    pubsub.announce(judgement.pk)
    await until(lambda: "Judging <small>round 2</small>" in page.shown)
    assert "Queued." not in "".join(page.messages)


async def test_the_text_of_a_failed_attempt_is_not_what_a_cancellation_cut_off(judgement, mira, opened, monkeypatch):
    monkeypatch.setattr(feed, "POLL_SECONDS", 60)
    await asked(judgement, "A1")
    page = await opened(mira)
    await until(lambda: page.messages)
    pubsub.show_text(judgement.pk, "A1", "Half a sentence")
    await until(lambda: "Half a sentence" in page.shown)
    await ModelCall.objects.aupdate(status="failed", ended=timezone.now(), retry_at=timezone.now())
    await database_sync_to_async(ask)(judgement, "A1", 2)
    await database_sync_to_async(run_control.cancel)(judgement.pk, mira)
    pubsub.announce(judgement.pk)
    await until(lambda: "Cancelled" in page.shown)
    assert "Half a sentence" not in page.shown


async def test_what_was_half_written_stays_when_it_is_cancelled(judgement, mira, opened):
    await asked(judgement, "A1")
    page = await opened(mira)
    await until(lambda: page.messages)
    pubsub.show_text(judgement.pk, "A1", "Half a sentence")
    await until(lambda: "Half a sentence" in page.shown)
    await database_sync_to_async(run_control.cancel)(judgement.pk, mira)
    pubsub.announce(judgement.pk)
    await until(lambda: "Cut off when it was cancelled" in page.shown)
    assert "Half a sentence" in page.shown


async def test_a_redaction_takes_what_was_half_written(judgement, mira, opened):
    await asked(judgement, "A1")
    page = await opened(mira)
    await until(lambda: page.messages)
    pubsub.show_text(judgement.pk, "A1", "Half a sentence")
    await until(lambda: "Half a sentence" in page.shown)
    await database_sync_to_async(run_control.cancel)(judgement.pk, mira)
    await until(lambda: "Cut off" in page.shown)
    await database_sync_to_async(redact_run)(judgement.pk, "", "")
    pubsub.announce(judgement.pk)
    await until(lambda: "Half a sentence" not in page.shown)


async def test_a_redaction_does_not_wait_for_a_moment_to_pass(judgement, mira, opened, monkeypatch):
    monkeypatch.setattr(feed, "REVEAL_PAUSE", 60)
    await asked(judgement, "A1")
    page = await opened(mira)
    await until(lambda: page.messages)
    await database_sync_to_async(complete)(judgement, 1)
    pubsub.announce(judgement.pk)
    await until(lambda: "So be it." in page.shown)
    await database_sync_to_async(run_control.cancel)(judgement.pk, mira)
    await database_sync_to_async(redact_run)(judgement.pk, "", "")
    pubsub.announce(judgement.pk)
    await until(lambda: "So be it." not in page.shown)
