"""A run of each kind that the settings name, and of each way to wait."""

import pytest

from tests.contract import PLAYED, played
from tests.databases import once


@pytest.fixture(params=sorted(PLAYED))
def name(request):
    return request.param


@pytest.fixture
def asked(name, mira):
    """A run that waits in the queue."""
    return PLAYED[name](mira).run


@pytest.fixture
def ended(name, mira):
    return once(played, name, mira)
