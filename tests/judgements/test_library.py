"""Councils on their shelf in the library."""

import re
from datetime import UTC, datetime, timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from engine.models import Run
from judgements.models import Council
from runs.formatting import format_day
from runs.library import overview
from runs.library.overview import LibraryQuery
from runs.procedure.library_section import LibrarySection
from runs.procedure.spec import specs
from tests.conftest import submitted_at
from tests.judgements.test_councils import judged_by, trio

pytestmark = pytest.mark.django_db

MODELS = {f"a{seat}_model": f"openai/{seat}" for seat in (1, 2, 3)}


@pytest.fixture
def travel(mira):
    return Council.objects.create_first(name="Travel", agents=trio(**MODELS), owner=mira)


def html_of(client, **asked):
    return client.get(reverse("library"), asked).content.decode()


def row_of(client, council, **asked):
    html = html_of(client, **asked)
    return html[html.index(reverse("council", args=[council.pk])) :].split("</tr>")[0]


def names(client, **asked):
    return re.findall(r'<th scope="row"><a [^>]*>(.*?)</a>', html_of(client, **asked))


def ended(council, owner, *outcomes, **values):
    """Judgements of this council that came to these; an outcome of nothing is a failure."""
    for outcome in outcomes:
        judgement = judged_by(council.current, owner)
        status = Run.Status.FINISHED if outcome else Run.Status.FAILED
        Run.objects.filter(pk=judgement.pk).update(status=status, outcome=outcome, **values)


# ---- a row -------------------------------------------------------------------------------------------------


def test_a_row_says_who_is_in_it_which_version_and_how_often_it_was_used(page, travel, mira):
    judged_by(travel.current, mira)
    row = row_of(page, travel)
    for text in ("Travel", "Melchior, Balthasar, Casper", "<b>1</b>", "today", "mira"):
        assert text in row
    assert f'href="{reverse("new")}?council={travel.pk}">Use' in row


def test_what_came_of_it_is_a_bar_with_words_beside_it(page, travel, mira):
    ended(travel, mira, *["approved"] * 6, *["rejected"] * 3, None)
    row = row_of(page, travel)
    assert "60 % approved" in row
    assert '<rect data-state="approve" x="0" width="84.0" height="8"/>' in row
    assert '<rect data-state="reject" x="98.0" width="42.0" height="8"/>' in row


def test_less_than_ten_runs_make_no_rate(page, travel, mira):
    ended(travel, mira, *["approved"] * 9)
    row = row_of(page, travel)
    assert "9 runs" in row
    assert "%" not in row


def test_what_people_decided_instead_is_counted_beside_the_rate(page, travel, mira):
    ended(travel, mira, *["approved"] * 7)
    ended(travel, mira, *["rejected"] * 3, override="approved")
    assert "70 % approved, 3 overridden" in row_of(page, travel)


def test_what_was_only_rehearsed_says_so(page, mira, travel):
    rehearsed = Council.objects.create_first(name="Rehearsed", agents=trio(), owner=mira)
    ended(rehearsed, mira, *["approved"] * 10)
    row = row_of(page, rehearsed)
    assert "<b>10</b>" in row
    assert "only rehearsed" in row
    judged_by(travel.current, mira)
    assert "only rehearsed" not in row_of(page, travel)


def test_what_goes_on_has_no_outcome_yet(page, travel, mira):
    judged_by(travel.current, mira)
    assert "no outcome yet" in row_of(page, travel)


def test_runs_of_long_ago_make_no_rate(page, travel, mira):
    with submitted_at(timezone.now() - timedelta(days=91)):
        ended(travel, mira, *["approved"] * 10)
    assert "nothing in 90 days" in row_of(page, travel)


def test_a_council_that_was_never_used_says_so(page, travel):
    assert "never" in row_of(page, travel)


@pytest.mark.parametrize("rehearsed", [False, True])
def test_errors_of_this_month_stand_beside_the_name_and_lead_to_them(page, travel, mira, rehearsed):
    if rehearsed:
        travel = Council.objects.create_first(name="Rehearsed", agents=trio(), owner=mira)
    ended(travel, mira, None, None, "approved")
    row = row_of(page, travel)
    assert f"2 errors in {timezone.now():%B}" in row
    [address] = re.findall(r'<a class="stamp" data-state="reject" href="(.*?)"', row)
    assert "2 judgements" in page.get(address.replace("&amp;", "&")).content.decode()


def test_judgements_of_others_are_neither_counted_nor_rated(page, travel, noor):
    ended(travel, noor, *["approved"] * 10, None)
    row = row_of(page, travel)
    assert "never" in row
    assert "error" not in row


def test_whoever_sees_everybodys_judgements_sees_what_came_of_them(client, reviewer, travel, mira, noor):
    ended(travel, mira, *["approved"] * 5)
    ended(travel, noor, *["rejected"] * 5)
    client.force_login(reviewer)
    assert "50 % approved" in row_of(client, travel)


def test_nobody_counts_without_end(page, travel, mira, monkeypatch):
    monkeypatch.setattr(overview, "NEWEST", 2)
    for _ in range(3):
        judged_by(travel.current, mira)
    assert "<b>2+</b>" in row_of(page, travel)


def test_errors_among_many_are_those_of_the_newest(page, travel, mira, monkeypatch):
    monkeypatch.setattr(overview, "NEWEST", 2)
    ended(travel, mira, *[None] * 4)
    assert "errors among the newest 2" in row_of(page, travel)


def test_a_day_is_said_as_people_say_it():
    now = datetime(2026, 11, 22, 0, 30, tzinfo=UTC)
    ago = [timedelta(minutes=20), timedelta(hours=1), timedelta(days=2), timedelta(days=400)]
    assert [format_day(now - one, now) for one in ago] == ["today", "yesterday", "20 Nov", "18 Oct 2025"]


# ---- the shelf ---------------------------------------------------------------------------------------------


def test_the_library_takes_no_query_per_council(page, travel, mira, django_assert_num_queries):
    for number in range(5):
        other = Council.objects.create_first(name=f"Other {number}", agents=trio(), owner=mira)
        ended(other, mira, "approved")
    # session, user, its permissions, councils, members, figures with where one was asked, what waits;
    # of panels, teams, crews, rosters and memories how many there are, and those on the shelf
    with django_assert_num_queries(19):
        page.get(reverse("library"))


def test_councils_have_an_address_of_their_own(page, travel):
    html = page.get(reverse("councils")).content.decode()
    assert "Travel" in html
    assert f'href="{reverse("library")}" aria-current="page">Library' in html


def test_search_finds_names_members_and_criteria(page, council, mira):
    Council.objects.create_first(name="Travel", agents=trio(a3_criteria="Be strict. Never be bribed."), owner=mira)
    for sought in ("trav", "TRAVEL", "balt", "strict", "be bribed", "travel be"):
        assert "Travel" in names(page, q=sought), sought


def test_search_says_where_nothing_is_found(page, travel):
    for sought in ("zeppelin", "ravel", "travel zeppelin", "…"):
        assert names(page, q=sought) == [], sought
        assert "Nothing is found." in html_of(page, q=sought), sought


def test_one_can_look_at_ones_own_alone(page, travel, noor):
    Council.objects.create_first(name="Of Noor", agents=trio(), owner=noor)
    assert names(page, owner="mine") == ["Travel"]
    assert {"Travel", "Of Noor"} <= set(names(page))


def test_what_is_archived_is_folded_below_and_can_be_brought_back(page, travel, mira):
    travel.archive(by=mira)
    row = row_of(page, travel)
    assert f'action="{reverse("council-switch", args=[travel.pk])}"' in row
    assert "Bring back" in row
    assert ">Use<" not in row
    assert "Archived" in html_of(page)


def test_nobody_brings_back_what_one_may_not_change(page, noor):
    other = Council.objects.create_first(name="Of Noor", agents=trio(), owner=noor)
    other.archive(by=noor)
    assert "Bring back" not in row_of(page, other)


def test_an_empty_shelf_says_what_to_do(page):
    html = html_of(page)
    assert "No council yet." in html
    assert "Make the first council" in html


def test_a_shelf_of_archived_ones_alone_says_so(page, travel, mira):
    travel.archive(by=mira)
    assert "No council is offered." in html_of(page)


def test_only_so_many_are_shown_and_the_others_are_searched_for(page, travel, council, monkeypatch):
    monkeypatch.setattr("runs.library.overview.MOST", 1)
    monkeypatch.setattr("runs.views.library.MOST", 1)
    assert names(page) == [council.name]
    assert "The first 1 of 2. Search for the others." in html_of(page)


class Drawer(LibrarySection):
    name, noun, about, label = "drawers", "drawer", "what checks take out", "drawer"
    purpose, permission, address, new = "Put something in.", "judgements.add_council", "/drawers/", "/drawers/new/"

    def count(self):
        return 0

    def items(self, user):
        return []


def test_another_procedure_puts_a_shelf_of_its_own_beside(page, travel, monkeypatch):
    monkeypatch.setattr(type(specs()["check"]), "shelves", (Drawer(),))
    html = html_of(page)
    assert re.findall(r'<a href="(\S+)"(?: aria-current="page")?>(\w+)\n<span>(\d)</span>', html) == [
        ("/library/", "All", "1"),
        ("/councils/", "Councils", "1"),
        ("/panels/", "Panels", "0"),
        ("/rosters/", "Rosters", "0"),
        ("/teams/", "Teams", "0"),
        ("/crews/", "Crews", "0"),
        ("/library/memories/", "Memories", "0"),
        ("/drawers/", "Drawers", "0"),
    ]
    assert "No drawer yet.\nPut something in." in html
    assert "drawers/new" not in page.get(reverse("councils")).content.decode()


def test_asking_for_nothing_is_no_search():
    assert not LibraryQuery(" ")
    assert LibraryQuery("x")
    assert LibraryQuery(mine=True)
