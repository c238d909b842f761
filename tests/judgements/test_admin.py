import asyncio
import calendar
import csv
import io
import json
import re
import uuid
from datetime import datetime

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.db import connection
from django.test import AsyncClient
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from engine.evidence.log import Leaf
from engine.llm.failures import Unauthorized
from engine.llm.prices import DOLLAR
from engine.models import ModelCall, Review, Run
from engine.models.budgets import Budget
from judgements.admin.judgements import JudgementAdmin
from judgements.models import FLAGS, Judgement, Remark
from runs.admin.filters import MOST_PEOPLE
from runs.models import Flag, SearchText
from tests.conftest import ScriptedModels, allow, perform, says
from tests.conftest import judged as judged_by
from tests.databases import once, tampering
from tests.judgements.test_history import judged

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def admin(client, reviewer):
    client.force_login(reviewer)
    return client


def page_of(judgement):
    return reverse("admin:judgements_judgement_change", args=[judgement.pk])


@pytest.fixture
def failed(mira):
    return once(make_failed, mira)


def make_failed(mira):
    models = ScriptedModels()
    models.will("openai/c", "prose, not JSON", "approve", Unauthorized("The key was refused.", raw="HTTP 401 body"))
    return judged_by(mira, models)


def test_judgements_are_listed_with_status_title_who_and_when(admin, judgement):
    html = admin.get(reverse("admin:judgements_judgement_changelist")).content.decode()
    for text in ("Idle", judgement.run.title, "mira"):
        assert text in html


def test_a_judgement_shows_every_prompt_and_raw_answer_and_what_went_wrong(admin, failed):
    html = admin.get(page_of(failed)).content.decode()
    assert "Casper gave no decision in round 2 after 1 attempt: The key was refused." in html
    for text in ("prose, not JSON", "HTTP 401 body", "You are agent C of three agents", "BEGIN MATERIAL", "Attempt 2"):
        assert text in html


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


def titles(client, **asked):
    """The titles in the list, in their order, and its whole page."""
    html = client.get(reverse("admin:judgements_judgement_changelist"), asked).content.decode()
    return re.findall(r'<th class="field-shown_title"><a [^>]*>([^<]*)</a>', html), html


def stand(owner, title, votes="AAR", created=None, **more):
    if created:
        more["start"] = datetime.fromisoformat(f"{created}T12:00:00+00:00")
    return judged(owner, title, votes, **more)


@pytest.fixture
def several(mira, noor, council):
    """Three judgements of three years, the newest first."""
    return once(make_several, mira, noor, council)


def make_several(mira, noor, council):
    oldest = stand(mira, "Ship", "RRR", "2024-12-31")
    stand(noor, "Refund", "AAR", "2025-02-28", council=council.current)
    stand(mira, "Travel", "AAA", "2026-11-02")
    SearchText.objects.flag(oldest.pk, Remark.SWAYED)
    return ["Travel", "Refund", "Ship"]


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ({}, "Travel Refund Ship"),
        ({"status": "approved"}, "Travel Refund"),
        ({"status": "x", "flag": "x", "council": "x", "rehearsal": "x", "since": "x"}, "Travel Refund Ship"),
        ({"flag": "swayed"}, "Ship"),
        ({"rehearsal": "yes"}, "Travel Refund Ship"),
        ({"rehearsal": "no"}, ""),
        ({"who": "MIR"}, "Travel Ship"),
        ({"who": "nobody of that name"}, ""),
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
    ],
)
def test_the_list_shows_what_is_asked_for(admin, several, asked, found):
    assert titles(admin, **asked)[0] == found.split()


def test_a_council_and_a_person_are_asked_for_by_a_link(admin, several, council, mira):
    assert titles(admin, council=council.pk)[0] == ["Refund"]
    found, html = titles(admin, person=mira.pk, status="rejected")
    assert found == ["Ship"]
    assert f'<a href="?person={mira.pk}">All</a>' in html  # the way out of the status keeps the person


@pytest.mark.parametrize("asked", [{"title__startswith": "T"}, {"nothing": "x"}, {"e": "1"}])
def test_other_lookups_lead_back_to_the_list(admin, several, asked):
    answer = admin.get(reverse("admin:judgements_judgement_changelist"), asked, follow=True)
    assert (answer.status_code, answer.request["QUERY_STRING"]) == (200, "e=1")


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
    monkeypatch.setattr("runs.admin.review.MOST_COUNTED", 2)
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


def test_a_row_says_votes_council_who_and_flags(admin, several):
    html = titles(admin, status="rejected")[1]
    for text in (
        "Melchior rejects, Balthasar rejects, Casper rejects",
        "0 of 3",
        "Rejected",
        "mira",
        "2024-12-31 12:00",
    ):
        assert text in html
    assert '<td class="field-flags">Swayed, Rehearsed</td>' in html


# ---- the page of a judgement ------------------------------------------------------------------------------


def test_a_change_of_mind_is_marked_and_has_its_reason(admin, judgement, models):
    models.will("openai/b", "reject", says("approve", "Agent A convinced me."), "approve")
    asyncio.run(perform(judgement.pk, models))
    html = admin.get(page_of(judgement)).content.decode()
    round_2 = html[html.index("Changed its mind in round 2", html.index('id="rec-agent-2"')) :]
    assert round_2.index("Agent A convinced me.") < round_2.index("Round 3")
    assert "<li>Changed its mind</li>" in html


def test_the_page_leads_to_all_other_pages_and_back_to_the_list_as_it_was(admin, mira, council):
    judgement = stand(mira, "Travel", council=council.current)
    html = admin.get(page_of(judgement), {"_changelist_filters": "status=approved"}).content.decode()
    for name in ("live", "record", "replay", "record-file"):
        assert f'href="{reverse(name, args=[judgement.pk])}"' in html
    assert f'href="{reverse("council-version", args=[council.pk, 1])}"' in html
    assert f'href="{reverse("admin:judgements_judgement_changelist")}?status=approved"' in html


def test_there_is_no_page_of_nothing(admin):
    assert admin.get(reverse("admin:judgements_judgement_change", args=["x"])).status_code == 404
    assert admin.get(reverse("admin:judgements_judgement_change", args=[uuid.uuid4()])).status_code == 404


def test_only_who_may_look_sees_list_and_page(client, judgement):
    client.force_login(User.objects.create_user("staff", is_staff=True))
    for address in (reverse("admin:judgements_judgement_changelist"), page_of(judgement)):
        assert client.get(address).status_code == 403


def test_the_selection_cannot_be_deleted(admin, judgement):
    steer(admin, "delete_selected", judgement)
    judgement.refresh_from_db()


# ---- the selection as a file ------------------------------------------------------------------------------


async def selected(reviewer, action, *judgements, query=""):
    """The text of the file; the page where there is none."""
    client = AsyncClient()
    await client.aforce_login(reviewer)
    across = {} if judgements else {"select_across": "1"}
    chosen = [judgement.pk for judgement in judgements or [await Judgement.objects.afirst()]]
    address = reverse("admin:judgements_judgement_changelist") + query
    answer = await client.post(address, {"action": action, "_selected_action": chosen, **across}, follow=True)
    if not answer.streaming:
        return answer.content.decode()
    return b"".join([part async for part in answer.streaming_content]).decode()


async def test_a_selection_is_exported_as_a_table(reviewer, several):
    chosen = await Judgement.objects.aget(run__title="Ship")
    rows = list(csv.DictReader(io.StringIO((await selected(reviewer, "export_table", chosen)).removeprefix("\ufeff"))))
    assert [(row["title"], row["outcome"]) for row in rows] == [("Ship", "rejected")]


async def test_all_that_a_filter_finds_is_exported(reviewer, several):
    lines = (await selected(reviewer, "export_lines", query="?status=approved")).splitlines()
    assert [json.loads(line)["title"] for line in lines] == ["Travel", "Refund"]


async def test_records_are_printed_one_after_the_other_on_one_page(reviewer, several):
    html = await selected(reviewer, "print_records", query="?status=approved")
    assert re.findall(r'<h1 id="[0-9a-f]{8}-rec-h">(\w+)</h1>', html) == ["Travel", "Refund"]
    ids = re.findall(r' id="([^"]+)"', html)
    assert len(ids) == len(set(ids))
    assert html.count("Raw answer</p>") == 18
    assert html.rstrip().endswith("</html>")


async def test_more_records_than_fit_on_a_page_are_refused(reviewer, several, monkeypatch):
    monkeypatch.setattr("runs.admin.actions.MOST_PRINTED", 2)
    html = await selected(reviewer, "print_records")
    assert "At most 2 judgements fit at once, and more are selected." in html


@pytest.mark.parametrize("action", ["add", "change", "delete"])
def test_nothing_can_be_added_changed_or_deleted(admin, judgement, action):
    args = [] if action == "add" else [judgement.pk]
    answer = admin.post(reverse(f"admin:judgements_judgement_{action}", args=args), {"title": "x", "post": "yes"})
    assert answer.status_code == 403
    judgement.refresh_from_db()
    assert judgement.run.title != "x"


def steer(client, action, *judgements):
    url = reverse("admin:judgements_judgement_changelist")
    answer = client.post(url, {"action": action, "_selected_action": [j.pk for j in judgements]}, follow=True)
    return answer.content.decode()


def test_selected_judgements_are_cancelled_and_it_is_said_how_many(admin, reviewer, judgement):
    assert "1 judgement cancelled." in steer(admin, "cancel", judgement)
    assert Run.objects.get().cancelled_by == reviewer
    assert "0 judgements cancelled. 1 was over already." in steer(admin, "cancel", judgement)


def test_selected_judgements_that_failed_are_retried(admin, failed):
    assert "1 judgement queued again." in steer(admin, "retry", failed)
    assert Run.objects.get().status == "queued"
    assert "0 judgements queued again. 1 was left alone" in steer(admin, "retry", failed)


ACTIONS = ("cancel", "retry", "export_table", "export_lines", "export_evidence", "print_records")


@pytest.mark.parametrize(
    ("rights", "offered"),
    [
        (("engine.view_run",), ()),
        (("engine.view_run", "engine.steer_run"), ACTIONS[:2]),
        (("engine.view_run", "engine.export_run"), ACTIONS[2:]),
    ],
)
def test_each_action_asks_for_its_own_right(client, judgement, rights, offered):
    client.force_login(allow(User.objects.create_user("staff", is_staff=True), *rights))
    html = client.get(reverse("admin:judgements_judgement_changelist")).content.decode()
    assert tuple(action for action in ACTIONS if f'<option value="{action}">' in html) == offered
    assert ("1 judgement cancelled." in steer(client, "cancel", judgement)) == ("cancel" in offered)
    answer = client.post(
        reverse("admin:judgements_judgement_changelist"),
        {"action": "export_table", "_selected_action": [judgement.pk]},
    )
    assert answer.streaming == ("export_table" in offered)


def test_model_text_is_shown_and_never_run(admin, judgement, models):
    evil = '<img src=x onerror="alert(1)">'
    models.will("openai/a", f"{evil}")
    asyncio.run(perform(judgement.pk, models))
    html = admin.get(page_of(judgement)).content.decode()
    assert evil not in html
    assert "&lt;img src=x" in html


def test_the_limit_of_a_budget_can_be_changed_and_nothing_else_of_it(client, reviewer, mira):
    budget = Budget.objects.create(owner=mira, limit=DOLLAR)
    client.force_login(reviewer)
    address = reverse("admin:engine_budget_change", args=[budget.pk])
    assert "dollars a month" in client.get(address).content.decode().lower()
    Budget.objects.update(spent=5, reserved=7)
    assert client.post(address, {"limit": "2.50"}).status_code == 302
    budget.refresh_from_db()
    assert (budget.limit, budget.spent, budget.reserved) == (5 * DOLLAR // 2, 5, 7)


def test_a_users_page_says_what_its_runs_have_used(client, reviewer, mira, judgement):
    values = {"status": "answered", "input_tokens": 1200, "output_tokens": 300, "cost": DOLLAR // 100}
    usual = {"run": judgement.run, "step": "A1", "attempt": 1, "model": "m", "prompt": "[]"}
    ModelCall.objects.create(deadline=judgement.run.created, **usual, **values)
    client.force_login(reviewer)
    html = client.get(reverse("admin:auth_user_change", args=[mira.pk])).content.decode()
    assert "1 call, 1,200 tokens in and 300 out, cost $0.0100" in html


# ---- reviews and integrity ------------------------------------------------------------------------------------


@pytest.fixture
def approved(mira):
    return once(judged_by, mira)


def review(client, judgement, **said):
    return client.post(reverse("admin:judgements_judgement_review", args=[judgement.pk]), said, follow=True)


def test_a_note_and_an_override_stand_beside_the_verdict(admin, approved):
    review(admin, approved, what="note", text="Casper misread the plan.")
    html = review(admin, approved, what="rejected", text="Not this week.").content.decode()
    for text in (
        "Note, by reviewer",
        "Casper misread the plan.",
        "Overridden by reviewer",
        "Not this week.",
        "Approved",
    ):
        assert text in html
    assert Run.objects.get().outcome == "approved"
    assert SearchText.objects.flags_of([approved.pk], FLAGS)[approved.pk] == [Flag.NOTED, Flag.OVERRIDDEN]


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        ({"what": "note"}, "Write the note"),
        ({"what": "note", "text": " \u200b\r\n"}, "Write the note"),
        ({"what": "note", "text": "A bell: \a"}, "Character U+0007 at position 9 cannot be kept."),
        ({"text": "x"}, "Choose what"),
    ],
)
def test_a_review_that_says_nothing_is_not_kept(admin, approved, said, problem):
    answer = review(admin, approved, **said)
    assert answer.status_code == 422
    assert problem in answer.content.decode()
    assert not Review.objects.exists()


def test_a_judgement_that_goes_on_is_not_reviewed(admin, judgement):
    assert "not over cannot be reviewed" in review(admin, judgement, what="note", text="Early.").content.decode()


@pytest.mark.parametrize("may", [[], ["engine.view_run"], ["engine.add_review"]])
def test_only_who_may_see_and_review_reviews(client, approved, mira, may):
    mira.is_staff = True
    mira.save()
    client.force_login(allow(mira, *may))
    assert review(client, approved, what="note", text="Hm.").status_code == 403


def test_an_address_of_a_review_leads_to_its_judgement(admin, approved):
    answer = admin.get(reverse("admin:judgements_judgement_review", args=[approved.pk]))
    assert answer["Location"] == page_of(approved)


def test_the_page_says_that_a_record_is_intact_and_when_it_is_not(admin, approved):
    assert "Intact" in admin.get(page_of(approved)).content.decode()
    with tampering():
        Judgement.objects.update(content="Something else.")
    html = admin.get(page_of(approved)).content.decode()
    assert "Not intact" in html
    assert "The content was changed after " in html


async def test_the_evidence_of_a_selection_is_exported(reviewer, judgement, models):
    await perform(judgement.pk, models)
    [line] = (await selected(reviewer, "export_evidence", judgement)).splitlines()
    assert json.loads(line)["checkpoint"]


async def test_the_evidence_of_a_damaged_log_is_refused_in_a_sentence(reviewer, judgement, models):
    await perform(judgement.pk, models)
    await sync_to_async(damage)()
    said = await selected(reviewer, "export_evidence", judgement)
    assert "No checkpoint can be made: leaf 0 of the log was damaged." in said


def damage():
    with tampering():
        Leaf.objects.update(hash="zz")


def test_a_note_has_as_many_characters_as_the_page_lets_one_write(admin, approved):
    review(admin, approved, what="note", text="\r\n".join(["a"] * 2_000))  # as a browser sends line breaks
    assert len(Review.objects.get().text) == 3_999


@pytest.mark.parametrize("text", ["\u200b\u200b", "...", "Seen.\x1b[2J"])
def test_a_reason_that_shows_nothing_or_cannot_be_kept_overrides_nothing(admin, approved, text):
    assert review(admin, approved, what="rejected", text=text).status_code == 422
    assert not Review.objects.exists()
