"""The reviewers' list: what it is asked for, its pages and dates."""

import calendar
import re

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from judgements.admin.judgements import JudgementAdmin
from judgements.models import Judgement
from runs.admin.filters import MOST_PEOPLE
from tests.runs.desk import stand, titles

pytestmark = pytest.mark.django_db


def test_the_status_filter_finds_what_failed(admin, failed):
    html = admin.get(reverse("admin:judgements_judgement_changelist"), {"status": "error"}).content.decode()
    assert failed.run.title in html
    html = admin.get(reverse("admin:judgements_judgement_changelist"), {"status": "approved"}).content.decode()
    assert failed.run.title not in html


def test_a_status_that_there_is_none_of_filters_nothing(admin, failed):
    answer = admin.get(reverse("admin:judgements_judgement_changelist"), {"status": "x"})
    assert failed.run.title in answer.content.decode()


def test_a_word_of_a_reason_finds_its_judgement(admin, failed):
    url = reverse("admin:judgements_judgement_changelist")
    assert failed.run.title in admin.get(url, {"q": "criteria say so"}).content.decode()
    assert failed.run.title not in admin.get(url, {"q": "zeppelin"}).content.decode()


ASKED = [
    ({}, "Travel Refund Ship"),
    ({"status": "approved"}, "Travel Refund"),
    ({"status": "x", "flag": "x", "council": "x", "rehearsal": "x", "since": "x"}, "Travel Refund Ship"),
    ({"flag": "swayed"}, "Ship"),
    ({"rehearsal": "yes"}, "Travel Refund Ship"),
    ({"rehearsal": "no"}, ""),
    ({"who": "MIR"}, "Travel Ship"),
    ({"who": "nobody of that name"}, ""),
    ({"who": "mi\0r"}, "Travel Ship"),
    ({"who": "a " * 2_000}, ""),
    ({"person": "nobody"}, ""),
    ({"person": "9" * 40}, ""),
    ({"since": "2025-02-28", "until": "2025-02-28"}, "Refund"),
    ({"run__created__year": "2025"}, "Refund"),
    ({"run__created__year": "2024", "run__created__month": "12", "run__created__day": "31"}, "Ship"),
    ({"run__created__year": "2026", "until": "2026-11-01"}, ""),
    ({"run__created__year": "99999"}, "Travel Refund Ship"),
    ({"run__created__year": "9999", "run__created__month": "13"}, ""),
    ({"before": "x"}, "Travel Refund Ship"),
    ({"q": "reason", "status": "approved", "who": "noor"}, "Refund"),
    ({"q": "«»"}, ""),
    ({"q": "x" * 1001}, "Travel Refund Ship"),
]


def test_the_list_shows_what_is_asked_for(admin, several):
    shown = [(asked, found, titles(admin, **asked)[0]) for asked, found in ASKED]
    assert [one for one in shown if one[1].split() != one[2]] == []


def test_other_lookups_lead_back_to_the_list(admin, several):
    for asked in ({"title__startswith": "T"}, {"nothing": "x"}, {"e": "1"}):
        answer = admin.get(reverse("admin:judgements_judgement_changelist"), asked, follow=True)
        assert (answer.status_code, answer.request["QUERY_STRING"]) == (200, "e=1"), asked


def test_what_is_wrong_with_a_filter_is_said(admin, several):
    html = titles(admin, since="x", who="zed")[1]
    assert "Write the day as year, month and day: 2026-11-21." in html
    assert "Nobody is called so." in html
    assert "Search for at most 1,000 characters." in titles(admin, q="x" * 1001)[1]


def test_a_person_is_found_by_any_part_of_its_name(admin, several, mira):
    User.objects.filter(pk=mira.pk).update(first_name="Mira", last_name="Okafor")
    for who in ("okafor", "Mira Okafor", "mir oka"):
        assert titles(admin, who=who)[0] == ["Travel", "Ship"], who
    assert titles(admin, who="Mira Noor")[0] == []


def test_a_name_of_many_people_asks_for_more_of_it(admin, several):
    User.objects.bulk_create(User(username=f"mi{number}") for number in range(MOST_PEOPLE))
    found, html = titles(admin, who="mi")
    assert found == []
    assert "Many people are called so. Write more of the name." in html


def test_dates_are_gone_into_by_year_month_and_day(admin, several):
    def offered(**asked):
        html = titles(admin, **asked)[1]
        bar = re.search(r'<nav class="toplinks".*?</nav>', html, re.DOTALL)[0]
        return re.findall(r">([^<>]+)</a>", bar)

    assert offered() == ["2024", "2025", "2026"]
    year = {"run__created__year": "2026"}
    assert offered(**year) == ["All dates", *calendar.month_name[1:12]]
    month = year | {"run__created__month": "11"}
    assert offered(**month) == ["All dates", "2026", "1", "2"]
    assert offered(**month, run__created__day="2") == ["All dates", "2026", "November"]


def test_the_way_into_a_year_keeps_the_other_filters_and_leaves_the_page(admin, several, mira):
    html = titles(admin, person=mira.pk, q="ship", before=Judgement.objects.get(run__title="Travel").pk)[1]
    assert f'href="?person={mira.pk}&amp;q=ship&amp;run__created__year=2025"' in html


def test_pages_begin_at_a_judgement(admin, mira, monkeypatch):
    monkeypatch.setattr(JudgementAdmin, "list_per_page", 2)
    for number in range(5):
        stand(mira, f"n{number}", minute=number)
    found, html = titles(admin)
    assert found == ["n4", "n3"]
    older = re.search(r'<a href="\?before=([^"]+)">Older</a>', html)[1]
    found, html = titles(admin, before=older)
    assert found == ["n2", "n1"]
    newer = re.search(r'<a href="\?after=([^"]+)">Newer</a>', html)[1]
    assert titles(admin, after=newer)[0] == ["n4", "n3"]


def test_many_are_counted_no_further_than_anybody_reads(admin, several, monkeypatch):
    monkeypatch.setattr("runs.admin.run_list.MAX_COUNTED", 2)
    assert "More than 2 judgements" in titles(admin)[1]
    assert "1 judgement" in titles(admin, flag="swayed")[1]


def test_a_longer_list_needs_no_more_queries(admin, several, mira):
    def asked():
        with CaptureQueriesContext(connection) as queries:
            titles(admin, rehearsal="yes")
        return len(queries)

    before = asked()
    for number in range(5):
        stand(mira, f"n{number}", minute=number)
    assert asked() == before <= 12
