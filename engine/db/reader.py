"""Reads from the engine and the live pages: on threads of their own, with connections that stay open.

Django's shared thread opens the database anew for every piece of work and serves the sync views besides. Pages have
another thread than runs: somebody watches, and must not wait until a hundred runs have looked at their rows.
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
    """What `query` returns. It may be called twice: a connection that was dropped is noticed only when it is used."""
    return await asyncio.get_running_loop().run_in_executor(_pages, _healed, query)


async def read_for_worker(query: Callable[[], T]) -> T:
    """The same for those who perform runs."""
    return await asyncio.get_running_loop().run_in_executor(_runs, _healed, query)


def close() -> None:
    """Give the connections back; the next read opens another."""
    for thread in (_pages, _runs):
        thread.submit(connections.close_all).result()


def _healed(query: Callable[[], T]) -> T:
    try:
        return query()
    except (OperationalError, InterfaceError):
        connection.close()
        return query()
