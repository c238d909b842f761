"""The README's first command in a fresh clone, with nothing installed: it takes longer than all else here."""

import re

import pytest
from playwright.sync_api import expect

from tests.acceptance.pages import DESK, END, VERDICT, Watched, states
from tests.acceptance.site import Newcomer
from tests.conftest import JAPAN


@pytest.mark.slow
def test_a_newcomer_clones_types_one_command_signs_in_decides_and_watches(browser, tmp_path):
    with Newcomer(tmp_path) as site:
        watched = Watched(browser.new_context(viewport=DESK, color_scheme="dark").new_page(), site)
        page = watched.page
        page.goto(site.link)
        page.get_by_role("link", name="Skip for now").click()
        page.get_by_label("What is to be decided?").fill(JAPAN)
        page.get_by_role("button", name="Start judgement").click()
        expect(page.locator("#plate")).to_contain_text(VERDICT, timeout=END)
        expect(page.locator("#matrix td .lamp:is([data-state=approve],[data-state=reject])")).to_have_count(9)
        assert set(states(page)) <= {"approve", "reject"}
        expect(page.locator("#ws")).not_to_have_attribute("ws-connect", re.compile(".*"))
        expect(page).to_have_title(re.compile("Rehearsal, (approved|rejected): I am going to travel to Japan"))
        assert watched.complaints == []
