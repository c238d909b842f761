"""What every page owes its readers, checked in every state: axe, both themes, from a wide window to a small phone."""

from collections.abc import Iterator
from importlib.resources import files

import pytest
from playwright.sync_api import Page, sync_playwright

from tests.acceptance.states import Scene, State, launch, reach, resize, states

AXE = files("axe_playwright_python").joinpath("axe.min.js").read_text()
ALL = {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}
# all else is the same in both themes: a theme is nothing but colours
COLOURS = {"type": "rule", "values": ["color-contrast", "link-in-text-block"]}
SIZES = ((1440, 900), (1024, 768), (390, 844), (320, 568))
RUN = """async ([within, only]) => {
    const result = await axe.run({include: within}, {runOnly: only, resultTypes: ["violations"]});
    return result.violations.map(v => `${v.id}: ${v.help}: ${v.nodes.map(n => n.target).slice(0, 3).join(" | ")}`);
}"""


@pytest.fixture(scope="module")
def scene(chromium, tmp_path_factory):
    with sync_playwright() as playwright:
        browser = launch(playwright, chromium)
        with Scene(browser, tmp_path_factory.mktemp("scene")) as scene:
            yield scene


@pytest.fixture(params=[s for s in states() if not s.printed], ids=lambda state: state.name)
def shown(scene: Scene, request: pytest.FixtureRequest) -> Iterator[tuple[Page, State]]:
    """Every state in turn, on a page that stands in it."""
    page = reach(scene, request.param)
    yield page, request.param
    if page != scene.page:
        page.close()


def test_axe_finds_nothing(shown: tuple[Page, State]) -> None:
    page, state = shown
    page.evaluate(AXE)
    found = {}
    for theme, only in (("dark", ALL), ("light", COLOURS)):
        for width, height in SIZES:
            resize(page, state, width, height, theme)
            found[theme, width] = page.evaluate(RUN, [[state.ours], only])
    assert not {where: problems for where, problems in found.items() if problems}
