"""What every page owes its readers, checked in every state: axe, both themes, from a wide window to a small phone.

`make test` looks at one state of each page, either wide and dark or small and light, in turn. All states, sizes and
themes are looked at by `make test-all` and `make test-every-size`.
"""

import base64
from collections import defaultdict
from collections.abc import Callable, Iterator
from importlib.resources import files
from typing import Any

import pytest
from playwright.sync_api import Page

from tests.acceptance.scene import AcceptanceScene
from tests.acceptance.states import AT_ONCE, EACH_PAGE, PageState, reach, resize, states
from tests.conftest import EVERYTHING

AXE = files("axe_playwright_python").joinpath("axe.min.js").read_text()
TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
ALL = {"runOnly": {"type": "tag", "values": TAGS}}
COLOURS = {"runOnly": {"type": "rule", "values": ["color-contrast", "link-in-text-block"]}}
NO_COLOURS = ALL | {"rules": {"color-contrast": {"enabled": False}}}
SIZES: tuple[tuple[str, int, int, dict[str, Any]], ...] = (("dark", 1440, 900, ALL), ("light", 390, 844, ALL))
if EVERYTHING:
    # of a theme the colours alone are new, of a size what it moves, shows and hides
    SIZES += (("light", 1440, 900, COLOURS), ("light", 1024, 768, NO_COLOURS), ("dark", 320, 568, ALL))
# Two thirds of the time of axe is for the contrast of texts. Those that look alike down to their last ancestor have the
# same: each such look is examined once, in the first state that has it, unless axe was not sure there.
NEW_LOOKS = """([within, known, most]) => {
    const attributes = /^(class|style|hidden|inert|disabled|open|role|type|aria-(disabled|hidden|current)|data-state)$/;
    const painted = ["color", "backgroundColor", "backgroundImage", "opacity", "filter", "mixBlendMode", "textShadow",
        "visibility", "position", "zIndex", "fontSize", "fontWeight"];
    const looks = new Map(), seen = new Map(known.split(" ").map(look => [look, most]));
    const number = text => {
        let [a, b] = [0xdeadbeef, 0x41c6ce57];
        for (let i = 0; i < text.length; i++) {
            a = Math.imul(a ^ text.charCodeAt(i), 2654435761);
            b = Math.imul(b ^ text.charCodeAt(i), 1597334677);
        }
        return (4294967296 * (2097151 & b) + (a >>> 0)).toString(36);
    };
    const own = element => {
        const told = element.getAttributeNames().filter(name => attributes.test(name)).sort();
        const styles = [null, "::before", "::after"].map(part => getComputedStyle(element, part));
        const exempt = [element.checkVisibility(), element.control?.disabled, element.innerText?.trim().length === 1];
        return [element.tagName, ...exempt,
            ...told.map(name => `${name}=${element.getAttribute(name)}`),
            ...styles.flatMap(style => painted.map(name => style[name]))].join();
    };
    for (const element of document.querySelectorAll("*")) {
        const look = number(`${looks.get(element.parentElement)} ${own(element)}`), times = seen.get(look) ?? 0;
        looks.set(element, look);
        if (!element.closest(within)) continue;
        seen.set(look, times + 1);
        element.toggleAttribute("data-new", times < most);
    }
    return [looks, seen];
}"""
RUN = f"""async ([within, options, known, most]) => {{
    const [looks, seen] = ({NEW_LOOKS})([within, known, most]);
    axe.configure({{rules: [{{id: "color-contrast", selector: "[data-new]"}}]}});
    const asked = {{...options, resultTypes: ["violations", "incomplete"], elementRef: true}};
    const {{violations, incomplete}} = await axe.run({{include: [within]}}, asked);
    const unsure = incomplete.filter(v => v.id === "color-contrast").flatMap(v => v.nodes).map(n => n.element);
    const open = new Set(unsure.map(element => looks.get(element)));
    const text = v => `${{v.id}}: ${{v.help}}: ${{v.nodes.map(n => n.target).slice(0, 3).join(" | ")}}`;
    const examined = [...seen.keys()].filter(look => !open.has(look));
    return [violations.map(text), examined.join(" ")]; // a list of so many would take longer to hand over than to find
}}"""
EVERY_TEXT = 1_000_000  # of any look
MOST = EVERY_TEXT if EVERYTHING else 1

# 200 % and 400 % zoom of a window of 1440 and 1280 pixels are the widths 720 and 320
WIDTHS: tuple[tuple[int, int], ...] = ((320, 256),)
if EVERYTHING:
    WIDTHS += ((390, 844), (720, 900), (1024, 768), (1440, 900), (1920, 1080))
# what WCAG 1.4.12 lets readers set
SPACED = """
    * { line-height: 1.5 !important; letter-spacing: .12em !important; word-spacing: .16em !important }
    p { margin-bottom: 2em !important }
"""
# text that is cut at the side of the window, or by an element that hides what does not fit into it
CUT = """() => {
    const wide = document.documentElement.scrollWidth - innerWidth;
    const found = wide > 0 ? [`the page is ${wide} px too wide`] : [];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let text = walker.nextNode(); text; text = walker.nextNode()) {
        const parent = text.parentElement;
        if (!text.data.trim() || parent.closest(".vh, .visually-hidden, .skip, .agent__model, [hidden], svg")) continue;
        if (!parent.checkVisibility({visibilityProperty: true, opacityProperty: true})) continue;
        const range = document.createRange();
        range.selectNodeContents(text);
        const box = range.getBoundingClientRect();
        if (!box.width) continue;
        let left = 0, right = innerWidth;
        for (let around = parent; around !== document.body; around = around.parentElement) {
            const style = getComputedStyle(around);
            const heard = style.clipPath === "inset(50%)", rolls = /auto|scroll/.test(style.overflowX);
            // a wide table may be rolled, as may a screen of cells, and a line of links, which each rolls into sight
            // when it gets the focus
            const may_roll = around.querySelector("table") || around.closest(".presets, .term__screen--drawn");
            if (heard || (rolls && may_roll)) {
                [left, right] = [-Infinity, Infinity];
                break;
            }
            if (style.overflowX === "visible") continue;
            const bounds = around.getBoundingClientRect();
            [left, right] = [Math.max(left, bounds.left), Math.min(right, bounds.right)];
        }
        if (box.left < left - 1 || box.right > right + 1) found.push(text.data.trim().slice(0, 60));
    }
    return found;
}"""
# without and with that; a sheet that is adopted needs no leave of the policy of contents
CUT_EITHER_WAY = f"""() => {{
    const sheet = new CSSStyleSheet(), found = [];
    document.adoptedStyleSheets.push(sheet);
    for (const text of ["", `{SPACED}`]) {{
        sheet.replaceSync(text);
        {AT_ONCE};
        dispatchEvent(new Event("resize")); // what the page measures itself, it measures anew
        found.push(({CUT})());
    }}
    document.adoptedStyleSheets.pop();
    return found;
}}"""

# what the bar with the button lies over just now is too small to be touched, says axe: beside it, nothing is
BAR_ASIDE = """() => {
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(".new__go { position: static !important }");
    document.adoptedStyleSheets.push(sheet);
}"""

EMPTY_STYLE = "sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="  # of no characters
# a part of a live page as the site sends it again, in place of one on which a script has left an empty style
SENT_AGAIN = """async () => {
    const plate = document.getElementById("plate"), html = plate?.outerHTML;
    if (!window.htmx || !plate) return;
    plate.style.top = "0";
    plate.style.removeProperty("top");
    const spec = {swapStyle: "outerHTML", swapDelay: 0, settleDelay: 0};
    await new Promise(done => htmx.swap(plate, html, spec, {afterSettleCallback: done}));
    await new Promise(done => setTimeout(done)); // what the policy of contents refuses is told in a task of its own
}"""

# ---- contrast that axe cannot see: behind text on a clipped shape it knows no colour. Here the pixels say it. ----

PAINTED = ["live-round2", "debate-nine"]
if EVERYTHING:
    PAINTED += ["live-round1", "live-retry", "live-approved", "live-error"]
FLASH = (0, 600)  # milliseconds: a judging head at its darkest and at its brightest
TEXTS = """() => {
    const found = [];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let text = walker.nextNode(); text; text = walker.nextNode()) {
        const parent = text.parentElement, style = getComputedStyle(parent);
        if (!text.data.trim() || parent.closest(".vh, .skip, [hidden], [aria-disabled=true]")) continue;
        let opacity = 1, top = 0, bottom = innerHeight; // what lies beyond these is cut off
        for (let around = parent; around; around = around.parentElement) {
            const style = getComputedStyle(around), bounds = around.getBoundingClientRect();
            opacity *= style.opacity;
            if (style.overflowY === "visible" || around === document.documentElement) continue;
            [top, bottom] = [Math.max(top, bounds.top), Math.min(bottom, bounds.bottom)];
        }
        const range = document.createRange();
        range.selectNodeContents(text);
        const size = parseFloat(style.fontSize), bold = style.fontWeight >= 700;
        for (const box of range.getClientRects()) {
            const middle = box.y + box.height / 2, seen = document.elementFromPoint(box.x + box.width / 2, middle);
            // what the window cuts has no pixels in the picture
            if (box.width < 2 || middle < top || middle > bottom || box.bottom > innerHeight) continue;
            if (!seen || !(seen.contains(parent) || parent.contains(seen))) continue;
            found.push({text: text.data.trim().slice(0, 30), color: style.color, opacity,
                large: size >= 24 || (bold && size >= 18.66), box: box.toJSON()});
        }
    }
    return found;
}"""
NO_TEXT = """on => {
    const sheet = new CSSStyleSheet();
    const unseen = "color: transparent !important; text-decoration-color: transparent !important";
    sheet.replaceSync(on ? `* { ${unseen}; transition: none !important } svg { opacity: 0 }` : "");
    document.adoptedStyleSheets = [sheet];
}"""
CONTRASTS = """async ([png, texts]) => {
    const picture = await createImageBitmap(await (await fetch(`data:image/png;base64,${png}`)).blob());
    const canvas = new OffscreenCanvas(picture.width, picture.height);
    const brush = canvas.getContext("2d", {willReadFrequently: true});
    const linear = v => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
    const light = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
    const ratio = (a, b) => (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    const rgba = color => { // whatever notation, as the canvas paints it
        brush.clearRect(0, 0, 1, 1);
        brush.fillStyle = color;
        brush.fillRect(0, 0, 1, 1);
        return [...brush.getImageData(0, 0, 1, 1).data];
    };
    const colors = texts.map(text => rgba(text.color));
    brush.drawImage(picture, 0, 0);
    return texts.map(({text, opacity, large, box}, i) => {
        const [r, g, b, a] = colors[i], part = opacity * a / 255, ratios = [];
        const {data} = brush.getImageData(box.x, box.y, Math.ceil(box.width), Math.ceil(box.height));
        for (let at = 0; at < data.length; at += 4) {
            const behind = [data[at], data[at + 1], data[at + 2]];
            const ink = [r, g, b].map((v, c) => v * part + behind[c] * (1 - part));
            ratios.push(ratio(light(ink), light(behind)));
        }
        ratios.sort((one, other) => one - other);
        return {text, least: large ? 3 : 4.5, ratio: ratios[Math.floor(ratios.length / 20)]}; // past the edges
    });
}"""


@pytest.fixture(scope="module")
def scene(scene: AcceptanceScene) -> AcceptanceScene:
    if not EVERYTHING:
        scene.listed = ("approved", "rejected", "error", "overridden")
    return scene


LOOKED_AT = [one for one in states() if not one.printed and (EVERYTHING or one.name in EACH_PAGE)]


def on(which: Callable[[PageState], bool]) -> pytest.MarkDecorator:
    """In each of these states."""
    chosen = [state for state in LOOKED_AT if which(state)]
    return pytest.mark.parametrize("shown", chosen, indirect=True, ids=lambda state: state.name)


@pytest.fixture(scope="module")
def shown(scene: AcceptanceScene, request: pytest.FixtureRequest) -> Iterator[tuple[Page, PageState]]:
    """Every state in turn, on a page that stands in it."""
    page = reach(scene, request.param)
    yield page, request.param
    if page != scene.page:
        page.close()


@pytest.fixture(scope="module")
def console(scene: AcceptanceScene) -> list[str]:
    """What it says of empty styles that the policy of contents has refused, on all pages: axe has others refused."""
    said: list[str] = []
    scene.context.on("console", lambda one: EMPTY_STYLE in one.text and said.append(one.text))
    return said


@pytest.fixture(scope="module")
def known() -> dict[tuple[str, int], set[str]]:
    """The looks of texts whose contrast is known, in each theme and size."""
    return defaultdict(set)


Found = dict[tuple[str, Any], Any]
Known = dict[tuple[str, int], set[str]]


@on(lambda state: True)
def test_axe_finds_nothing_no_text_is_cut_and_the_policy_of_contents_refuses_nothing(
    console: list[str], shown: tuple[Page, PageState], known: dict[tuple[str, int], set[str]]
) -> None:
    shown[0].evaluate(SENT_AGAIN)
    found: Found = {("console", 0): console[:]}
    found |= what_axe_finds(*shown, known) | what_is_cut(*shown)
    console.clear()
    assert not {where: problems for where, problems in found.items() if problems}


def what_axe_finds(page: Page, state: PageState, known: Known) -> Found:
    page.evaluate(AXE)
    page.evaluate(BAR_ASIDE)
    found = {}
    for theme, width, height, options in SIZES if EVERYTHING else [SIZES[LOOKED_AT.index(state) % 2]]:
        resize(page, state, width, height, theme)
        looks = known[theme, width]
        found[theme, width], seen = page.evaluate(RUN, [state.ours, options, " ".join(looks), MOST])
        looks.update(() if EVERYTHING else seen.split())
    return found


def what_is_cut(page: Page, state: PageState) -> Found:
    """In the window that axe has seen, and in others."""
    if state.ours not in ("html", ".review"):  # the rest of the admin has the layout of Django
        return {}
    cut: dict[Any, Any] = {"as axe saw it": page.evaluate(CUT_EITHER_WAY)}
    for width, height in WIDTHS:
        resize(page, state, width, height, "dark")
        cut[width] = page.evaluate(CUT_EITHER_WAY)
    return {("cut", width): texts for width, texts in cut.items() if any(texts)}


# the sizes of usual windows, from the smallest that shows the whole triangle
STAGES = ((1440, 900), (1366, 768), (1280, 720), (1024, 768), (1024, 700))
PLACES = """[...document.querySelectorAll("#stage, .agent")].map(e => e.getBoundingClientRect())
    .flatMap(({top, bottom}) => [Math.round(top), Math.round(bottom)])"""
OF_A_STAGE = {s.name for s in states("live-") + states("overridden-live") if not s.settle}


@pytest.fixture(scope="module")
def places() -> dict[tuple[int, int], list[int]]:
    """Where everything on the stage is, at each size: as the first state shows it."""
    return {}


@on(lambda state: state.name in OF_A_STAGE)
def test_the_stage_stands_still_and_in_sight_whatever_it_shows(shown: tuple[Page, PageState], places: dict) -> None:
    page, state = shown
    for width, height in STAGES:
        resize(page, state, width, height, "dark")
        found = page.evaluate(PLACES)
        assert found == places.setdefault((width, height), found)
        assert max(found) <= height


@on(lambda state: state.name in PAINTED)
def test_text_stands_out_from_the_pixels_behind_it(shown: tuple[Page, PageState], scene: AcceptanceScene) -> None:
    page, state = shown
    canvas, found = scene.context.new_page(), []
    for theme in ("dark", "light") if EVERYTHING else (SIZES[PAINTED.index(state.name) % 2][0],):
        resize(page, state, 1440, 900, theme)
        moves = page.evaluate("document.getAnimations().length")
        for moment in FLASH if moves else FLASH[:1]:
            page.evaluate(f"document.getAnimations().forEach(a => {{ a.pause(); a.currentTime = {moment} }})")
            texts = page.evaluate(TEXTS)
            page.evaluate(NO_TEXT, True)
            png = base64.b64encode(page.screenshot()).decode()
            page.evaluate(NO_TEXT, False)
            found += [measured | {"theme": theme} for measured in canvas.evaluate(CONTRASTS, [png, texts])]
    canvas.close()
    lowest = min((text for text in found if text["least"] == 4.5), key=lambda text: text["ratio"])
    print(state.name, len(found), "texts, lowest", lowest)
    assert [text for text in found if text["ratio"] < text["least"]] == []
