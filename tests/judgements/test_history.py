"""The history: who sees what, filters, pages, live rows."""

import pytest
from django.urls import reverse
from django.utils import timezone

from engine.models import Run
from judgements.models import Council
from runs.history.query import PAGE_SIZE
from tests.conftest import NAMES, agents, only_on
from tests.judgements.past import NOON, History, judged, many, submit, titles
from tests.judgements.test_search import decide
from tests.load.history_load import EVERYWHERE, HALF, RARE, Load

pytestmark = pytest.mark.django_db


# ---- filters ----------------------------------------------------------------------------------------------


def test_everybody_sees_their_own_and_staff_all(mira, noor, reviewer):
    submit(mira, "Mira's plan")
    submit(noor, "Noor's plan", minute=1)
    for sought in ({}, {"q": "plan"}, {"outcome": "idle"}, {"q": "plan", "outcome": "idle"}):
        assert titles(mira, **sought) == ["Mira's plan"]
        assert titles(reviewer, **sought) == ["Noor's plan", "Mira's plan"]


def test_each_outcome_shows_its_own(mira):
    judged(mira, "approved")
    judged(mira, "rejected", "RRA")
    for title, status in (("error", "failed"), ("cancelled", "cancelled"), ("judging", "running"), ("idle", "queued")):
        submit(mira, title, status=status)
    for outcome in ("approved", "rejected", "error", "cancelled", "judging", "idle"):
        assert titles(mira, outcome=outcome) == titles(mira, outcome=outcome, q="about") == [outcome]


def test_a_council_stands_for_all_its_versions(mira, council):
    submit(mira, "first", council=council.current)
    council.revise(name="Magi", agents=[{**one, "fallback": ""} for one in agents()], author=None)
    submit(mira, "second", minute=1, council=Council.objects.get(pk=council.pk).current)
    submit(mira, "without", minute=2)
    assert titles(mira, council=council.pk) == ["second", "first"]


def test_an_archived_council_is_offered_while_it_has_judgements(page, mira, council):
    submit(mira, "without")
    Council.objects.update(archived=timezone.now())
    assert "<option value" in page.get(reverse("history")).content.decode()
    assert f'<option value="{council.pk}"' not in page.get(reverse("history")).content.decode()
    Council.objects.update(archived=None)
    submit(mira, "x", council=council.current)
    Council.objects.update(archived=timezone.now())
    assert f'<option value="{council.pk}"' in page.get(reverse("history")).content.decode()


def test_both_days_belong_to_what_is_shown(mira):
    for title, minute in (("before", -721), ("morning", -720), ("evening", 719), ("after", 720)):
        submit(mira, title, minute=minute)
    assert titles(mira, since=NOON.date(), until=NOON.date()) == ["evening", "morning"]


def test_what_arrived_in_another_order_than_it_was_made_is_found_by_words_too(mira):
    for title, minute in (("second", 1), ("first", 0), ("third", 2)):
        submit(mira, title, minute=minute)
    day = NOON.date()
    for days in ({"since": day}, {"until": day}, {"since": day, "until": day}):
        assert sorted(titles(mira, q="about", **days)) == ["first", "second", "third"]


def test_what_is_wrong_is_said_and_left_out(page, mira):
    submit(mira, "Still here")
    for asked, sentence in (
        ({"outcome": "maybe"}, "There is no such outcome."),
        ({"council": "x"}, "There is no such council."),
        ({"council": "9" * 40}, "There is no such council."),
        ({"since": "yesterday"}, "Write the day as year, month and day: 2026-11-21."),
        ({"since": "2026-11-20", "until": "2026-11-19"}, "This day is before the first one."),
        ({"q": "x" * 1001}, "Search for at most 1,000 characters."),
        ({"q": "a\x00b"}, "Null characters are not allowed."),
        ({"before": "x"}, "That page is not there any more."),
        ({"after": "00000000-0000-4000-8000-000000000000"}, "That page is not there any more."),
    ):
        answer = page.get(reverse("history"), asked)
        html = answer.content.decode()
        assert (answer.status_code, sentence in html, "Still here" in html) == (200, True, True), asked


def test_words_are_sought_within_the_days_asked_for(mira):
    for title, minute in (("old", -1440), ("in time", 0), ("young", 1440)):
        submit(mira, title, minute=minute)
    assert titles(mira, q="about", since=NOON.date(), until=NOON.date()) == ["in time"]
    assert titles(mira, q="about", since=NOON.date()) == ["young", "in time"]


def test_the_ends_of_the_calendar_are_days_like_others(page, mira):
    submit(mira, "Still here")
    for days in ({"since": "0001-01-01"}, {"until": "9999-12-31"}):
        assert "Still here" in page.get(reverse("history"), days).content.decode(), days


def test_a_search_without_a_match_names_what_was_sought(page, mira):
    submit(mira, "x")
    for query in ("🎉", '"', " ".join(f"w{n}" for n in range(200)), "<script>", "%00", "a" * 900):
        html = page.get(reverse("history"), {"q": query}).content.decode()
        said = ("Nothing matches “" in html, "Clear the filters" in html, "<script>" in html)
        assert said == (True, True, False), query


# ---- pages ------------------------------------------------------------------------------------------------


def test_pages_follow_each_other_there_and_back(mira):
    many(mira, 2 * PAGE_SIZE + 5)
    for sought in ({}, {"q": "number"}):
        follow_each_other(mira, sought)


def follow_each_other(mira, sought):
    history, seen, pages, before = History(mira, sought), [], [], None
    while True:
        pages.append(history.page(before=before))
        seen += [row.id for row in pages[-1].rows]
        if not pages[-1].older:
            break
        before = pages[-1].last
    assert len(seen) == len(set(seen)) == 2 * PAGE_SIZE + 5
    back = history.page(after=pages[2].first)
    assert back.rows == pages[1].rows
    assert history.page(after=pages[1].first).rows == pages[0].rows
    assert [(one.newer, one.older) for one in pages] == [(False, True), (True, True), (True, False)]


def test_a_new_judgement_moves_no_page(mira):
    many(mira, PAGE_SIZE + 5)
    first = History(mira, {}).page()
    older = History(mira, {}).page(before=first.last).rows
    submit(mira, "new", minute=9999)
    assert History(mira, {}).page(before=first.last).rows == older


def test_nobody_pages_from_what_they_may_not_see(page, noor):
    secret = submit(noor, "Secret")
    assert "That page is not there" in page.get(reverse("history"), {"before": secret.pk}).content.decode()


def test_beyond_a_thousand_nobody_counts(page, mira, monkeypatch):
    monkeypatch.setattr("runs.history.query.MAX_COUNTED", 3)
    monkeypatch.setattr("runs.views.history.MAX_COUNTED", 3)
    many(mira, 3)
    assert ">3 judgements<" in page.get(reverse("history")).content.decode()
    submit(mira, "one more")
    assert "More than 3 judgements" in page.get(reverse("history")).content.decode()


def test_a_page_costs_as_many_queries_as_a_row(page, mira, django_assert_max_num_queries):
    many(mira, PAGE_SIZE + 1)
    for asked in ({}, {"q": "number"}):
        with django_assert_max_num_queries(15):
            answer = page.get(reverse("history"), asked)
        assert answer.content.decode().count('class="list__t"') == PAGE_SIZE


# ---- a long history ---------------------------------------------------------------------------------------


@pytest.fixture
def load(council):
    load = Load(400)
    load.make(detailed=PAGE_SIZE)
    return load


def plan(user, sought):
    return History(user, sought)._ordered(newest_first=True)[:PAGE_SIZE].explain()


@only_on("sqlite")
def test_no_view_sorts_or_reads_more_than_it_shows(load):
    day = timezone.now().date()
    labels = [{"q": EVERYWHERE}, {"q": RARE}, {"council": load.councils[0].pk}, {"outcome": "approved"}]
    for user in (load.staff, load.busy, load.few):
        for sought in [*labels, {"q": HALF, "since": day, "until": day}]:
            first, *others = plan(user, sought).splitlines()
            assert "SCAN runs_words VIRTUAL TABLE" in first, sought
            # of gates that hide what they ask there are few at any time: their index has no others
            read = [line for line in others if "gate_that_hides" not in line and "LIST SUBQUERY" not in line]
            assert all(" SEARCH " in f" {line}" for line in read), others
        for sought in ({"outcome": "error"}, {"outcome": "error", "q": EVERYWHERE}):
            assert "engine_run USING INDEX run_by" in plan(user, sought).splitlines()[0]
    assert "run_newest_first" in plan(load.staff, {}).splitlines()[0]
    assert "run_by_owner" in plan(load.busy, {}).splitlines()[0]


def test_every_view_of_a_long_history_takes_a_few_queries(client, load, django_assert_max_num_queries):
    views = [{}, {"q": EVERYWHERE}, {"q": f"{HALF} {RARE}"}, {"outcome": "error"}, {"until": "2999-01-01"}]
    for user in (load.staff, load.few):
        client.force_login(user)
        for asked in views:
            with django_assert_max_num_queries(18, info=f"{asked} by {user}"):
                assert client.get(reverse("history"), asked).status_code == 200


# ---- rows -------------------------------------------------------------------------------------------------


def row_of(user):
    return History(user, {}).page().rows[0]


def test_a_row_says_in_words_how_each_agent_voted(page, mira, council):
    judgement = judged(mira, "Travel", "ARA", council=council.current)
    html = page.get(reverse("history")).content.decode()
    assert 'aria-label="Melchior approves, Balthasar rejects, Casper approves"' in html
    for text in ("2 of 3", "0:48", "Approved", "Magi", "20 Nov", str(judgement.pk)[:8], "Rehearsal"):
        assert text in html


@pytest.mark.parametrize(
    ("status", "decided", "states"),
    [
        ("queued", "", ["idle", "idle", "idle"]),
        ("running", "", ["judging", "judging", "judging"]),
        ("running", "B", ["judging", "pending", "judging"]),
        ("running", "ABC", ["judging", "judging", "judging"]),
        ("cancelled", "AB", ["stopped", "stopped", "stopped"]),
        ("failed", "AB", ["stopped", "stopped", "failed"]),
    ],
)
def test_the_triangle_shows_how_far_each_agent_is(mira, status, decided, states):
    judgement = submit(mira, "x", status=status)
    for seat in decided:
        decide(judgement, seat, 1, "Because.")
    if status == "failed":
        Run.objects.update(error={"code": "timeout", "message": "No.", "agent": "C"})
    row = row_of(mira)
    assert [vote.state for vote in row.glance.votes] == states
    assert [vote.name for vote in row.glance.votes] == list(NAMES)
    assert row.glance.approving == "–"


# ---- htmx -------------------------------------------------------------------------------------------------


def test_htmx_gets_the_results_alone_and_a_clean_address(page, mira):
    submit(mira, "Travel")
    answer = page.get(reverse("history"), {"q": "travel", "outcome": "", "since": ""}, headers={"HX-Request": "true"})
    assert "<html" not in answer.content.decode()
    assert 'id="results"' in answer.content.decode()
    assert answer["HX-Push-Url"] == "/judgements/?q=travel"
    assert "HX-Request" in answer["Vary"]


def test_htmx_gets_the_whole_page_when_it_goes_back(page):
    back = {"HX-Request": "true", "HX-History-Restore-Request": "true"}
    assert "<html" in page.get(reverse("history"), headers=back).content.decode()


# ---- live rows --------------------------------------------------------------------------------------------


def watch(page, *rows, **more):
    return page.get(reverse("history-changes"), {"row": [f"{row.pk}.{row.run.revision}" for row in rows], **more})


def test_nothing_new_is_an_empty_answer_in_four_queries(page, mira, django_assert_max_num_queries):
    judgement = submit(mira, "x", status="running")
    with django_assert_max_num_queries(4 + 3):  # session, user and its permissions
        assert watch(page, judgement, newest=str(judgement.pk)).status_code == 204


def test_a_row_that_moved_on_is_sent_and_when_it_is_over_watched_no_more(page, mira):
    judgement, other = submit(mira, "x", status="running"), submit(mira, "y", status="running")
    Run.objects.filter(pk=judgement.pk).update(revision=7, status="cancelled")
    html = watch(page, judgement, other).content.decode()
    assert f'id="outcome-{judgement.pk}"' in html
    assert "Cancelled" in html
    assert f'value="{other.pk}.0"' in html
    assert str(judgement.pk) not in html.partition("</div>")[0]


@pytest.mark.parametrize(("number", "said"), [(1, "1 newer judgement."), (2, "2 newer"), (3, "More than 2 newer")])
def test_only_more_than_the_most_that_are_counted_are_called_more(page, mira, monkeypatch, number, said):
    for module in ("runs.history.query", "runs.views.history"):
        monkeypatch.setattr(f"{module}.MAX_NEWER", 2)
    many(mira, number)
    assert said in watch(page, newest="", newer="0").content.decode()


def test_newer_judgements_are_counted_once(page, mira):
    judgement = submit(mira, "x", status="cancelled")
    for minute in (1, 2):
        submit(mira, "new", minute=minute)
    html = watch(page, newest=str(judgement.pk), newer="0").content.decode()
    assert "2 newer judgements." in html
    assert watch(page, newest=str(judgement.pk), newer="2").status_code == 204


def test_nobody_is_told_of_rows_that_they_may_not_see(page, noor):
    secret = submit(noor, "Secret")
    Run.objects.update(revision=3)
    assert watch(page, secret, newest="").status_code == 204


@pytest.mark.parametrize(
    "asked", [{"row": "x"}, {"row": "x.1", "newest": "x", "newer": "x"}, {"newest": "", "q": "\x00"}]
)
def test_a_strange_question_is_no_error(page, asked):
    assert page.get(reverse("history-changes"), asked).status_code == 204
