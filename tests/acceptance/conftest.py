import secrets
from collections.abc import Iterator

import psycopg
import pytest
from psycopg import sql


@pytest.fixture
def postgres_database(postgres_url: str) -> Iterator[str]:
    """The address of a database that exists for one test."""
    name = f"magi_{secrets.token_hex(6)}"
    with psycopg.connect(postgres_url, autocommit=True) as server:
        server.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        yield postgres_url.rsplit("/", 1)[0] + f"/{name}"
        server.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))
