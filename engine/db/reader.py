"""Database reads for the engine and the live pages, on their own threads with connections that stay open.

Django's shared thread reopens the database for every piece of work and also serves the sync views. Pages and runs
have separate threads: a page must not wait until a hundred runs have read their rows.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from django.db import InterfaceError, OperationalError, connection, connections

T = TypeVar("T")

_pages = ThreadPoolExecutor(1, thread_name_prefix="reader of pages")
_runs = ThreadPoolExecutor(1, thread_name_prefix="reader of runs")


async def read(query: Callable[[], T]) -> T:
    """Return the result of `query`. It may be called twice: a dropped connection is noticed only when it is used."""
    return await asyncio.get_running_loop().run_in_executor(_pages, _healed, query)


async def read_for_worker(query: Callable[[], T]) -> T:
    """As `read`, on the thread for runs."""
    return await asyncio.get_running_loop().run_in_executor(_runs, _healed, query)


def close() -> None:
    """Close the connections; the next read opens new ones."""
    for thread in (_pages, _runs):
        thread.submit(connections.close_all).result()


def _healed(query: Callable[[], T]) -> T:
    try:
        return query()
    except (OperationalError, InterfaceError):
        connection.close()
        return query()
