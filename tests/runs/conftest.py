import asyncio

import pytest

from engine.models import Gate
from tests.conftest import person
from tests.contract import doubted
from tests.databases import copied
from tests.engine.test_waiting import perform_until
from tests.runs.desk import make_failed, make_several


@pytest.fixture
def admin(client, reviewer):
    client.force_login(reviewer)
    return client


@pytest.fixture(scope="session")
def _failed():
    return copied(make_failed)


@pytest.fixture
def failed(_failed, mira):
    return _failed()


@pytest.fixture(scope="session")
def _several():
    return copied(make_several)


@pytest.fixture
def several(_several, mira, noor):
    """Three judgements of three years, the newest first."""
    return _several()


def make_gate():
    """Mira is asked whether a doubted answer may go out."""
    run = doubted(person("mira")).run
    asyncio.run(perform_until(run, None, "waiting"))
    return Gate.objects.get()


@pytest.fixture(scope="session")
def _gate():
    return copied(make_gate)


@pytest.fixture
def gate(_gate, mira):
    return _gate()


@pytest.fixture
def approved(approved_judgement):
    return approved_judgement
