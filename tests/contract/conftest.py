"""A run of each kind that the settings name, and of each way to wait."""

import pytest

from tests.contract import PLAYED, broken_off, played
from tests.databases import copied

ended_of, failed_of = copied(played), copied(broken_off)


@pytest.fixture(params=sorted(PLAYED))
def name(request):
    return request.param


@pytest.fixture
def asked(name, mira):
    """A run that waits in the queue."""
    return PLAYED[name](mira).run


@pytest.fixture
def ended(name, mira):
    return ended_of(name, mira)


@pytest.fixture
def failed(name, mira):
    """One whose models were refused by their endpoint."""
    return failed_of(name, mira)
