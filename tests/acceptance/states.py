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
from tests.acceptance.scene import Scene
from tests.acceptance.ways import at, live, of
from tests.acceptance.ways_of_debates import debate, own_turn

# colours fade into one another for a moment when the theme changes
AT_ONCE = "document.getAnimations().forEach(a => a instanceof CSSTransition && a.finish())"


@dataclass(frozen=True)
class State:
    """`settle` is done again at every size; `ours` is the part of the page that is ours, where not all of it is."""

    name: str
    reach: Callable[[Scene], Page]
    settle: Callable[[Page], None] | None = None
    ours: str = "html"
    printed: bool = False


EVERY = [
    State("sign-in", ways.signed_out),
    State("sign-in-error", ways.wrong_password),
    State("sign-in-limit", ways.too_many_attempts),
    State("sign-in-link", ways.used_link),
    State("password", at("password")),
    State("tokens", at("tokens")),
    State("tokens-new", ways.new_token),
    State("tokens-errors", ways.tokens_with_errors),
    State("notices", at("notices")),
    State("input", ways.filled_input),
    State("input-empty", ways.empty_input),
    State("input-agents", ways.whole_input),
    State("input-example", ways.typed_input),
    State("input-first", ways.first_visit),
    State("example", ways.at("example")),
    State("input-errors", ways.input_with_errors),
    State("input-overtaken", ways.overtaken_input),
    State("input-councils", ways.input_of_councils_only),
    State("debate-new", ways.new_debate),
    State("debate-new-errors", ways.new_debate_with_errors),
    State("inquiry-new", inquiries.new),
    State("inquiry-new-errors", inquiries.new_with_errors),
    State("inquiry-answered", inquiries.opened),
    State("inquiry-unanswered", inquiries.inquiry("unanswered")),
    State("inquiry-failed", inquiries.inquiry("failed")),
    State("inquiry-record", inquiries.inquiry("answered", "inquiry-record")),
    State("inquiry-source", inquiries.inquiry("answered", "inquiry-source", 1)),
    # those that engines leave at work come last: the engine of the next would take them
    State("inquiry-live", inquiries.inquiry("live")),
    State("inquiry-long", inquiries.inquiry("long")),
    State("mission-new", missions.new),
    State("mission-new-errors", missions.new_with_errors),
    State("mission-gate", missions.mission("gate")),
    State("mission-terminals", missions.mission("gate", "mission-terminals")),
    State("mission-terminal", missions.mission("gate", "mission-terminal", 1)),
    State("mission-messages", missions.mission("gate", "mission-messages")),
    State("mission-question", missions.mission("question")),
    State("mission-error", missions.mission("failed")),
    State("mission-done", missions.mission("done")),
    State("mission-unproven", missions.mission("unproven")),
    State("mission-files", missions.mission("done", "mission-files")),
    State("mission-judge", missions.mission("done", "mission-judge")),
    State("mission-record", missions.mission("done", "mission-record")),
    State("mission-replay", missions.mission("done", "mission-replay")),
    State("mission-live", missions.focused),
    State("mission-asks", missions.mission("asks")),
    State("mission-drawn", missions.mission("drawn")),
    State("mission-typing", missions.typing),
    State("mission-paused", missions.mission("paused")),
    State("mission-terminals-live", missions.mission("live", "mission-terminals")),
    State("mission-terminal-live", missions.mission("live", "mission-terminal", 1)),
    State("crew", missions.crew),
    State("crew-version", at("crew-version", 3, 1)),
    State("crew-new", at("crew-new")),
    State("crew-edit", at("crew-edit", 3)),
    State("roster", inquiries.roster),
    State("roster-new", at("roster-new")),
    State("memories", missions.memories),
    State("memory-new", at("memory-new")),
    State("plan-new", ways_of_teams.new_plan),
    State("plan-new-errors", ways_of_teams.new_plan_with_errors),
    State("plan-new-begun", ways_of_teams.begun_from),
    State("plan-proposed", plans.plan("proposed")),
    State("plan-changed", plans.changed),
    State("plan-questions", plans.plan("questions")),
    State("plan-differs", plans.plan("differs")),
    State("plan-person", plans.plan("person")),
    State("plan-failure", plans.plan("failure")),
    State("plan-uncertain", plans.plan("uncertain")),
    State("plan-error", plans.plan("broken")),
    State("waiting", plans.waiting),
    State("waiting-batch", plans.ticked, settle=plans.at_batch),
    State("gate", plans.gate),
    State("plan-done", plans.plan("done")),
    State("plan-mission", plans.plan("mission")),
    State("plan-record", plans.plan("done", "plan-record")),
    State("plan-matter", plans.plan("matter", "plan-matter")),
    State("debate-idle", debate("queued")),
    State("debate-first", debate("asked_alone")),
    State("debate-speaking", debate("speaking")),
    State("debate-retry", debate("retried")),
    State("debate-waiting", debate("waited_for")),
    State("debate-turn", own_turn),
    State("debate-leave", debates.about_to_leave),
    State("debate-last-word", debate("last_words")),
    State("debate-closing", debate("closing")),
    State("debate-decided", debate("decided")),
    State("debate-none", debate("undecided")),
    State("debate-error", debate("failed")),
    State("debate-cancelled", debate("cancelled")),
    State("debate-rehearsed", debate("rehearsed")),
    State("debate-replay", debates.replayed),
    State("debate-record", debates.told("decided")),
    State("debate-record-early", debates.told("early")),
    State("debate-record-failed", debates.told("failed")),
    State("debate-record-print", debates.told("decided"), printed=True),
    State("debate-asked", debates.asked),
    State("debate-alone", debates.looked_alone),
    State("debate-two", debate("two")),
    State("debate-nine", debate("nine")),
    State("history-empty", ways_of_lists.empty_history),
    State("live-idle", ways.idle),
    State("live-round1", live("round1")),
    State("live-round2", live("round2")),
    State("live-retry", live("retry")),
    State("live-approved", live("approved")),
    State("live-rejected", live("rejected")),
    State("live-error", live("error")),
    State("live-cancelled", live("cancelled")),
    State("live-cut-off", ways.cancelled_while_watched),
    State("live-carried", live("carried")),
    State("live-rehearsed", live("rehearsed")),
    State("live-long", live("long")),
    State("live-detail", live("round2"), settle=partial(ways.open_panel, number=1)),
    State("live-detail-left", live("round2"), settle=partial(ways.open_panel, number=2)),
    State("live-detail-approved", live("approved"), settle=partial(ways.open_panel, number=3)),
    State("live-cancel", ways.ask_before_cancelling),
    State("live-reconnecting", ways.cut_off),
    State("live-offline", partial(ways.cut_off, offline=True)),
    State("cancel", at("cancel", of("round2"))),
    State("redact", at("redact", of("approved"))),
    State("redact-error", ways.redact_without_reason),
    State("redact-not-over", at("redact", of("round2"))),
    State("share", links.share_again),
    State("shared", links.shared),
    State("share-given", links.given),
    State("badges", links.badge),
    State("hooks", links.hook_made),
    State("hooks-errors", links.hook_with_errors),
    State("hook", links.hook),
    State("shared-ended", links.shared_no_more),
    State("check", at("check-page")),
    State("check-intact", links.checked),
    State("check-alone", partial(links.checked, key=False)),
    State("check-changed", partial(links.checked, was=b"Friday", now=b"Monday")),
    State("overridden-live", live("overridden")),
    State("overridden-record", at("record", of("overridden"))),
    State("redacted-live", live("redacted")),
    State("redacted-record", at("record", of("redacted"))),
    State("history", ways_of_lists.full_history),
    State("history-compare", ways_of_lists.two_ticked),
    State("compare", ways_of_lists.compared),
    State("compare-print", ways_of_lists.compared, printed=True),
    State("history-search", at("history", q="release", outcome="approved")),
    State("history-none", at("history", q="zeppelin")),
    State("history-wrong", at("history", since="x")),
    State("history-loosened", at("runs-history", q="release", outcome="rejected")),
    State("history-sorted", at("runs-history", sort="-took")),
    State("history-unfolded", ways_of_lists.history_unfolded),
    State("review", ways_of_lists.desk),
    State("review-error", ways_of_lists.desk_of("error")),
    State("review-record", ways_of_lists.desk_of("overridden")),
    State("review-override", ways_of_lists.asked_to_override),
    State("review-refused", ways_of_lists.override_without_reason),
    State("review-broken", ways_of_lists.broken_record),
    State("review-empty", ways_of_lists.empty_desk),
    State("menu", ways.menu, ours=".bar"),  # what it covers is not looked at
    State("record", at("record", of("approved"))),
    State("record-error", at("record", of("error"))),
    State("record-print", at("record", of("approved")), printed=True),
    State("live-print", live("approved"), printed=True),
    State("replay", ways.replay),
    State("council", at("council", 2)),
    State("council-short", ways.short_council),
    State("council-short-edit", partial(ways.short_council, url_name="council-edit")),
    State("council-locked", ways.locked_council),
    State("council-version", at("council-version", 2, 1)),
    State("council-new", at("council-new")),
    State("council-edit", at("council-edit", 2)),
    State("debate-new-documents", ways.new_debate_with_documents),
    State("panel", at("panel", 1)),
    State("panel-version", at("panel-version", 1, 1)),
    State("panel-new", at("panel-new")),
    State("panel-edit", at("panel-edit", 3)),
    State("panel-save", ways.debate_saved_as_panel),
    State("outbox", ways_of_teams.outbox),
    State("outbox-empty", ways_of_teams.no_letters),
    State("team", at("team", 2)),
    State("team-version", at("team-version", 2, 1)),
    State("team-new", at("team-new")),
    State("team-edit", at("team-edit", 2)),
    State("team-edit-errors", ways_of_teams.edit_with_errors),
    State("team-text", ways_of_teams.as_text),
    State("api-docs", at("api:openapi-view")),
    State("api-docs-few", at("model:openapi-view")),
    State("400", ways.not_understood),
    State("403", ways.not_allowed),
    State("404", lambda scene: scene.open("/nowhere/")),
    State("500", ways.broken),
    State("503", ways.no_database),
    State("admin", at("admin:index"), ours="body"),
    State("admin-users", at("admin:auth_user_changelist"), ours="body"),
    State("admin-user", at("admin:auth_user_add"), ours="body"),
    State("admin-list", ways_of_lists.reviewers_list, ours="body"),
    State("admin-list-none", at("admin:judgements_judgement_changelist", q="zeppelin", who="zed"), ours="body"),
    State("admin-runs", at("admin:engine_run_changelist"), ours="body"),
    State("admin-run", at("admin:engine_run_change", of("approved")), ours=".review"),
    State("admin-judgement", at("admin:judgements_judgement_change", of("error")), ours=".review"),
    State("admin-judgement-approved", at("admin:judgements_judgement_change", of("approved")), ours=".review"),
    State("admin-judgement-overridden", at("admin:judgements_judgement_change", of("overridden")), ours=".review"),
    State("admin-judgement-redacted", at("admin:judgements_judgement_change", of("redacted")), ours=".review"),
    State("admin-review-error", ways.review_without_text, ours=".review"),
    State("admin-printout", ways_of_lists.printout),
    State("doctor", at("doctor"), ours="body"),
    # last, for it makes judgements of its own
    State("library", ways.library),
    State("tools", at("tools")),
    State("tools-mcp", ways_of_teams.tools_of_others),
    State("tools-none", at("tools", q="zeppelin")),
    State("library-few", at("library")),
    State("library-none", at("library", q="zeppelin")),
]

# So few that each template of a page is looked at once, in the state that shows most of it, and what pages include is
# seen in one of them: these are looked at by `make test`. A replay, a record and a search look alike for every kind.
EACH_PAGE = """
    sign-in-error sign-in-link password tokens-new notices input-errors debate-new-errors inquiry-new-errors
    inquiry-answered inquiry-record inquiry-source mission-new-errors mission-gate mission-terminals
    mission-terminal mission-messages mission-files mission-judge mission-record crew crew-version crew-edit roster
    roster-new memories memory-new plan-new-errors plan-changed plan-record plan-matter waiting gate debate-nine
    debate-record-early debate-asked debate-alone live-round2 live-error cancel redact-error share-given shared
    shared-ended badges hooks-errors hook check-changed overridden-record compare replay history-wrong
    history-sorted review-override council council-version council-edit panel panel-version panel-edit outbox team
    team-version team-edit-errors team-text api-docs-few 403 404 500 503 admin admin-list admin-run admin-printout
    doctor tools-mcp library-few
""".split()
assert set(EACH_PAGE) <= {state.name for state in EVERY}


def states(only: str = "") -> list[State]:
    """All of them, or those whose names begin so."""
    return [state for state in EVERY if state.name.startswith(only)]


def reach(scene: Scene, state: State) -> Page:
    """The page in this state. One that is not the scene's own is to be closed by whoever asked for it."""
    scene.context.set_offline(False)
    scene.sign_in(scene.site)
    scene.page.emulate_media(media="screen")  # on paper there is nothing to press
    page = state.reach(scene)
    page.emulate_media(media="print" if state.printed else "screen")
    page.evaluate("document.fonts.ready.then(() => null)")
    return page


def resize(page: Page, state: State, width: int, height: int, theme: str) -> None:
    page.set_viewport_size({"width": width, "height": height})
    page.emulate_media(color_scheme="light" if theme == "light" else "dark")
    page.evaluate("scrollTo(0, 0)")
    if state.settle:
        state.settle(page)
    page.evaluate(AT_ONCE)
