"""The ways to the states of a mission, on the site without an engine, as `tests/missions/cast.py` makes them."""

import re
from collections.abc import Callable

from django.urls import reverse
from playwright.sync_api import Page, expect

from missions.sandbox.bwrap import available
from tests.acceptance.scene import AcceptanceScene
from tests.acceptance.ways_of_debates import key_of
from tests.conftest import need

CAST = "tests.missions.cast"


def mission(name: str, page: str = "mission-live", *more: int) -> Callable[[AcceptanceScene], Page]:
    """Its live page, connected where anything can still happen, or another one of it."""

    def go(scene: AcceptanceScene) -> Page:
        need("sandbox", not available(), available())
        site = scene.idle_site
        scene.sign_in(site)
        opened = scene.open(reverse(page, args=[key_of(site, name, CAST), *more]), site)
        if opened.locator("#conn").count():
            expect(opened.locator("#conn")).to_have_text("Live")
        return opened

    return go


def typing(scene: AcceptanceScene) -> Page:
    """Into an editor that lives, beside its screen."""
    page = mission("drawn")(scene)
    page.locator("[data-number='2']").get_by_role("link", name="Type into it").click()
    expect(page.locator("#answer-text")).to_be_visible()
    return page


def focused(scene: AcceptanceScene) -> Page:
    """On another agent than the coordinator, with what came of a step unfolded."""
    page = mission("live")(scene)
    page.get_by_role("link", name="Tester").click()
    expect(page.locator("#agent-2")).to_be_visible()
    page.locator("#agent-2 summary").last.click()
    return page


def new(scene: AcceptanceScene) -> Page:
    scene.sign_in(scene.site)
    return scene.open(reverse("mission-new") + "?example=fault")


def new_with_errors(scene: AcceptanceScene) -> Page:
    page = new(scene)
    page.locator("#goal").fill("")
    page.locator("#steps").fill("0")
    page.locator("#path-1").fill("../outside")
    page.get_by_role("button", name="Start mission").last.click()
    expect(page).to_have_title(re.compile("3 things to correct"))
    return page


def memories(scene: AcceptanceScene) -> Page:
    """One that is proposed, and who of the crew sees another."""
    need("sandbox", not available(), available())
    key_of(scene.idle_site, "memories", CAST)
    scene.sign_in(scene.idle_site)
    page = scene.open(reverse("memory", args=[3]), scene.idle_site)
    page.get_by_label("Try a name").fill("Tester")
    page.get_by_role("button", name="Look").click()
    return page


def crew(scene: AcceptanceScene) -> Page:
    """With a mission of it."""
    scene.sign_in(scene.site)
    return scene.open(reverse("crew", args=[3]))
