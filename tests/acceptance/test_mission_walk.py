"""One mission from its goal to a published branch in a real browser, through a gate of a council and a person, whose
site is killed with its engine while a command lives. The command runs once, and the branch is what was asked about."""

import json
import re
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from missions.sandbox.bwrap import available
from tests.acceptance.pages import open_page
from tests.acceptance.walked import Mortal
from tests.conftest import need
from tests.missions.published import BRANCH

SOON = 60_000
SETTINGS = "tests.missions.published_settings"


@pytest.fixture
def walk(browser, tmp_path):
    need("sandbox", not available(), available())
    with Mortal(tmp_path, DJANGO_SETTINGS_MODULE=SETTINGS, MAGI_ENGINE_LEASE="2") as site:
        page = open_page(browser, site).page
        yield page, site
        page.context.close()


@pytest.mark.slow
def test_a_mission_comes_to_a_published_branch_though_all_is_killed_while_a_command_lives(walk, tmp_path):
    page, site = walk
    live = begin(page, site.url)
    folder = Path(site.env["MAGI_MISSIONS_DIR"]) / live.rstrip("/").rpartition("/")[2]
    expect(page.locator("#plate")).to_contain_text(re.compile("waiting", re.IGNORECASE), timeout=SOON)
    keeper = keeper_of(folder)
    site.die()
    allow(page, live)
    site.die()
    page.goto(live)
    expect(page.locator("#plate")).to_contain_text(re.compile(r"^\s*done", re.IGNORECASE), timeout=SOON)
    expect(page.locator(".ending")).to_contain_text("Ran 2 tests")
    assert keeper_of(folder) == keeper
    assert (folder / "workspace" / "begun").read_text() == "begun\n"
    assert "ROUND_HALF_UP" in published(page, tmp_path)
    assert decided(tmp_path) == [("approve", False), ("approve", True)]


def begin(page: Page, url: str) -> str:
    page.goto(f"{url}/missions/new/?example=fault")
    expect(page.get_by_label("Who decides: Publishes a branch")).to_have_value("both")
    page.get_by_role("button", name="Start mission").last.click()
    page.wait_for_url("**/missions/*-*/")
    return page.url


def allow(page: Page, live: str) -> None:
    """The council has said what it says, and nobody sees it before a person has decided."""
    page.goto(live)
    expect(page.locator(".at")).to_contain_text("ROUND_HALF_UP", timeout=SOON)
    page.get_by_role("button", name="Approve once").click()
    expect(page.locator(".at").get_by_role("button", name="Approve once")).to_have_count(0, timeout=SOON)


def decided(folder: Path) -> list[tuple[str, bool]]:
    """What was said at its one gate, and whether a person said it."""
    with closing(sqlite3.connect(folder / "magi.sqlite3")) as database:
        said = database.execute("SELECT decision, by_user_id FROM engine_gatedecision").fetchall()
    return sorted((decision, user is not None) for decision, user in said)


def keeper_of(folder: Path) -> int:
    return json.loads((folder / "spool" / "1-1" / "started").read_text())["pid"]


def published(page: Page, folder: Path) -> str:
    """The file as it is in the branch that the page offers."""
    with page.expect_download() as download:
        page.get_by_role("link", name="As a bundle").click()
    bundle, there = folder / "had.bundle", folder / "there"
    download.value.save_as(bundle)
    subprocess.run(["git", "clone", "-q", "-b", BRANCH, str(bundle), str(there)], check=True, capture_output=True)
    return (there / "totals.py").read_text()
