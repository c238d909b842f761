"""The one history of all kinds: filters, orders, quick views, saved views, and what an empty list says."""

from datetime import UTC, datetime, timedelta
from urllib.parse import quote

import pytest
from django.contrib.auth.models import User
from django.urls import reverse

from engine.models import Gate, Run
from engine.policy import parse_policy
from judgements.models import Judgement
from runs.history.query import ArrivalTimes, RunHistory
from runs.models import RunFlag, SavedSearch, SearchText
from runs.procedure.spec import specs
from tests.conftest import agents, submitted_at
from tests.contract import EXAMPLES

pytestmark = pytest.mark.django_db


@pytest.fixture
def page(client, mira):
    client.force_login(mira)
    return client


@pytest.fixture
def staff(client, reviewer):
    client.force_login(reviewer)
    return client


def asked(owner, title, *, minutes_ago=0, took=None, **more):
    with submitted_at(datetime.now(UTC) - timedelta(minutes=minutes_ago)):
        made = Judgement.objects.submit(owner=owner, content=f"About {title}.", title=title, agents=agents(), **more)
    if took is not None:
        begun = made.run.created
        Run.objects.filter(pk=made.pk).update(
            status="finished", outcome="approved", started=begun, ended=begun + timedelta(seconds=took)
        )
    return made


def titles(user, **sought):
    return [row.title for row in RunHistory(user, sought).page().rows]


def html_of(client, name="runs-history", **asked):
    return client.get(reverse(name), asked).content.decode()


# ---- kinds ------------------------------------------------------------------------------------------------


def test_the_bar_leads_to_the_history_of_all_kinds(page):
    assert f'<a href="{reverse("runs-history")}" aria-current="page">History</a>' in html_of(page)


def test_kinds_are_ticked_with_how_many_there_are_of_each(page, mira):
    for kind in EXAMPLES:
        EXAMPLES[kind](mira)
    EXAMPLES["check"](mira)
    html = html_of(page, kind="check")
    assert html.count('class="list__t"') == 2
    assert 'value="check"\n       checked' in html
    assert [n for n in ("1", "2") if f'class="kind-asked__n">{n}<' in html] == ["1", "2"]
    assert 'name="kind"' not in html_of(page, "history")


def test_what_is_ticked_goes_along_wherever_the_page_leads(page, mira):
    EXAMPLES["check"](mira)
    html = html_of(page, kind="check", sort="-took")
    assert f"{reverse('runs-export', args=['csv'])}?kind=check&amp;sort=-took" in html
    assert "?kind=check&amp;days=today" in html


# ---- names ------------------------------------------------------------------------------------------------


def test_runs_are_found_by_the_names_of_who_asked_and_of_the_agents(reviewer, mira, noor):
    User.objects.filter(pk=mira.pk).update(first_name="Mîra", last_name="Okafor")
    asked(mira, "one")
    asked(noor, "two")
    assert titles(reviewer, q="okafor") == titles(reviewer, q="mira oka") == ["one"]
    assert titles(reviewer, q="melchior") == ["two", "one"]
    assert titles(reviewer, q="okafor two") == []


def test_who_sees_own_runs_alone_finds_nobody_by_name(mira, noor):
    asked(noor, "secret")
    assert titles(mira, q="noor") == []


def test_whoever_was_asked_at_a_gate_finds_that_run_by_words_and_filters(mira, noor):
    for title in ("travel to Oslo", "travel to Rome"):
        run = asked(noor, title, took=9).run
    asked(mira, "travel to Bonn", took=9)
    gate = {"step": "go", "kind": "go", "title": "Go?", "text": "", "policy": parse_policy({}), "choices": []}
    Gate.objects.open(None, run_id=run.pk, asked_user=mira, asked="mira", **gate)
    both = ["travel to Bonn", "travel to Rome"]
    assert titles(mira) == titles(mira, q="travel") == both
    SearchText.objects.flag(run.pk, RunFlag.NOTED)
    assert titles(mira, flag="noted") == both[1:]
    assert (titles(mira, q="rome"), titles(mira, q="oslo"), titles(mira, q="travel", by="me")) == (
        both[1:],
        [],
        both[:1],
    )
    assert RunHistory(mira, {"q": "travel"}).counts_between(
        ArrivalTimes([datetime(2020, 1, 1, tzinfo=UTC), datetime.now(UTC)])
    ) == [2]


def test_who_asked_is_a_filter_of_who_sees_all(reviewer, mira, noor):
    for who, title in ((mira, "one"), (noor, "two"), (None, "three"), (reviewer, "four")):
        asked(who, title)
    assert titles(reviewer, by=str(mira.pk)) == ["one"]
    assert titles(reviewer, by="nobody") == ["three"]
    assert titles(reviewer, by="me") == ["four"]


def test_only_who_sees_all_is_asked_whose(page, staff, mira, reviewer):
    asked(mira, "one")
    page.force_login(mira)
    assert 'name="by"' not in html_of(page)
    page.force_login(reviewer)
    assert f'<option value="{mira.pk}"' in html_of(page)


# ---- days -------------------------------------------------------------------------------------------------


def test_a_period_ends_today_and_exact_days_are_preferred_to_it(page, mira):
    for title, days in (("now", 0), ("older", 3), ("oldest", 9)):
        asked(mira, title, minutes_ago=days * 1440)
    assert titles(mira, days="today") == ["now"]
    assert titles(mira, days="week") == ["now", "older"]
    since = str((datetime.now(UTC) - timedelta(days=5)).date())
    assert ">older<" in html_of(page, days="today", since=since)


# ---- orders -----------------------------------------------------------------------------------------------


@pytest.fixture
def three(mira, noor):
    asked(mira, "long", minutes_ago=3, took=90)
    asked(noor, "short", minutes_ago=2, took=5)
    asked(mira, "open", minutes_ago=1)


ORDERS = [
    ("", ["open", "short", "long"]),
    ("created", ["long", "short", "open"]),
    ("-took", ["long", "short", "open"]),
    ("took", ["short", "long", "open"]),
    ("by", ["open", "long", "short"]),
    ("-by", ["short", "open", "long"]),
]


def test_a_list_is_sorted_as_asked(reviewer, three):
    for sort, expected in ORDERS:
        assert titles(reviewer, sort=sort) == expected, sort
        assert titles(reviewer, sort=sort, q="about") == expected, sort


def test_pages_of_every_order_follow_each_other_there_and_back(reviewer, mira):
    for number in range(7):
        asked(mira, f"{number}", minutes_ago=number, took=number)
    for sort in ("created", "-took", "by"):
        follow_each_other(reviewer, sort)


def follow_each_other(reviewer, sort):
    found = RunHistory(reviewer, {"sort": sort})
    first = found.page(size=3)
    second = found.page(before=first.found[-1].pk, size=3)
    third = found.page(before=second.found[-1].pk, size=3)
    assert len({row.id for page in (first, second, third) for row in page.rows}) == 7
    assert [(page.newer, page.older) for page in (first, second, third)] == [(False, True), (True, True), (True, False)]
    assert found.page(after=third.found[0].pk, size=3).rows == second.rows


def test_only_the_newest_are_sorted_and_the_page_says_so(page, mira, three, monkeypatch):
    for module in ("runs.history.query", "runs.views.history"):
        monkeypatch.setattr(f"{module}.MAX_SORTED", 1)
    html = html_of(page, sort="-took")
    assert "the newest 1 of them longest first." in " ".join(html.split())
    assert html.count('class="list__t"') == 1


def test_a_head_says_how_the_list_is_sorted_and_other_orders_have_no_days(page, three):
    assert 'aria-sort="descending"' in html_of(page)
    assert 'scope="rowgroup"' in html_of(page)
    by_time = html_of(page, sort="took")
    assert 'aria-sort="ascending"' in by_time
    assert "?sort=-took" in by_time
    assert 'scope="rowgroup"' not in by_time


# ---- quick views ------------------------------------------------------------------------------------------


def test_quick_views_say_how_many_they_show(staff, mira, reviewer):
    asked(mira, "old", minutes_ago=3 * 1440)
    Run.objects.filter(pk=asked(reviewer, "failed").pk).update(status="failed", error={"code": "timeout"})
    shown = {one.name: (one.count, one.current) for one in staff.get(reverse("runs-history")).context["presets"]}
    assert shown == {
        "All": ("", True),
        "Today": ("1", False),
        "Last week": ("2", False),
        "Mine": ("1", False),
        "Waits for me": ("0", False),
        "Failed": ("1", False),
        "Mine that failed": ("1", False),
    }


def test_who_sees_own_runs_alone_needs_no_way_to_them(page, mira):
    asked(mira, "one")
    assert "Mine" not in [one.name for one in page.get(reverse("runs-history")).context["presets"]]


def test_what_waits_for_me_is_a_view_of_the_history_and_nobody_elses(page, mira, noor):
    own, others = asked(mira, "own letter").run, asked(noor, "another letter").run
    for run in (own, others):
        Run.objects.filter(pk=run.pk).update(status="waiting")
        Gate.objects.open(
            None, run=run, step="letter", kind="letter", title="A letter", text="", policy=parse_policy({})
        )
    html = html_of(page, waits="me")
    assert "own letter" in html
    assert "another letter" not in html


def test_an_empty_view_of_what_waits_says_that_nothing_waits(page, mira):
    asked(mira, "one")
    assert "Without “waits for me” there is one." in " ".join(html_of(page, waits="me").split())


def test_quick_views_are_not_counted_beyond_what_anybody_reads(page, mira, monkeypatch):
    for module in ("runs.history.query", "runs.views.searches"):
        monkeypatch.setattr(f"{module}.MAX_COUNTED", 1)
    monkeypatch.setattr(RunHistory.count, "__defaults__", (1,))
    for title in "ab":
        asked(mira, title)
    assert "<span>1+</span>" in html_of(page)


# ---- saved views ------------------------------------------------------------------------------------------


def save(client, name, query):
    return client.post(reverse("save-view"), {"name": name, "query": query})


def test_what_is_too_long_for_a_view_is_refused_in_words(page):
    answer = save(page, "Smiles", f"q={quote('😀' * 900)}")
    assert answer.status_code == 422
    assert "too long to be saved" in answer.content.decode()


def test_a_saved_view_leads_back_to_what_was_asked(page, mira):
    asked(mira, "travel")
    answer = save(page, "Trips", "q=travel&days=week&sort=-took&strange=1")
    address = f"{reverse('runs-history')}?q=travel&days=week&sort=-took"
    assert answer.headers["Location"] == address
    assert f'href="{address.replace("&", "&amp;")}" aria-current="true">Trips' in page.get(address).content.decode()


def test_a_view_under_the_same_name_takes_its_place(page, mira):
    save(page, "Trips", "q=a")
    save(page, " Trips ", "q=b")
    assert [(view.name, view.query) for view in SavedSearch.objects.filter(user=mira)] == [("Trips", "q=b")]


def test_a_view_needs_a_short_name(page):
    for name in ("", "  ", "x" * 41, "\u200b\u2060", "\u3164", "…", "a\0b"):
        answer = save(page, name, "q=a")
        assert (answer.status_code, SavedSearch.objects.count()) == (422, 0), name
        assert "at most 40 characters" in answer.content.decode(), name


def test_one_person_keeps_only_so_many_views(page, monkeypatch):
    monkeypatch.setattr("runs.models.search.MAX_SEARCHES", 1)
    save(page, "one", "")
    assert save(page, "two", "").status_code == 422
    assert [view.name for view in SavedSearch.objects.all()] == ["one"]


def test_a_view_is_one_person_s_own(page, mira, noor):
    asked(noor, "x")
    view = SavedSearch.objects.create(user=mira, name="Trips", query="q=a")
    page.force_login(noor)
    assert "Trips" not in html_of(page)
    assert page.post(reverse("delete-view", args=[view.pk])).status_code == 404
    page.force_login(mira)
    assert page.post(reverse("delete-view", args=[view.pk])).status_code == 302
    assert not SavedSearch.objects.exists()


# ---- nothing ----------------------------------------------------------------------------------------------


def test_an_empty_list_names_the_filter_that_leaves_nothing(page, mira):
    for title in ("travel by train", "travel by ship"):
        asked(mira, title, minutes_ago=9 * 1440)
    html = html_of(page, q="travel", days="week", sort="-took")
    assert "Without the days there are 2." in html
    assert f'href="{reverse("runs-history")}?q=travel&amp;sort=-took">Show these 2<' in html


def test_an_empty_list_offers_nothing_where_each_filter_alone_leaves_nothing(page, mira):
    asked(mira, "one")
    html = html_of(page, q="zeppelin", outcome="error")
    assert "Without" not in html
    assert "Clear the filters" in html


def test_a_history_without_anything_leads_to_the_first(page):
    html = html_of(page)
    assert "Ask something" in html
    assert '<form class="filters"' not in html


def test_no_more_filters_are_left_out_than_five(reviewer, client, council, django_assert_max_num_queries):
    client.force_login(reviewer)
    asked_for = {"q": "zeppelin", "outcome": "error", "council": council.pk, "by": "me", "days": "today"}
    with django_assert_max_num_queries(25):
        assert "Nothing matches" in html_of(client, "history", **asked_for)


def test_every_kind_has_its_own_list_of_the_same_form(page, mira):
    for kind in EXAMPLES:
        EXAMPLES[kind](mira)
    for face in specs().values():
        html = html_of(page, face.page_name("history"))
        assert html.count('class="list__t"') == 1
        assert f'<span class="vh">{face.noun.capitalize()}</span>' in html
