"""The ways to the states of lists: the history, the reviewers' desk and their list in the admin."""

from collections.abc import Callable

from django.urls import reverse
from playwright.sync_api import Page, expect

from tests.acceptance.cases import REFUND
from tests.acceptance.scene import AcceptanceScene, rows, unguarded


def full_history(scene: AcceptanceScene) -> Page:
    scene.fill_lists()
    return scene.open(reverse("history"))


def compared(scene: AcceptanceScene) -> Page:
    a, b = scene.judgement("rejected"), scene.judgement("approved")
    return scene.open(f"{reverse('compare')}?a={a}&b={b}")


def two_ticked(scene: AcceptanceScene) -> Page:
    page = full_history(scene)
    for box in page.locator(".list__tick input").all()[:2]:
        box.check()
    return page


def reviewers_list(scene: AcceptanceScene) -> Page:
    scene.fill_lists()
    return scene.open(reverse("admin:judgements_judgement_changelist"))


def desk(scene: AcceptanceScene) -> Page:
    scene.fill_lists()
    return scene.open(reverse("review"))


def desk_of(moment: str) -> Callable[[AcceptanceScene], Page]:
    """With this record beside the list, or on a page of its own where there is no room."""

    def go(scene: AcceptanceScene) -> Page:
        scene.fill_lists()
        look = "error" if moment == "error" else "overridden"
        return scene.open(reverse("review-one", args=[scene.judgement(moment)]) + f"?look={look}")

    return go


def asked_to_override(scene: AcceptanceScene) -> Page:
    page = desk_of("error")(scene)
    page.get_by_role("radio", name="Override").check()
    page.get_by_label("Note, or the reason").fill("The vendor confirmed the answer by phone.")
    page.get_by_label("Approved").check()
    page.get_by_role("button", name="Add").click()
    expect(page.get_by_text("This cannot be undone.")).to_be_visible()
    return page


def override_without_reason(scene: AcceptanceScene) -> Page:
    page = desk_of("error")(scene)
    page.get_by_role("radio", name="Override").check()
    page.get_by_role("button", name="Add").click()
    expect(page.get_by_text("Choose what you decide instead.")).to_be_visible()
    return page


def broken_record(scene: AcceptanceScene) -> Page:
    """While it is looked at, its content is another than what was sealed."""
    run = scene.judgement("rejected")
    address = f"{reverse('review-one', args=[run])}?look=swayed"
    change = "UPDATE judgements_judgement SET content = ? WHERE run_id = ?"
    with rows(scene.site) as database, unguarded(database, "judgements_judgement"):
        database.execute(change, ("Something else.", run.replace("-", "")))
    try:
        return scene.open(address)
    finally:
        with rows(scene.site) as database, unguarded(database, "judgements_judgement"):
            database.execute(change, (REFUND.content, run.replace("-", "")))


def empty_desk(scene: AcceptanceScene) -> Page:
    scene.sign_in(scene.idle_site)
    return scene.open(reverse("review"), scene.idle_site)


def printout(scene: AcceptanceScene) -> Page:
    page, some = reviewers_list(scene), 3
    for number in range(some):
        page.locator(".action-select").nth(number).check()
    page.get_by_label("Action:").select_option("print_records")
    page.get_by_role("button", name="Go").click()
    expect(page.get_by_role("article")).to_have_count(some)
    return page


def history_unfolded(scene: AcceptanceScene) -> Page:
    """Of all kinds, with all that opens: the filters of a small screen, the days, and where a view is saved."""
    full_history(scene)
    if not scene.page.get_by_role("link", name="Refused by us").count():
        answer = scene.post(scene.site, reverse("save-view"), {"name": "Refused by us", "query": "outcome=rejected"})
        assert answer.status == 302
    page = scene.open(f"{reverse('runs-history')}?outcome=rejected")
    page.evaluate("document.querySelectorAll('main details:not(.menu--btn)').forEach(one => { one.open = true })")
    return page


def empty_history(scene: AcceptanceScene) -> Page:
    scene.sign_in(scene.idle_site)
    return scene.open(reverse("history"), scene.idle_site)
