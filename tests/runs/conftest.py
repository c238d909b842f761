import pytest

from tests.conftest import judged as judged_by
from tests.databases import once
from tests.runs.desk import make_failed, make_several


@pytest.fixture
def admin(client, reviewer):
    client.force_login(reviewer)
    return client


@pytest.fixture
def failed(mira):
    return once(make_failed, mira)


@pytest.fixture
def several(mira, noor, council):
    """Three judgements of three years, the newest first."""
    return once(make_several, mira, noor, council)


@pytest.fixture
def approved(mira):
    return once(judged_by, mira)
