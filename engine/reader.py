"""Reads from the engine and the live pages: on one thread of their own, with a connection that stays open.

Django's shared thread opens the database anew for every piece of work and serves the sync views besides.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from django.db import InterfaceError, OperationalError, connection, connections

T = TypeVar("T")

_thread = ThreadPoolExecutor(1, thread_name_prefix="reader")


async def read(query: Callable[[], T]) -> T:
    """What `query` returns. It may be called twice: a connection that was dropped is noticed only when it is used."""
    return await asyncio.get_running_loop().run_in_executor(_thread, _healed, query)


def close() -> None:
    """Give the connection back; the next read opens another."""
    _thread.submit(connections.close_all).result()


def _healed(query: Callable[[], T]) -> T:
    try:
        return query()
    except (OperationalError, InterfaceError):
        connection.close()
        return query()
