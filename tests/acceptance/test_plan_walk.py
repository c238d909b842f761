"""One plan from its task to its replay in a real browser, whose site is killed with all it has begun between any two
acts. What was decided stays decided, nobody is asked twice, and one letter leaves the house, once."""

import re
import sqlite3
import time
from contextlib import closing

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.acceptance import walked
from tests.acceptance.pages import models_of, open_page
from tests.acceptance.site import manage
from tests.acceptance.walked import Mortal
from tests.post_office import post_office

SOON = 30_000  # milliseconds: a lease runs out, and work is taken up again
# four acts of a person: to approve all is one, and a decision about the plan and about each of its two steps
DECISIONS = ["answer", "approve", "approve", "approve", "reject", "approve"]


@pytest.fixture
def walk(browser, endpoint, tmp_path):
    """The page of New with its team chosen, the site, and where letters arrive."""
    endpoint.script(by_text=walked.script(), default={"behaviour": "status", "error": "server_error"})
    with post_office() as post:
        env = {**models_of(endpoint), "EMAIL_URL": post.url, "MAGI_ENGINE_LEASE": "2"}
        with Mortal(tmp_path, **env) as site:
            done = manage("team_import", str(walked.team_file(tmp_path)), env=site.env)
            assert done.returncode == 0, done.stderr
            page = open_page(browser, site).page
            yield page, site, post
            page.context.close()


@pytest.mark.slow
def test_a_plan_comes_to_its_end_though_everything_is_killed_between_any_two_acts(walk, tmp_path):
    page, site, post = walk
    begin(page, site)
    for act in (answer, change_a_step, approve_all, refuse_with_a_reason, approve_the_letter):
        site.die()
        page.reload()
        act(page)
    expect(page.locator("#plate")).to_contain_text("Done", timeout=SOON)
    assert walked.KIND in post.next()["letter"]
    wait_until_sent(tmp_path)  # one that is cut in its delivery is uncertain, and a person's
    site.die()
    told_again(page)
    pressed = "SELECT decision FROM engine_gatedecision WHERE by_user_id IS NOT NULL ORDER BY id"
    assert [word for (word,) in rows(tmp_path, pressed)] == DECISIONS
    assert rows(tmp_path, "SELECT state FROM engine_letter") == [("sent",)]
    assert rows(tmp_path, "SELECT title FROM office_task") == [("Sign and scan the contract",)]
    assert post.close() == []


def wait_until_sent(folder):
    end = time.monotonic() + SOON / 1000
    while rows(folder, "SELECT state FROM engine_letter") != [("sent",)]:
        assert time.monotonic() < end, "the letter was not sent"
        time.sleep(0.05)


def rows(folder, query):
    with closing(sqlite3.connect(f"file:{folder}/magi.sqlite3?mode=ro", uri=True, timeout=20)) as database:
        return database.execute(query).fetchall()


# ---- the acts, each from the page as it is found --------------------------------------------------------------------


def press(page: Page, button: Locator) -> None:
    """Until the site has answered: what it never heard it cannot keep."""
    with page.expect_response(lambda response: response.request.method == "POST") as answered:
        button.click()
    assert answered.value.ok


def begin(page: Page, site: Mortal) -> None:
    page.goto(f"{site.url}/plans/new/")
    page.locator("#task").fill(walked.TASK)
    page.locator("#teams").get_by_text("Reception", exact=True).click()
    page.get_by_role("button", name="Plan it").last.click()
    page.wait_for_url("**/plans/*-*/")


def answer(page: Page) -> None:
    asked = page.locator("#at-0 .at")
    expect(asked).to_contain_text(walked.QUESTION, timeout=SOON)
    asked.get_by_label("Your answer").fill(walked.ANSWER)
    press(page, asked.get_by_role("button", name="Answer"))


def change_a_step(page: Page) -> None:
    expect(page.get_by_role("heading", name="Approve all 2 steps?")).to_be_visible(timeout=SOON)
    expect(page.locator("#at-2 .at")).to_be_visible(timeout=SOON)  # the last that is asked: nothing moves any more
    page.get_by_role("link", name="Change step 1").click()
    form = page.locator("#edit-1 form")
    form.get_by_label("Action").fill(walked.AS_CHANGED)
    press(page, form.get_by_role("button", name="Change it"))
    expect(page.locator("#place-1")).to_contain_text("Changed by a person")


def approve_all(page: Page) -> None:
    expect(page.locator("#place-1")).to_contain_text(walked.AS_CHANGED)
    expect(page.locator("#at-1 .at")).to_contain_text(walked.AS_CHANGED, timeout=SOON)
    press(page, page.get_by_role("button", name="Approve the plan and all its steps"))


def refuse_with_a_reason(page: Page) -> None:
    asked = page.locator("#at-2 .at")
    expect(asked).to_contain_text(walked.CURT, timeout=SOON)
    expect(asked).to_contain_text(walked.TOO_CURT, timeout=SOON)
    expect(asked).to_contain_text("It refuses this", timeout=SOON)
    expect(asked.get_by_role("button", name="Approve")).to_have_count(0)  # it would open nothing
    asked.get_by_label("Refuse this call").check()
    asked.get_by_label("Reason").fill(walked.REASON)
    press(page, asked.get_by_role("button", name="Reject"))


def approve_the_letter(page: Page) -> None:
    seal = page.locator("#at-2 .exact__text")
    expect(seal).to_contain_text(walked.KIND, timeout=SOON)
    expect(seal).to_contain_text("ada@example.org")
    # what the council decides draws all of it anew
    expect(page.locator("#at-2 .at")).to_contain_text("council Magi, version 1: Approve,", timeout=SOON)
    press(page, page.locator("#at-2 .at").get_by_role("button", name="Approve"))


def told_again(page: Page) -> None:
    page.reload()
    page.get_by_role("link", name="Open record").click()
    record = page.get_by_role("main")
    for text in (walked.QUESTION, walked.ANSWER, walked.AS_CHANGED, walked.TOO_CURT, walked.REASON, walked.KIND):
        expect(record).to_contain_text(text)
    page.get_by_role("link", name="Back to the plan").click()
    page.get_by_role("link", name="Replay").first.click()
    slider = page.get_by_role("region", name="Replay").get_by_role("slider", name="Time")
    slider.focus()
    page.keyboard.press("Home")
    expect(page.locator("#plate")).to_contain_text("Idle")
    page.keyboard.press("End")
    expect(page.locator("#plate")).to_contain_text(re.compile("done", re.IGNORECASE))
