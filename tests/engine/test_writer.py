"""One thread, one connection, one transaction for whatever waits."""

import asyncio
import threading

import pytest
from django.db import IntegrityError, connection

from engine import fault_injection
from engine.db import reader
from engine.models import Run, WriterMarker
from engine.runtime import writer as writers
from engine.runtime.writer import WriterClosed
from tests.waiting import LIMIT

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _no_fault_stays_armed():
    yield
    fault_injection.arm_fault("")


def new_run():
    return Run.objects.create(procedure="coin")


async def commits():
    """How many transactions the writer has made."""
    return (await WriterMarker.objects.aget(pk="test")).batch


async def test_a_change_is_committed_and_its_result_comes_back(writer):
    run = await writer.write(new_run)
    assert await Run.objects.filter(pk=run.pk).aexists()


async def test_what_waits_goes_into_one_commit(writer, monkeypatch):
    monkeypatch.setattr(writers, "MAX_TRANSACTION_SECONDS", 60.0)
    begun, busy = threading.Event(), threading.Event()
    first = asyncio.create_task(writer.write(lambda: begun.set() or busy.wait(30)))
    assert await asyncio.to_thread(begun.wait, 30)
    waiting = [asyncio.create_task(writer.write(new_run)) for _ in range(50)]
    for _ in range(2):  # they begin, and are handed over together
        await asyncio.sleep(0)
    busy.set()
    await asyncio.gather(first, *waiting)
    assert (await commits(), await Run.objects.acount()) == (2, 50)


async def test_what_there_is_no_time_for_comes_first_in_the_next_commit(writer, monkeypatch):
    monkeypatch.setattr(writers, "MAX_TRANSACTION_SECONDS", 0.0)
    runs = [asyncio.create_task(writer.write(new_run)) for _ in range(3)]
    await asyncio.sleep(0)  # they are handed over together
    await writer.close()
    made = [(await run).pk for run in runs]
    assert [pk async for pk in Run.objects.order_by("created").values_list("pk", flat=True)] == made


async def test_a_change_that_fails_takes_no_other_with_it(writer):
    run = await writer.write(new_run)
    twice = lambda: Run.objects.create(pk=run.pk, procedure="coin")  # noqa: E731
    outcomes = await asyncio.gather(*map(writer.write, (new_run, twice, new_run)), return_exceptions=True)
    assert isinstance(outcomes[1], IntegrityError)
    assert await Run.objects.acount() == 3


async def test_a_commit_that_failed_is_made_again(writer):
    fault_injection.arm_fault("before-open-commit=raise")
    await writer.write(new_run, "open")
    assert await Run.objects.acount() == 1


async def test_a_commit_whose_answer_was_lost_is_not_made_twice(writer):
    fault_injection.arm_fault("after-open-commit=raise")
    run = await writer.write(new_run, "open")
    assert [found.pk async for found in Run.objects.all()] == [run.pk]


async def test_a_database_that_stays_away_fails_the_work_in_the_end(writer, monkeypatch):
    monkeypatch.setattr(writers, "LOCK_TIMEOUT", 0.3)

    def away():
        raise writers.OperationalError("the disk is full")

    with pytest.raises(writers.OperationalError, match="disk is full"):
        await writer.write(away)
    assert await writer.write(new_run)


async def test_an_engine_that_must_end_does_not_wait_long_for_a_database_that_is_away(writer, monkeypatch):
    monkeypatch.setattr(writers, "LOCK_TIMEOUT", 3_600)
    writer.flush_soon(0.3)

    def away():
        raise writers.OperationalError("the server is gone")

    async with asyncio.timeout(LIMIT):
        outcomes = await asyncio.gather(*[writer.write(away) for _ in range(3)], return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [writers.OperationalError] * 3


async def test_what_waits_is_written_before_the_writer_ends(writer):
    waiting = asyncio.create_task(writer.write(new_run))
    await asyncio.sleep(0)
    await writer.close()
    assert await waiting
    with pytest.raises(WriterClosed):
        await writer.write(new_run)
    assert not await WriterMarker.objects.aexists()


if connection.vendor == "postgresql":  # only a server can drop a connection

    def backend():
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_backend_pid()")
            return cursor.fetchone()[0]

    def drop(pids):
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_terminate_backend(pid) FROM unnest(%s) AS pid", [list(pids)])
        connection.close()

    async def test_a_dropped_connection_heals_for_writers_and_readers(writer):
        pids = await writer.write(backend), await reader.read(backend)
        await asyncio.to_thread(drop, pids)
        assert await writer.write(new_run)
        assert await reader.read(Run.objects.count) == 1
