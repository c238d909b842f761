"""Texts that would run if a page took them for more than text, in every field that people, models or endpoints fill.

Contents, criteria and reasons hold all of them; names, models, titles and messages of endpoints, which are short, a few
by `make test` and all by `make test-all`.
"""

import contextlib

import pytest
from django.urls import Resolver404, resolve, reverse
from playwright.sync_api import expect

from engine.text.invisible_chars import single_line, visible_text
from tests.acceptance.cases import AcceptanceCase, CaseMember
from tests.acceptance.scene import PATIENCE, rows
from tests.conftest import some_of
from tests.injections import INJECTIONS, STEERING, tags

THREES = some_of((INJECTIONS[start : start + 3] for start in range(0, len(INJECTIONS), 3)), 2)
SIXES = some_of((INJECTIONS[start : start + 6] for start in range(0, len(INJECTIONS), 6)), 1)
WHOLE = "\n".join(INJECTIONS)
PARTS = [" ".join(INJECTIONS[start::3]) for start in range(3)]
TRAP = """
window.traps = [];
window.ran = () => traps.push("ran");
addEventListener("securitypolicyviolation", e => traps.push(`${e.violatedDirective} ${e.blockedURI}`), true);
"""
# what a page shows or holds in its fields, and what must not have come to be in it
LOOK = """() => {
    const all = [...document.querySelectorAll("*")];
    const fields = all.filter(e => "value" in e && typeof e.value === "string").map(e => e.value);
    const ours = "[src^='/static/'], [src^='/admin/'], [type$=json]";
    const foreign = `iframe, object, embed, base, video, math, script:not(${ours})`;
    const handles = e => e.getAttributeNames().some(name => name.startsWith("on") || name.includes("hx-on"));
    const grown = all.filter(e => e.matches(foreign) || handles(e));
    const shown = document.body.cloneNode(true);
    shown.querySelectorAll("textarea").forEach(field => field.remove());
    return {
        text: [document.title, shown.textContent].join("\\n"),
        fields: fields.join("\\n"),
        grown: grown.map(e => e.outerHTML.slice(0, 200)),
        twice: [...document.querySelectorAll("[id]")].map(e => e.id).filter((id, i, ids) => ids.indexOf(id) !== i),
        traps: window.traps,
    };
}"""


def named(path):
    with contextlib.suppress(Resolver404):
        return resolve(f"/{path}").url_name


class InjectionGuard:
    """Watches a page for whatever an injected text could have made it do."""

    def __init__(self, scene):
        self.scene, self.page, self.alarms = scene, scene.page, []
        self.page.add_init_script(TRAP)
        self.page.on("dialog", lambda dialog: (self.alarms.append(dialog.message), dialog.dismiss()))
        self.page.on("console", lambda said: said.type == "error" and self.alarms.append(said.text))
        self.page.on("pageerror", lambda error: self.alarms.append(str(error)))
        self.page.on("request", self._look_at)

    def _look_at(self, request):
        """Pages ask this site alone, for files and for what has a URL with a name."""
        host, _, path = request.url.partition(f"{self.scene.site.url}/")
        if host or not (path.startswith("static/") or named(path.partition("?")[0])):
            self.alarms.append(request.url)

    def shows(self, *texts, fields=()):
        """Each text with marks for what would hide in it; fields hold theirs as they were written."""
        seen = self.page.evaluate(LOOK)
        assert (seen["traps"], seen["grown"], seen["twice"], self.alarms) == ([], [], [], [])
        assert [text for text in texts if visible_text(text) not in seen["text"]] == []
        assert [text for text in fields if text not in seen["fields"]] == []
        assert visible_text(seen["text"]) == seen["text"]


@pytest.fixture(scope="module")
def watched(scene):
    scene.sign_in(scene.site)
    return InjectionGuard(scene)


@pytest.fixture
def guard(watched):
    watched.alarms.clear()
    return watched


def case_of(number):
    """The number keeps the names apart and tells the endpoint which judgement asks."""
    members = [CaseMember(text, f"openai/{text}", f"{text} is a criterion.\n{WHOLE}", ()) for text in THREES[number]]
    return AcceptanceCase(" ".join(THREES[number]), f"Case {number:03}.\n{WHOLE}", tuple(members))


def rules_of(number):
    """Reasons in two rounds, then an endpoint that gives up on all three with the text as its message."""
    for seat, text, part in zip("ABC", THREES[number], PARTS, strict=True):
        asked = [f"Case {number:03}.", f"You are agent {seat} "]
        refuses = {"behaviour": "status", "status": 418, "body": {"error": {"message": f"Sorry: {text}"}}}
        yield [[*asked, "This is round 3 of 3."], refuses]
        yield [asked, {"reason": f"The reason is {part} and no other."}]


@pytest.fixture(scope="module")
def injected(scene):
    """Judgements that between them hold every text in every field."""
    rules = [rule for number in range(len(THREES)) for rule in rules_of(number)]
    scene.endpoint.script(by_text=rules)
    found = [scene.submit(case_of(number)) for number in range(len(THREES))]
    for pk in found:
        scene.wait_for(pk, ">Error<")
    return found


def test_reasons_that_grow_and_whole_texts_change_nothing_while_people_watch(scene, guard):
    rules = [[[f"You are agent {seat} "], {"reason": part}] for seat, part in zip("ABC", PARTS, strict=True)]
    slowly = {"reason": PARTS[0], "chunks": 4, "chunk_delay": 0.8, "delay": 0.5}
    scene.endpoint.script(by_text=[[["You are agent A ", "This is round 1 of 3."], slowly], *rules])
    members = (CaseMember(text, "openai/gpt-4o", WHOLE, ()) for text in THREES[-1])
    pk = scene.submit(AcceptanceCase("Watched", WHOLE, tuple(members)))
    page = scene.open(reverse("live", args=[pk]))
    expect(page.locator("#agent-1-reason [data-stream]")).to_contain_text(PARTS[0][:20], timeout=PATIENCE * 1000)
    guard.shows(WHOLE)
    expect(page.locator("#plate")).to_contain_text("Approved", timeout=PATIENCE * 1000)
    page.locator("#agent-2 .agent__more").click()
    expect(page.locator("#agent-2-detail")).to_be_visible()
    guard.shows(WHOLE, *PARTS)


def test_the_live_page_shows_what_was_written_and_answered(scene, guard, injected):
    for pk, texts in zip(injected, THREES, strict=True):
        page = scene.open(reverse("live", args=[pk]))
        expect(page.locator("#announcer")).to_contain_text("Error.")  # only the socket says it: its fragments are here
        guard.shows(" ".join(texts), *PARTS, *(f"It said: “Sorry: {text}" for text in texts))


@pytest.mark.parametrize("page", ["admin:judgements_judgement_change", "record"])
def test_what_is_kept_is_shown_word_by_word(scene, guard, injected, page):
    for pk, texts in zip(injected, THREES, strict=True):
        scene.open(reverse(page, args=[pk]))
        guard.shows(*texts, WHOLE, *PARTS)


def test_a_replay_plays_what_was_written_and_answered(scene, guard, injected):
    for pk, texts in some_of(zip(injected, THREES, strict=True), 2):
        page = scene.open(reverse("replay", args=[pk]))
        page.get_by_label("Time").press("End")
        expect(page.locator("#plate")).to_contain_text("Error")
        guard.shows(*texts, *PARTS)


@pytest.mark.parametrize("page", ["history", "admin:judgements_judgement_changelist"])
def test_lists_show_titles_as_they_are(scene, guard, injected, page):
    scene.open(reverse(page))
    guard.shows(*(" ".join(texts) for texts in THREES))


def test_records_that_are_printed_together_show_texts_as_they_are(scene, guard, injected):
    page = scene.open(reverse("admin:judgements_judgement_changelist"))
    page.locator("#action-toggle").check()
    page.get_by_label("Action:").select_option("print_records")
    with page.expect_navigation():
        page.get_by_role("button", name="Go").click()
    guard.shows(*(text for texts in THREES for text in texts), WHOLE, *PARTS)


def test_the_doctor_shows_what_an_endpoint_says(scene, guard):
    for text in some_of((INJECTIONS[0], INJECTIONS[1], tags("approve"), STEERING[0], STEERING[4]), 2):
        scene.endpoint.script(default={"behaviour": "status", "status": 418, "body": {"error": {"message": text}}})
        page = scene.open(reverse("doctor"))
        with page.expect_navigation():
            page.get_by_role("button", name="Check now").click()
        guard.shows(single_line(f"It said: “{text}"))


def test_names_of_models_and_councils_are_suggested_as_they_are(scene, guard, injected):
    with rows(scene.site) as database:
        councils = [(text, "2026-11-21 12:00:00") for text in INJECTIONS]
        database.executemany(
            "INSERT INTO judgements_council (name, created, retention_days) VALUES (?, ?, 365)", councils
        )
    scene.endpoint.script(models=INJECTIONS)
    page = scene.open(reverse("new"))
    expect(page.locator("#models option")).to_have_count(3 * len(INJECTIONS) + 2)
    guard.shows(*INJECTIONS, fields=[single_line(f"mistral/{text}") for text in INJECTIONS])


def test_councils_are_listed_as_they_are(scene, guard):
    scene.open(reverse("councils"))
    guard.shows(*INJECTIONS)


def test_what_is_refused_is_shown_beside_the_reason(scene, guard):
    for texts in SIXES:
        page = scene.open(reverse("new"))
        fields = [f"a{number}-{field}" for number in (1, 2, 3) for field in ("model", "fallback")]
        values = dict(zip(fields, texts, strict=True)) | {"title": " ".join(texts * 4), "a1-name": "A" * 50 + texts[0]}
        page.evaluate("values => { for (const id in values) document.getElementById(id).value = values[id] }", values)
        with page.expect_navigation():
            page.get_by_role("button", name="Start judgement").click()
        expect(page.get_by_role("alert").first).to_be_visible()
        guard.shows(*(f"“{text}” names no known provider" for text in texts), fields=values.values())
