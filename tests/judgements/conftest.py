import pytest

from runs.live import feed
from tests.judgements.open_pages import LivePage, StoppedClock
from tests.judgements.redacted import _marked, _marked_and_failed, approved, either, failed  # noqa: F401 - fixtures


@pytest.fixture
def clock(monkeypatch):
    clock = StoppedClock()
    monkeypatch.setattr(feed, "time", clock)
    return clock


@pytest.fixture
async def opened(judgement):
    """Opens pages of the judgement; at the end the feed's last watcher leaves."""
    pages = []

    async def opened(user, **how):
        pages.append(await LivePage(user, **how).open(judgement.pk))
        return pages[-1]

    yield opened
    for page in pages:
        page.feed.leave(page.watcher)
    assert feed._feeds == {}
