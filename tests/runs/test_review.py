"""The reviewers' desk: what needs a look first, the list of it."""

import re
from datetime import UTC, date, datetime

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from engine.models import ModelCall, Run
from judgements.models import JudgementFlag
from runs import reviews
from runs.history.review_queue import ReviewQueue, months_before
from runs.models import SearchText
from tests.judgements.past import submit
from tests.runs.desk import stand

pytestmark = pytest.mark.django_db

REVIEW = reverse("review")
TODAY = date(2026, 11, 22)


def desk(user, **asked):
    return ReviewQueue(user, asked, REVIEW, TODAY)


def fail(owner, title, code="timeout", model="openai/large", day="2026-11-20", message="No answer came.", minute=0):
    start = datetime.fromisoformat(f"{day}T12:00:00+00:00")
    run = submit(owner, title, start=start, minute=minute, status="failed").run
    call = {"step": "A1", "attempt": 1, "status": "failed", "model": model, "prompt": "[]", "deadline": start}
    ModelCall.objects.create(run=run, **call)
    Run.objects.filter(pk=run.pk).update(error={"code": code, "message": message, "agent": "A"})
    return run


def titles(desk):
    return [line.row.title for line in desk.lines]


# ---- tiles ------------------------------------------------------------------------------------------------


def test_twelve_months_end_with_this_one():
    months = months_before(date(2026, 1, 31))
    assert [months[0].label, months[-1].label, months[-1].last] == ["February 2025", "January 2026", date(2026, 1, 31)]


def test_a_tile_says_how_many_there_are_in_each_month(mira, reviewer):
    for title, day in (("old", "2025-11-30"), ("first", "2025-12-01"), ("june", "2026-06-30"), ("now", "2026-11-02")):
        fail(mira, title, day=day)
    errors = desk(reviewer).tiles[0]
    assert (errors.numbers, errors.number) == ([1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1], 1)
    assert errors.caption == "Errors by month, December to November: 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1"


def test_a_face_says_which_of_its_flags_need_a_look(mira, reviewer):
    swayed = stand(mira, "Ship", "AAR", "2026-11-02")
    stand(mira, "Refund", "AAR", "2026-11-03")
    SearchText.objects.flag(swayed.pk, JudgementFlag.SWAYED, JudgementFlag.CARRIED)
    shown = desk(reviewer)
    tiles = [(tile.look.name, tile.number) for tile in shown.tiles]
    assert tiles[:3] == [("Errors", 0), ("Overridden", 0), ("Swayed", 1)]
    assert (shown.look.flag, titles(shown)) == ("swayed", ["Ship"])  # the first of which there is any


def test_a_tile_is_a_filter_and_a_month_another(mira, reviewer):
    fail(mira, "October", day="2026-10-31")
    overridden = stand(mira, "Ship", "AAR", "2026-11-02")
    fail(mira, "November")
    reviews.add_review(overridden.run, reviewer, "Not now.", "rejected")
    assert titles(desk(reviewer)) == ["November"]
    assert titles(desk(reviewer, month="2026-10")) == ["October"]
    assert titles(desk(reviewer, look="overridden")) == ["Ship"]


@pytest.mark.parametrize("month", ["2026-12", "2020-01", "x", "", "2026-13"])
def test_a_month_that_there_is_not_is_the_present_one(reviewer, month):
    assert desk(reviewer, month=month).month.label == "November 2026"


def test_a_bar_is_as_high_as_its_month_is_full(mira, reviewer):
    for title, day in (("one", "2026-10-01"), ("two", "2026-11-01"), ("three", "2026-11-02")):
        fail(mira, title, day=day)
    bars = list(desk(reviewer).tiles[0].bars)
    assert [bar.height for bar in bars[-3:]] == [1, 14, 27]
    assert [bar.chosen for bar in bars[-2:]] == [False, True]


# ---- causes -----------------------------------------------------------------------------------------------


def causes(desk):
    return [(cause.words, cause.detail, cause.number) for cause in desk.causes]


def test_errors_are_grouped_by_code_and_model(mira, reviewer):
    for title, code, model in (
        ("a", "timeout", "openai/large"),
        ("b", "unauthorized", "mistral/small"),
        ("c", "timeout", "openai/large"),
    ):
        fail(mira, title, code, model)
    shown = desk(reviewer)
    assert causes(shown) == [
        ("No answer in time", "openai/large", 2),
        ("The key was refused", "mistral/small", 1),
    ]
    assert [cause.share for cause in shown.causes] == [67, 33]


def test_a_cause_of_a_procedure_s_own_is_said_in_words(mira, reviewer):
    fail(mira, "silent", "member_failed", "openai/large")
    assert causes(desk(reviewer)) == [("Member failed", "openai/large", 1)]


def test_a_cause_is_a_filter_too(mira, reviewer):
    fail(mira, "slow")
    fail(mira, "locked", "unauthorized", "mistral/small")
    shown = desk(reviewer, look="error", cause="unauthorized mistral/small")
    assert (shown.cause.words, titles(shown)) == ("The key was refused", ["locked"])
    assert shown.causes[1].address == f"{REVIEW}?month=2026-11&look=error"  # chosen again it is none


def test_a_cause_that_there_is_no_more_leaves_the_whole_tile(mira, reviewer):
    fail(mira, "slow")
    assert titles(desk(reviewer, look="error", cause="quota x")) == ["slow"]


def test_other_tiles_are_grouped_by_what_they_came_to(mira, reviewer):
    for title, votes in (("Ship", "AAR"), ("Refund", "RRA")):
        run = stand(mira, title, votes, "2026-11-02").run
        reviews.add_review(run, reviewer, "No.", "rejected" if votes == "AAR" else "approved")
    assert sorted(causes(desk(reviewer, look="overridden"))) == [
        ("Approved", "overridden: rejected", 1),
        ("Rejected", "overridden: approved", 1),
    ]


# ---- the list ---------------------------------------------------------------------------------------------


def test_a_line_says_why_in_a_sentence(mira, reviewer):
    fail(mira, "slow", message="No answer within 60 s from openai/large.")
    overridden = stand(mira, "Ship", "AAR", "2026-11-02")
    reviews.add_review(overridden.run, reviewer, "Not now.", "rejected")
    assert desk(reviewer).lines[0].why == "No answer within 60 s from openai/large."
    assert desk(reviewer, look="overridden").lines[0].why == "reviewer decided rejected instead."


def test_what_was_overridden_is_struck_and_what_was_rehearsed_is_dashed(admin, mira, reviewer):
    rehearsed, overridden = stand(mira, "Ship"), stand(mira, "Refund")
    for one in (rehearsed, overridden):
        SearchText.objects.flag(one.pk, JudgementFlag.SWAYED)
    reviews.add_review(overridden.run, reviewer, "No.", "rejected")
    html = admin.get(REVIEW, {"month": "2026-11", "look": "swayed"}).content.decode()
    classes = dict(re.findall(r'<li class="rv (rv--\w+)" id="rv-([0-9a-f-]+)"', html))
    assert classes == {"rv--dash": str(rehearsed.pk), "rv--void": str(overridden.pk)}


def test_a_hundred_stand_on_a_page_and_a_page_begins_at_a_run(mira, reviewer, monkeypatch):
    monkeypatch.setattr("runs.history.review_queue.PAGE_SIZE", 2)
    for number in range(3):
        fail(mira, f"number {number}", day=f"2026-11-1{number}")
    first = desk(reviewer, look="error")
    assert titles(first) == ["number 2", "number 1"]
    before = re.search(r"before=([0-9a-f-]+)", first.older_page)[1]
    older = desk(reviewer, look="error", before=before)
    assert (titles(older), older.older_page) == (["number 0"], "")
    assert f"before={before}" in older.lines[0].address  # which a record comes back to


def test_what_a_tile_has_counted_is_not_counted_again_for_the_list(mira, reviewer):
    SearchText.objects.flag(stand(mira, "Ship", "AAR", "2026-11-02").pk, JudgementFlag.SWAYED)
    swayed = desk(reviewer, look="swayed")
    assert swayed.number == 1
    with CaptureQueriesContext(connection) as queries:
        assert (titles(swayed), len(swayed.causes)) == (["Ship"], 1)
    assert not [query for query in queries if "COUNT(" in query["sql"].upper()]


def test_the_number_of_queries_does_not_grow_with_the_list(admin, mira):
    def asked():
        with CaptureQueriesContext(connection) as queries:
            assert admin.get(REVIEW, {"look": "error"}).status_code == 200
        return len(queries)

    day = f"{datetime.now(UTC):%Y-%m}-01"
    for minute in range(2):  # the first record of all has no place in the log before its own
        fail(mira, f"number {minute}", day=day, minute=minute)
    before = asked()
    for minute in range(2, 7):
        fail(mira, f"number {minute}", model=f"openai/{minute}", day=day, minute=minute)
    assert asked() == before


def test_an_empty_month_says_so_and_how_many_runs_it_had(admin, mira):
    stand(mira, "Ship", created=f"{datetime.now(UTC):%Y-%m}-01")
    html = admin.get(REVIEW).content.decode()
    assert f"Nothing needs a look in {datetime.now(UTC):%B}." in html
    assert "1 run." in html


def test_figures_bring_numbers_and_never_rows(admin, mira):
    day = f"{datetime.now(UTC):%Y-%m}-01"
    first = fail(mira, "first", day=day)
    fail(mira, "second", day=day, minute=1)
    asked = {"look": "error", "shown": ["timeout openai/large", "gone x"], "newest": str(first.pk)}
    html = admin.get(reverse("review-figures"), asked).content.decode()
    assert 'id="tile-error-n" hx-swap-oob="true">2<' in html
    assert re.findall(r'id="cause-(\d)-n" hx-swap-oob="true">(\d)<', html) == [("1", "2"), ("2", "0")]
    assert "1 newer" in html
    assert "second" not in html
