import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
from playwright.sync_api import expect
from psycopg import sql

from tests.acceptance.redis import Redis
from tests.conftest import need

expect.set_options(timeout=15_000)  # a busy machine is no failure


@contextmanager
def new_postgres_database(postgres_url: str) -> Iterator[str]:
    """The address of a database that exists for so long."""
    name = f"magi_{secrets.token_hex(6)}"
    with psycopg.connect(postgres_url, autocommit=True) as server:
        server.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        yield postgres_url.rsplit("/", 1)[0] + f"/{name}"
        server.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


@pytest.fixture
def postgres_database(postgres_url: str) -> Iterator[str]:
    with new_postgres_database(postgres_url) as address:
        yield address


@pytest.fixture
def own_redis(tmp_path: Path) -> Iterator[Redis]:
    """A Redis of the test's own, which it may stop."""
    need("redis", bool(shutil.which("redis-server")), "redis-server is not installed")
    with Redis(tmp_path) as redis:
        yield redis
