"""The live page on a bad network, with pages that do not listen, and without the channel layer."""

import base64
import contextlib
import itertools
import json
import os
import re
import socket
import sqlite3
import subprocess
import sys
import time

import pytest
from playwright.sync_api import TimeoutError as PageWaitedTooLong
from playwright.sync_api import expect

from tests.acceptance.bad_network import BadNetwork
from tests.acceptance.pages import CASPER, END, VERDICT, models_of, open_page, start
from tests.acceptance.site import ROOT, ServedSite, environment
from tests.conftest import EVERYTHING
from tests.judgements.test_live import IDS

# what was said last is said only to those who were there; nothing is asked about what is over
FRAGMENTS = sorted(IDS - {"announcer", "kept"})
READ = """ids => ids.map(id => {
    const fragment = document.getElementById(id).cloneNode(true);
    fragment.removeAttribute("hx-swap-oob");
    return fragment.outerHTML.replace(/ class=""/g, "").replace(/\\s+/g, " ");
})"""


def fragments_of(page):
    return dict(zip(FRAGMENTS, page.evaluate(READ, FRAGMENTS), strict=True))


def fragments_that_differ(page, expected):
    """None in the end: what was lost is sent again every three seconds, and may be lost again."""
    same = f"([ids, expected]) => JSON.stringify(({READ})(ids)) === JSON.stringify(expected)"
    with contextlib.suppress(PageWaitedTooLong):
        page.wait_for_function(same, arg=[FRAGMENTS, [*expected.values()]], polling=200, timeout=END)
    return {name: html for name, html in fragments_of(page).items() if html != expected[name]}


@pytest.mark.slow
def test_disturbances_end_in_the_page_of_a_fresh_visit(browser, scripted_site, endpoint):
    """Half of the judgements fail: their pages stay connected, so that an old message could still undo the end."""
    most = int(os.environ.get("MAGI_TEST_DISTURBANCES", 40 if EVERYTHING else 10))  # 200 take a minute
    calm = {"delay": 0.3, "chunks": 6, "chunk_delay": 0.2}
    endings = itertools.cycle([("Approved", {}), ("Error", {"by_text": [[CASPER, {"behaviour": "prose"}]]})])
    judged = 0
    context = open_page(browser, scripted_site).page.context
    with BadNetwork(scripted_site.url, seed=3, most=most) as network:
        while judged < 2 or network.done.total() < most:
            judged += 1
            word, rules = next(endings)
            endpoint.script(default=calm, delay=0.3, **rules)
            visitor = context.new_page()
            start(visitor, scripted_site)
            pages = [context.new_page() for _ in range(4 if EVERYTHING else 2)]
            for page in pages:
                page.goto(visitor.url.replace(scripted_site.url, network.url))
            expect(visitor.locator("#plate")).to_contain_text(word, timeout=END)
            visitor.reload()
            expected = fragments_of(visitor)
            assert [fragments_that_differ(page, expected) for page in pages] == [{}] * len(pages)
            for page in [visitor, *pages]:
                page.close()
        print(dict(network.done))
    context.close()


# ---- pages that do not listen -----------------------------------------------------------------------------


def deaf_socket(site, path):
    """A page that connects and then never reads."""
    page = socket.socket()
    page.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    page.connect(("127.0.0.1", site.port))
    key = base64.b64encode(os.urandom(16)).decode()
    lines = [
        f"GET {path} HTTP/1.1",
        f"Host: 127.0.0.1:{site.port}",
        "Upgrade: websocket",
        "Connection: Upgrade",
        f"Sec-WebSocket-Key: {key}",
        "Sec-WebSocket-Version: 13",
        f"Origin: {site.url}",
        f"Cookie: sessionid={site.visitor_session}",
    ]
    page.sendall("\r\n".join([*lines, "", ""]).encode())
    return page


def drained(page):
    """How many bytes were on their way to it."""
    page.settimeout(0.2)
    size = 0
    with contextlib.suppress(TimeoutError):
        while data := page.recv(1 << 20):
            size += len(data)
    return size


def resident(process):
    """Its memory in bytes."""
    status = (ROOT / f"/proc/{process.pid}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+) kB", status)[1]) * 1024


@pytest.mark.slow
def test_pages_that_never_read_cost_little_memory(browser, scripted_site, endpoint):
    endpoint.script(default={"reason": "It is clear. " * 300, "chunks": 80, "chunk_delay": 0.04})
    page = open_page(browser, scripted_site).page
    start(page, scripted_site)
    path = "/ws" + page.url.removeprefix(scripted_site.url)
    page.goto("about:blank")
    before = resident(scripted_site.process)
    deaf = [deaf_socket(scripted_site, path) for _ in range(20)]
    time.sleep(12)
    grown = resident(scripted_site.process) - before
    most = max(drained(page) for page in deaf)
    for page in deaf:
        page.close()
    print(f"{grown / 20 / 1e6:.2f} MB of memory per socket, at most {most / 1e6:.2f} MB on the way")
    assert grown / 20 < 5_000_000
    assert 10_000 < most < 1_500_000


# ---- many pages -------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_change_reaches_a_hundred_watchers_without_waiting_for_the_next_look(tmp_path, own_redis):
    command = [sys.executable, "-m", "tests.acceptance.watchers", "100"]
    done = subprocess.run(command, cwd=ROOT, env=environment(tmp_path), capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    print(done.stdout)
    assert json.loads(done.stdout)["p99"] < 1500


# ---- without the channel layer ----------------------------------------------------------------------------


def decided(data):
    with contextlib.closing(sqlite3.connect(data / "magi.sqlite3", timeout=60)) as rows:
        return rows.execute("SELECT count(*) FROM judgements_rounddecision").fetchone()[0]


@pytest.mark.slow
def test_pages_follow_the_rows_while_redis_is_gone_and_are_live_again_after(browser, tmp_path, endpoint, own_redis):
    slow = {"chunks": 100, "chunk_delay": 0.3, "reason": "It is clear, and the effort fits it. " * 20}
    endpoint.script(by_text=[["round 2 of 3.", slow], ["round 1 of 3.", {"chunks": 20, "chunk_delay": 0.2}]])
    env = {"REDIS_URL": own_redis.url, **models_of(endpoint)}
    with ServedSite(tmp_path, "--no-engine", **env) as site:
        command = [sys.executable, "manage.py", "runengine"]
        engine = subprocess.Popen(command, cwd=ROOT, env=site.env, stderr=subprocess.DEVNULL)
        try:
            page = open_page(browser, site).page
            start(page, site)
            growing = page.locator("#agent-1-reason [data-stream]")
            expect(growing).to_contain_text("The proposal", timeout=END)
            own_redis.stop()
            while decided(tmp_path) < 3:
                time.sleep(0.05)
            committed = time.monotonic()
            while "Round 2 of 3." not in (page.locator("#verdict-sub").text_content() or ""):
                time.sleep(0.05)
            followed = time.monotonic() - committed
            own_redis.start()
            returned = time.monotonic()
            expect(growing).to_contain_text("It is clear")
            live = time.monotonic() - returned
            print(f"followed after {followed:.2f} s, live {live:.2f} s after the return")
            assert followed < 3  # two seconds, and one for a busy machine
            assert live < 10
            expect(page.locator("#plate")).to_contain_text(VERDICT, timeout=END)
        finally:
            engine.terminate()
        assert engine.wait(60) == 0
