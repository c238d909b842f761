"""The browser of the tests: Chromium, and where it is installed its shell without windows, at half the work."""

import shutil
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Playwright

PROGRAMS = ("chromium-headless-shell", "chromium", "google-chrome")
OPTIONS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]


def program() -> str:
    """Empty if there is none."""
    return next(filter(None, map(shutil.which, PROGRAMS)), "")


def launch(playwright: "Playwright") -> "Browser":
    return playwright.chromium.launch(executable_path=program(), args=OPTIONS)
