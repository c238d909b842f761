"""Threads of a test that rolls back see its transaction: a run can be performed in it, without a commit.

Whoever asks for a connection in another thread (an engine's writer and readers, `sync_to_async`) is given the one of
the test's own thread. One at a time uses it: for one statement, or from the beginning of an atomic block to its end.
A test about commits, locks or connections themselves has `django_db(transaction=True)`: there each thread has its own.
"""

import functools
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from asgiref.sync import SyncToAsync
from django.db import DEFAULT_DB_ALIAS, connections
from django.db.backends.utils import CursorWrapper
from django.db.transaction import Atomic

from engine.db import cached_sql, reader

TURN = threading.RLock()
STATEMENTS: tuple[tuple[Any, str], ...] = (
    *((CursorWrapper, "execute"), (CursorWrapper, "executemany")),
    *((cached_sql, "_execute"), (cached_sql, "_rows")),
)


FETCHES = ("fetchone", "fetchmany", "fetchall")


def _fetching(name: str) -> Callable[..., Any]:
    """SQLite's module for Python lets two threads wait for each other where one fetches while another executes."""

    def fetch(cursor: CursorWrapper, *size: int) -> Any:
        with TURN, cursor.db.wrap_database_errors:
            return getattr(cursor.cursor, name)(*size)

    return fetch


def _in_turn(use: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(use)
    def alone(*args: Any, **options: Any) -> Any:
        with TURN:
            return use(*args, **options)

    return alone


def _taking_a_turn(enter: Callable[[Atomic], None]) -> Callable[[Atomic], None]:
    @functools.wraps(enter)
    def begin(block: Atomic) -> None:
        TURN.acquire()
        try:
            enter(block)
        except BaseException:
            TURN.release()
            raise

    return begin


def _giving_it_back(leave: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(leave)
    def end(block: Atomic, *error: Any) -> None:
        try:
            leave(block, *error)
        finally:
            TURN.release()

    return end


def _forget() -> None:
    """This thread asks for a connection anew; its own goes back to the pool."""
    for own in connections.all(initialized_only=True):
        own.close()
        del connections[own.alias]


def _threads_forget() -> None:
    for executor in (SyncToAsync.single_thread_executor, reader._pages, reader._runs):
        executor.submit(_forget).result()


def rolls_back(request: pytest.FixtureRequest) -> bool:
    mark = request.node.get_closest_marker("django_db")
    if "transactional_db" in request.fixturenames or (mark and mark.kwargs.get("transaction")):
        return False
    return bool(mark) or "db" in request.fixturenames


@pytest.fixture(autouse=True)
def _threads_share_the_transaction(request: pytest.FixtureRequest) -> Iterator[None]:
    if not rolls_back(request):
        yield
        return
    request.getfixturevalue("_django_db_helper")  # which begins it
    shared: Any = connections[DEFAULT_DB_ALIAS]
    shared.inc_thread_sharing()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(shared, "close", lambda: None)  # what a thread leaves others still use
        patched.setattr(connections, "create_connection", lambda alias: shared)
        for owner, name in STATEMENTS:
            patched.setattr(owner, name, _in_turn(getattr(owner, name)))
        for name in FETCHES:
            patched.setattr(CursorWrapper, name, _fetching(name), raising=False)
        patched.setattr(Atomic, "__enter__", _taking_a_turn(Atomic.__enter__))
        patched.setattr(Atomic, "__exit__", _giving_it_back(Atomic.__exit__))
        _threads_forget()
        yield
        _threads_forget()
    shared.dec_thread_sharing()
