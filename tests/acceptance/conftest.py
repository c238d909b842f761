import asyncio
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
from playwright.sync_api import Browser, expect, sync_playwright
from psycopg import sql

from tests.acceptance.chromium import launch
from tests.acceptance.pages import CASPER, DESK, END, models_of, open_page, start
from tests.acceptance.redis import RedisProxy
from tests.acceptance.scene import AcceptanceScene
from tests.acceptance.site import ServedSite
from tests.conftest import need
from tests.endpoint import ScriptedEndpoint

expect.set_options(timeout=30_000)  # a busy machine is no failure


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
def own_redis(tmp_path: Path) -> Iterator[RedisProxy]:
    """A Redis of the test's own, which it may stop."""
    need("redis", bool(shutil.which("redis-server")), "redis-server is not installed")
    with RedisProxy(tmp_path) as redis:
        yield redis


@pytest.fixture(scope="session")
def _started(chromium: str) -> Iterator[tuple[Browser, asyncio.AbstractEventLoop]]:
    """Once in each worker: a start takes a second of a processor. The loop of Playwright's driver counts as running in
    this thread for as long as there is one."""
    with sync_playwright() as playwright:
        browser, loop = launch(playwright), asyncio.get_running_loop()
        asyncio._set_running_loop(None)
        yield browser, loop
        asyncio._set_running_loop(loop)
        browser.close()


@pytest.fixture(scope="module")
def browser(_started: tuple[Browser, asyncio.AbstractEventLoop]) -> Iterator[Browser]:
    """Where a test has it, nothing else can run in a loop of its own in this thread; afterwards, everything can."""
    browser, loop = _started
    asyncio._set_running_loop(loop)
    yield browser
    asyncio._set_running_loop(None)


@pytest.fixture(scope="module")
def scene(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[AcceptanceScene]:
    with AcceptanceScene(browser, tmp_path_factory.mktemp("scene")) as scene:
        yield scene


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    with ServedSite(tmp_path_factory.mktemp("site")) as site:
        yield site


@pytest.fixture(scope="module")
def endpoint():
    with ScriptedEndpoint() as endpoint:
        yield endpoint


@pytest.fixture(scope="module")
def scripted_site(endpoint, tmp_path_factory):
    """Its models are the endpoint's: a test says what they do, so that no state can be missed."""
    with ServedSite(tmp_path_factory.mktemp("scripted"), **models_of(endpoint)) as site:
        yield site


@pytest.fixture(scope="module")
def _desk(browser, site):
    watched = open_page(browser, site)
    yield watched
    watched.page.context.close()


@pytest.fixture
def desk(_desk):
    """One tab for all tests of a file, for a new one takes half a second; whoever gives it a clock opens another."""
    _desk.complaints.clear()
    _desk.page.set_viewport_size(DESK)
    _desk.page.emulate_media(media="screen")
    yield _desk.page
    assert _desk.complaints == []


@pytest.fixture(scope="module")
def _scripted(browser, scripted_site):
    watched = open_page(browser, scripted_site)
    yield watched
    watched.page.context.close()


@pytest.fixture
def scripted(_scripted, endpoint):
    """The tab of a file on the scripted site. What still runs at the end is cancelled, so that nothing waits for it."""
    _scripted.complaints.clear()
    _scripted.page.set_viewport_size(DESK)
    _scripted.page.emulate_media(media="screen")  # a test may have printed it
    yield from begun_anew(_scripted, endpoint)


@pytest.fixture
def scripted_alone(browser, scripted_site, endpoint):
    """A new tab of that kind, for tests that leave something in it."""
    watched = open_page(browser, scripted_site)
    yield from begun_anew(watched, endpoint)
    watched.page.context.close()


def begun_anew(watched, endpoint):
    endpoint.reset()
    yield watched.page
    if watched.page.locator("[data-cancel]").count():
        token = watched.page.locator("[name=csrfmiddlewaretoken]").first.get_attribute("value")
        form = {"csrfmiddlewaretoken": token}
        assert watched.page.context.request.post(f"{watched.page.url}cancel/", form=form, max_redirects=0).status == 302
    assert watched.complaints == []


@pytest.fixture(scope="module")
def judged(browser, scripted_site, endpoint):
    """The address of a judgement that is over: Casper rejects."""
    endpoint.reset()
    endpoint.script(by_text=[[CASPER, {"decision": "reject", "reason": "Line one.\nLine two. " * 30, "delay": 0.4}]])
    page = open_page(browser, scripted_site).page
    start(page, scripted_site)
    expect(page.locator("#plate")).to_contain_text("Approved", timeout=END)
    page.context.close()
    return page.url


@pytest.fixture
def reader(browser, scripted_site, judged):
    watched = open_page(browser, scripted_site)
    yield watched.page
    watched.page.context.close()
    assert watched.complaints == []
