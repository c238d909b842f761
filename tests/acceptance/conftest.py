import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
from playwright.sync_api import expect, sync_playwright
from psycopg import sql

from tests.acceptance.chromium import launch
from tests.acceptance.pages import CASPER, END, PHONE, cancel, models_of, open_page, start
from tests.acceptance.redis import Redis
from tests.acceptance.site import Site
from tests.conftest import need
from tests.endpoint import Endpoint

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
def own_redis(tmp_path: Path) -> Iterator[Redis]:
    """A Redis of the test's own, which it may stop."""
    need("redis", bool(shutil.which("redis-server")), "redis-server is not installed")
    with Redis(tmp_path) as redis:
        yield redis


@pytest.fixture(scope="module")
def browser(chromium):
    with sync_playwright() as playwright:
        browser = launch(playwright)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    with Site(tmp_path_factory.mktemp("site")) as site:
        yield site


@pytest.fixture(scope="module")
def endpoint():
    with Endpoint() as endpoint:
        yield endpoint


@pytest.fixture(scope="module")
def scripted_site(endpoint, tmp_path_factory):
    """Its models are the endpoint's: a test says what they do, so that no state can be missed."""
    with Site(tmp_path_factory.mktemp("scripted"), **models_of(endpoint)) as site:
        yield site


@pytest.fixture
def desk(browser, site):
    watched = open_page(browser, site)
    yield watched.page
    watched.page.context.close()
    assert watched.complaints == []


@pytest.fixture
def scripted(browser, scripted_site, endpoint):
    """A page on the scripted site. What still runs at the end is cancelled, so that nothing waits for it."""
    endpoint.reset()
    watched = open_page(browser, scripted_site)
    yield watched.page
    if watched.page.locator("[data-cancel]").count():
        cancel(watched.page)
    watched.page.context.close()
    assert watched.complaints == []


@pytest.fixture
def phone(browser, site):
    watched = open_page(browser, site, PHONE, has_touch=True, is_mobile=True)
    yield watched.page
    watched.page.context.close()
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
