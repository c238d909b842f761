"""A run of each kind that the settings name, and of each way to wait."""

import pytest

from tests.conftest import person
from tests.contract import PLAYED, broken_off, played

_scenes = {}


def scene(performed, make, name):
    """What a run of this kind left that was performed once in this process; see `tests/scenes.py`."""
    if (make, name) not in _scenes:
        _scenes[make, name] = performed(lambda: make(name, person("mira")))
    return _scenes[make, name]


@pytest.fixture(scope="session", params=sorted(PLAYED))
def name(request):
    return request.param


@pytest.fixture(scope="session")
def _ended(name, performed):
    return scene(performed, played, name)


@pytest.fixture(scope="session")
def _failed(name, performed):
    return scene(performed, broken_off, name)


@pytest.fixture
def asked(name, mira):
    """A run that waits in the queue."""
    return PLAYED[name](mira).run


@pytest.fixture
def ended(_ended, db):
    return _ended()


@pytest.fixture
def failed(_failed, db):
    """One whose models were refused by their endpoint."""
    return _failed()
