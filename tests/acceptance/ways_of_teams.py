"""Ways to the pages on which plans are begun, and to teams."""

import re

from django.urls import reverse
from playwright.sync_api import Page, expect

from .scene import AcceptanceScene, rows
from .ways_of_debates import key_of
from .ways_of_plans import CAST, plan


def new_plan(scene: AcceptanceScene) -> Page:
    page = scene.open(reverse("plan-new") + "?example=onboard")
    expect(page.locator("#cost")).to_contain_text("before the plan is approved")
    return page


def new_plan_with_errors(scene: AcceptanceScene) -> Page:
    page = new_plan(scene)
    page.locator("#task").fill("")
    page.locator("#spend").fill("a lot")
    page.get_by_role("button", name="Plan it").last.click()
    expect(page).to_have_title(re.compile("2 things to correct"))
    return page


def edit_with_errors(scene: AcceptanceScene) -> Page:
    page = scene.open(reverse("team-edit", args=[2]))
    page.locator("#a1-name").fill("")
    page.locator("#calls-reaches_out-who").select_option("both")
    page.locator("#calls-reaches_out-expiry").select_option("reject")
    page.get_by_role("button", name="Save changes").click()
    expect(page).to_have_title(re.compile("3 things to correct"))
    return page


def as_text(scene: AcceptanceScene) -> Page:
    page = scene.open(reverse("team-edit", args=[2]))
    page.get_by_role("button", name="As text").click()
    expect(page).to_have_title(re.compile("as text"))
    return page


def outbox(scene: AcceptanceScene) -> Page:
    """With a letter of each state, as `tests/plans/cast.py` writes them."""
    key_of(scene.site, "done", CAST)
    page = scene.open(reverse("outbox"))
    page.locator(".post details").first.locator("summary").click()
    return page


def no_letters(scene: AcceptanceScene) -> Page:
    return scene.open(reverse("outbox") + "?state=sending")


def begun_from(scene: AcceptanceScene) -> Page:
    """From the page of a plan that worked, with others that are alike."""
    plan("done")(scene).get_by_role("link", name="Begin another from it").click()
    page = scene.page
    expect(page.locator("#begins")).to_contain_text("Welcome Ada")
    expect(page.locator("#cost")).to_contain_text("No model is asked")
    return page


OTHERS = (  # of a server: name, description, definition, what it was classed by and as
    ("search_tickets", "Finds tickets by their words.", "a", "a", "reads"),
    ("close_ticket", "Closes a ticket and tells whoever opened it.", "b", "", ""),
    ("move_ticket", "Moves a ticket to another queue, or to another desk.", "c", "d", "writes"),
)
SCHEMA = '{"type": "object", "required": ["id"], "properties": {"id": {"type": "integer"}}}'


def tools_of_others(scene: AcceptanceScene) -> Page:
    """One that is on, one that nobody has classed, and one that is described otherwise by now."""
    site = scene.idle_site
    scene.sign_in(site)
    said = "server, name, description, definition, classed, effect"
    rest = "hinted, hinted_repeatable, repeatable, outside, allowed_by, seen, schema"
    with rows(site) as database:
        for one in OTHERS:
            values = f"(?, ?, ?, ?, ?, ?, 'reads', 0, 0, 1, '', '2026-11-20', '{SCHEMA}')"
            database.execute(f"INSERT OR IGNORE INTO engine_mcptool ({said}, {rest}) VALUES {values}", ("others", *one))
    return scene.open(f"{reverse('tools')}?q=ticket", site)
