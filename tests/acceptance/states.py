"""Every state that a page can be seen in, each with the way to it on a real site: one line in `EVERY`.

The screenshots, the accessibility tests and whatever else must hold for all pages go through this one list. A new page
is one more line.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from playwright.sync_api import Page

from tests.acceptance import ways, ways_of_lists, ways_of_teams
from tests.acceptance import ways_of_debates as debates
from tests.acceptance import ways_of_inquiries as inquiries
from tests.acceptance import ways_of_links as links
from tests.acceptance import ways_of_missions as missions
from tests.acceptance import ways_of_plans as plans
from tests.acceptance.scene import AcceptanceScene
from tests.acceptance.ways import at, live, of
from tests.acceptance.ways_of_debates import debate, own_turn

# colours fade into one another for a moment when the theme changes
AT_ONCE = "document.getAnimations().forEach(a => a instanceof CSSTransition && a.finish())"


@dataclass(frozen=True)
class PageState:
    """`settle` is done again at every size; `ours` is the part of the page that is ours, where not all of it is."""

    name: str
    reach: Callable[[AcceptanceScene], Page]
    settle: Callable[[Page], None] | None = None
    ours: str = "html"
    printed: bool = False


EVERY = [
    PageState("sign-in", ways.signed_out),
    PageState("sign-in-error", ways.wrong_password),
    PageState("sign-in-limit", ways.too_many_attempts),
    PageState("sign-in-link", ways.used_link),
    PageState("password", at("password")),
    PageState("tokens", at("tokens")),
    PageState("tokens-new", ways.new_token),
    PageState("tokens-errors", ways.tokens_with_errors),
    PageState("notices", at("notices")),
    PageState("input", ways.filled_input),
    PageState("input-empty", ways.empty_input),
    PageState("input-agents", ways.whole_input),
    PageState("input-example", ways.typed_input),
    PageState("input-first", ways.first_visit),
    PageState("example", ways.at("example")),
    PageState("input-errors", ways.input_with_errors),
    PageState("input-overtaken", ways.overtaken_input),
    PageState("input-councils", ways.input_of_councils_only),
    PageState("debate-new", ways.new_debate),
    PageState("debate-new-errors", ways.new_debate_with_errors),
    PageState("inquiry-new", inquiries.new),
    PageState("inquiry-new-errors", inquiries.new_with_errors),
    PageState("inquiry-answered", inquiries.opened),
    PageState("inquiry-unanswered", inquiries.inquiry("unanswered")),
    PageState("inquiry-failed", inquiries.inquiry("failed")),
    PageState("inquiry-record", inquiries.inquiry("answered", "inquiry-record")),
    PageState("inquiry-source", inquiries.inquiry("answered", "inquiry-source", 1)),
    # those that engines leave at work come last: the engine of the next would take them
    PageState("inquiry-live", inquiries.inquiry("live")),
    PageState("inquiry-long", inquiries.inquiry("long")),
    PageState("mission-new", missions.new),
    PageState("mission-new-errors", missions.new_with_errors),
    PageState("mission-gate", missions.mission("gate")),
    PageState("mission-terminals", missions.mission("gate", "mission-terminals")),
    PageState("mission-terminal", missions.mission("gate", "mission-terminal", 1)),
    PageState("mission-messages", missions.mission("gate", "mission-messages")),
    PageState("mission-question", missions.mission("question")),
    PageState("mission-error", missions.mission("failed")),
    PageState("mission-done", missions.mission("done")),
    PageState("mission-unproven", missions.mission("unproven")),
    PageState("mission-files", missions.mission("done", "mission-files")),
    PageState("mission-judge", missions.mission("done", "mission-judge")),
    PageState("mission-record", missions.mission("done", "mission-record")),
    PageState("mission-replay", missions.mission("done", "mission-replay")),
    PageState("mission-live", missions.focused),
    PageState("mission-asks", missions.mission("asks")),
    PageState("mission-drawn", missions.mission("drawn")),
    PageState("mission-typing", missions.typing),
    PageState("mission-paused", missions.mission("paused")),
    PageState("mission-terminals-live", missions.mission("live", "mission-terminals")),
    PageState("mission-terminal-live", missions.mission("live", "mission-terminal", 1)),
    PageState("crew", missions.crew),
    PageState("crew-version", at("crew-version", 3, 1)),
    PageState("crew-new", at("crew-new")),
    PageState("crew-edit", at("crew-edit", 3)),
    PageState("roster", inquiries.roster),
    PageState("roster-new", at("roster-new")),
    PageState("memories", missions.memories),
    PageState("memory-new", at("memory-new")),
    PageState("plan-new", ways_of_teams.new_plan),
    PageState("plan-new-errors", ways_of_teams.new_plan_with_errors),
    PageState("plan-new-begun", ways_of_teams.begun_from),
    PageState("plan-proposed", plans.plan("proposed")),
    PageState("plan-changed", plans.changed),
    PageState("plan-questions", plans.plan("questions")),
    PageState("plan-differs", plans.plan("differs")),
    PageState("plan-person", plans.plan("person")),
    PageState("plan-failure", plans.plan("failure")),
    PageState("plan-uncertain", plans.plan("uncertain")),
    PageState("plan-error", plans.plan("broken")),
    PageState("waiting", plans.waiting),
    PageState("waiting-batch", plans.ticked, settle=plans.at_batch),
    PageState("gate", plans.gate),
    PageState("plan-done", plans.plan("done")),
    PageState("plan-mission", plans.plan("mission")),
    PageState("plan-record", plans.plan("done", "plan-record")),
    PageState("plan-matter", plans.plan("matter", "plan-matter")),
    PageState("debate-idle", debate("queued")),
    PageState("debate-first", debate("asked_alone")),
    PageState("debate-speaking", debate("speaking")),
    PageState("debate-retry", debate("retried")),
    PageState("debate-waiting", debate("waited_for")),
    PageState("debate-turn", own_turn),
    PageState("debate-leave", debates.about_to_leave),
    PageState("debate-last-word", debate("last_words")),
    PageState("debate-closing", debate("closing")),
    PageState("debate-decided", debate("decided")),
    PageState("debate-none", debate("undecided")),
    PageState("debate-error", debate("failed")),
    PageState("debate-cancelled", debate("cancelled")),
    PageState("debate-rehearsed", debate("rehearsed")),
    PageState("debate-replay", debates.replayed),
    PageState("debate-record", debates.told("decided")),
    PageState("debate-record-early", debates.told("early")),
    PageState("debate-record-failed", debates.told("failed")),
    PageState("debate-record-print", debates.told("decided"), printed=True),
    PageState("debate-asked", debates.asked),
    PageState("debate-alone", debates.looked_alone),
    PageState("debate-two", debate("two")),
    PageState("debate-nine", debate("nine")),
    PageState("history-empty", ways_of_lists.empty_history),
    PageState("live-idle", ways.idle),
    PageState("live-round1", live("round1")),
    PageState("live-round2", live("round2")),
    PageState("live-retry", live("retry")),
    PageState("live-approved", live("approved")),
    PageState("live-rejected", live("rejected")),
    PageState("live-error", live("error")),
    PageState("live-cancelled", live("cancelled")),
    PageState("live-cut-off", ways.cancelled_while_watched),
    PageState("live-carried", live("carried")),
    PageState("live-rehearsed", live("rehearsed")),
    PageState("live-long", live("long")),
    PageState("live-detail", live("round2"), settle=partial(ways.open_panel, number=1)),
    PageState("live-detail-left", live("round2"), settle=partial(ways.open_panel, number=2)),
    PageState("live-detail-approved", live("approved"), settle=partial(ways.open_panel, number=3)),
    PageState("live-cancel", ways.ask_before_cancelling),
    PageState("live-reconnecting", ways.cut_off),
    PageState("live-offline", partial(ways.cut_off, offline=True)),
    PageState("cancel", at("cancel", of("round2"))),
    PageState("redact", at("redact", of("approved"))),
    PageState("redact-error", ways.redact_without_reason),
    PageState("redact-not-over", at("redact", of("round2"))),
    PageState("share", links.share_again),
    PageState("shared", links.shared),
    PageState("share-given", links.given),
    PageState("badges", links.badge),
    PageState("webhooks", links.hook_made),
    PageState("webhooks-errors", links.hook_with_errors),
    PageState("webhook", links.hook),
    PageState("shared-ended", links.shared_no_more),
    PageState("check", at("check-page")),
    PageState("check-intact", links.checked),
    PageState("check-alone", partial(links.checked, key=False)),
    PageState("check-changed", partial(links.checked, was=b"Friday", now=b"Monday")),
    PageState("overridden-live", live("overridden")),
    PageState("overridden-record", at("record", of("overridden"))),
    PageState("redacted-live", live("redacted")),
    PageState("redacted-record", at("record", of("redacted"))),
    PageState("history", ways_of_lists.full_history),
    PageState("history-compare", ways_of_lists.two_ticked),
    PageState("compare", ways_of_lists.compared),
    PageState("compare-print", ways_of_lists.compared, printed=True),
    PageState("history-search", at("history", q="release", outcome="approved")),
    PageState("history-none", at("history", q="zeppelin")),
    PageState("history-wrong", at("history", since="x")),
    PageState("history-loosened", at("runs-history", q="release", outcome="rejected")),
    PageState("history-sorted", at("runs-history", sort="-took")),
    PageState("history-unfolded", ways_of_lists.history_unfolded),
    PageState("review", ways_of_lists.desk),
    PageState("review-error", ways_of_lists.desk_of("error")),
    PageState("review-record", ways_of_lists.desk_of("overridden")),
    PageState("review-override", ways_of_lists.asked_to_override),
    PageState("review-refused", ways_of_lists.override_without_reason),
    PageState("review-broken", ways_of_lists.broken_record),
    PageState("review-empty", ways_of_lists.empty_desk),
    PageState("menu", ways.menu, ours=".bar"),  # what it covers is not looked at
    PageState("record", at("record", of("approved"))),
    PageState("record-error", at("record", of("error"))),
    PageState("record-print", at("record", of("approved")), printed=True),
    PageState("live-print", live("approved"), printed=True),
    PageState("replay", ways.replay),
    PageState("council", at("council", 2)),
    PageState("council-short", ways.short_council),
    PageState("council-short-edit", partial(ways.short_council, url_name="council-edit")),
    PageState("council-locked", ways.locked_council),
    PageState("council-version", at("council-version", 2, 1)),
    PageState("council-new", at("council-new")),
    PageState("council-edit", at("council-edit", 2)),
    PageState("debate-new-documents", ways.new_debate_with_documents),
    PageState("panel", at("panel", 1)),
    PageState("panel-version", at("panel-version", 1, 1)),
    PageState("panel-new", at("panel-new")),
    PageState("panel-edit", at("panel-edit", 3)),
    PageState("panel-save", ways.debate_saved_as_panel),
    PageState("outbox", ways_of_teams.outbox),
    PageState("outbox-empty", ways_of_teams.no_letters),
    PageState("team", at("team", 2)),
    PageState("team-version", at("team-version", 2, 1)),
    PageState("team-new", at("team-new")),
    PageState("team-edit", at("team-edit", 2)),
    PageState("team-edit-errors", ways_of_teams.edit_with_errors),
    PageState("team-text", ways_of_teams.as_text),
    PageState("api-docs", at("api:openapi-view")),
    PageState("api-docs-few", at("model:openapi-view")),
    PageState("400", ways.not_understood),
    PageState("403", ways.not_allowed),
    PageState("404", lambda scene: scene.open("/nowhere/")),
    PageState("500", ways.broken),
    PageState("503", ways.no_database),
    PageState("admin", at("admin:index"), ours="body"),
    PageState("admin-users", at("admin:auth_user_changelist"), ours="body"),
    PageState("admin-user", at("admin:auth_user_add"), ours="body"),
    PageState("admin-list", ways_of_lists.reviewers_list, ours="body"),
    PageState("admin-list-none", at("admin:judgements_judgement_changelist", q="zeppelin", who="zed"), ours="body"),
    PageState("admin-runs", at("admin:engine_run_changelist"), ours="body"),
    PageState("admin-run", at("admin:engine_run_change", of("approved")), ours=".review"),
    PageState("admin-judgement", at("admin:judgements_judgement_change", of("error")), ours=".review"),
    PageState("admin-judgement-approved", at("admin:judgements_judgement_change", of("approved")), ours=".review"),
    PageState("admin-judgement-overridden", at("admin:judgements_judgement_change", of("overridden")), ours=".review"),
    PageState("admin-judgement-redacted", at("admin:judgements_judgement_change", of("redacted")), ours=".review"),
    PageState("admin-review-error", ways.review_without_text, ours=".review"),
    PageState("admin-printout", ways_of_lists.printout),
    PageState("doctor", at("doctor"), ours="body"),
    # last, for it makes judgements of its own
    PageState("library", ways.library),
    PageState("tools", at("tools")),
    PageState("tools-mcp", ways_of_teams.tools_of_others),
    PageState("tools-none", at("tools", q="zeppelin")),
    PageState("library-few", at("library")),
    PageState("library-none", at("library", q="zeppelin")),
]

# So few that each template of a page is looked at once, in the state that shows most of it, and what pages include is
# seen in one of them: these are looked at by `make test`. A replay, a record and a search look alike for every kind.
EACH_PAGE = """
    sign-in-error sign-in-link password tokens-new notices input-errors debate-new-errors inquiry-new-errors
    inquiry-answered inquiry-record inquiry-source mission-new-errors mission-gate mission-terminals
    mission-terminal mission-messages mission-files mission-judge mission-record crew crew-version crew-edit roster
    roster-new memories memory-new plan-new-errors plan-changed plan-record plan-matter waiting gate debate-nine
    debate-record-early debate-asked debate-alone live-round2 live-error cancel redact-error share-given shared
    shared-ended badges webhooks-errors webhook check-changed overridden-record compare replay history-wrong
    history-sorted review-override council council-version council-edit panel panel-version panel-edit outbox team
    team-version team-edit-errors team-text api-docs-few 403 404 500 503 admin admin-list admin-run admin-printout
    doctor tools-mcp library-few
""".split()
assert set(EACH_PAGE) <= {state.name for state in EVERY}


def states(only: str = "") -> list[PageState]:
    """All of them, or those whose names begin so."""
    return [state for state in EVERY if state.name.startswith(only)]


def reach(scene: AcceptanceScene, state: PageState) -> Page:
    """The page in this state. One that is not the scene's own is to be closed by whoever asked for it."""
    scene.context.set_offline(False)
    scene.sign_in(scene.site)
    scene.page.emulate_media(media="screen")  # on paper there is nothing to press
    page = state.reach(scene)
    page.emulate_media(media="print" if state.printed else "screen")
    page.evaluate("document.fonts.ready.then(() => null)")
    return page


def resize(page: Page, state: PageState, width: int, height: int, theme: str) -> None:
    page.set_viewport_size({"width": width, "height": height})
    page.emulate_media(color_scheme="light" if theme == "light" else "dark")
    page.evaluate("scrollTo(0, 0)")
    if state.settle:
        state.settle(page)
    page.evaluate(AT_ONCE)
