"""Notes what each test sends to the database, for the choice of those that are repeated (`tests/chosen.py`)."""

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from django.db import Error
from django.db.backends.utils import CursorWrapper

from engine import statements
from tests.chosen import NOTES, new_in

_sent: set[str] = set()


@pytest.fixture(scope="session", autouse=True)
def _statements_are_noted() -> Iterator[None]:
    from tests import databases  # it knows the models, which are not ready when pytest reads a plugin

    with pytest.MonkeyPatch.context() as patched:
        for owner, name in ((CursorWrapper, "_execute"), (CursorWrapper, "_executemany"), (statements, "_execute")):
            patched.setattr(owner, name, _noting(databases, getattr(owner, name)))
        yield


def _noting(databases: ModuleType, send: Any) -> Any:
    def noted(asked: Any, sql: Any, *args: Any) -> Any:
        try:
            done = send(asked, sql, *args)
        except Error as error:
            _sent.update(new_in(f"{type(error).__name__} {sql}"))  # what is refused is another thing
            raise
        if not databases.tampers:
            _sent.update(new_in(str(sql)))
        return done

    return noted


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    _sent.clear()
    began = time.process_time()
    done = yield
    note = {"test": item.nodeid, "seconds": time.process_time() - began, "sent": sorted(_sent)}
    with (Path(os.environ[NOTES]) / f"{os.getpid()}.jsonl").open("a") as notes:
        notes.write(json.dumps(note) + "\n")
    return done
