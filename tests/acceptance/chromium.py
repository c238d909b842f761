"""The browser of the tests: Chromium, and where it is installed its shell without windows, at half the work."""

import shutil
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Playwright

PROGRAMS = ("chromium-headless-shell", "chromium", "google-chrome")
OPTIONS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]
# what flashes is painted anew sixty times a second, which is half a processor: in steps it is painted a few times
IN_STEPS = """{
    const sheet = new CSSStyleSheet();
    sheet.replaceSync("*, ::before, ::after { animation-timing-function: steps(2, jump-none) !important }");
    document.adoptedStyleSheets = [sheet];
}"""


def program() -> str:
    """Empty if there is none."""
    return next(filter(None, map(shutil.which, PROGRAMS)), "")


def launch(playwright: "Playwright") -> "Browser":
    return playwright.chromium.launch(executable_path=program(), args=OPTIONS)


def visit(browser: "Browser", **options: Any) -> "BrowserContext":
    """A visitor of its own, who sees all that moves move in steps."""
    context = browser.new_context(color_scheme="dark", **options)
    context.add_init_script(IN_STEPS)
    return context
