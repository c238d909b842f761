"""Ways to the pages on which plans are begun, and to teams."""

import re

from django.urls import reverse
from playwright.sync_api import Page, expect

from .scene import Scene


def new_plan(scene: Scene) -> Page:
    page = scene.open(reverse("plan-new") + "?example=onboard")
    expect(page.locator("#cost")).to_contain_text("before the plan is approved")
    return page


def new_plan_with_errors(scene: Scene) -> Page:
    page = new_plan(scene)
    page.locator("#task").fill("")
    page.locator("#spend").fill("a lot")
    page.get_by_role("button", name="Plan it").last.click()
    expect(page).to_have_title(re.compile("2 things to correct"))
    return page
