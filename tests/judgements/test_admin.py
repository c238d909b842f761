import asyncio

import pytest
from django.contrib.auth.models import Permission, User
from django.urls import reverse

from engine.budgets import Budget
from engine.failures import Unauthorized
from engine.models import ModelCall, Run
from engine.prices import DOLLAR
from tests.conftest import perform

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def admin(client, reviewer):
    client.force_login(reviewer)
    return client


def page_of(judgement):
    return reverse("admin:judgements_judgement_change", args=[judgement.pk])


@pytest.fixture
def failed(judgement, models):
    models.will("openai/c", "prose, not JSON", "approve", Unauthorized("The key was refused.", raw="HTTP 401 body"))
    asyncio.run(perform(judgement.pk, models))
    return judgement


def test_judgements_are_listed_with_status_title_who_and_when(admin, judgement):
    html = admin.get(reverse("admin:judgements_judgement_changelist")).content.decode()
    for text in ("Idle", judgement.title, "mira"):
        assert text in html


def test_a_judgement_shows_every_prompt_and_raw_answer_and_what_went_wrong(admin, failed):
    html = admin.get(page_of(failed)).content.decode()
    assert "Casper gave no decision in round 2 after 1 attempt: The key was refused." in html
    for text in ("prose, not JSON", "HTTP 401 body", "You are agent C of three agents", "BEGIN MATERIAL", "Attempt 2"):
        assert text in html


def test_the_status_filter_finds_what_failed(admin, failed):
    html = admin.get(reverse("admin:judgements_judgement_changelist"), {"status": "error"}).content.decode()
    assert failed.title in html
    html = admin.get(reverse("admin:judgements_judgement_changelist"), {"status": "approved"}).content.decode()
    assert failed.title not in html


def test_a_status_that_there_is_none_of_filters_nothing(admin, failed):
    answer = admin.get(reverse("admin:judgements_judgement_changelist"), {"status": "x"})
    assert failed.title in answer.content.decode()


def test_a_word_of_a_reason_finds_its_judgement(admin, failed):
    url = reverse("admin:judgements_judgement_changelist")
    assert failed.title in admin.get(url, {"q": "criteria say so"}).content.decode()
    assert failed.title not in admin.get(url, {"q": "zeppelin"}).content.decode()


@pytest.mark.parametrize("action", ["add", "change", "delete"])
def test_nothing_can_be_added_changed_or_deleted(admin, judgement, action):
    args = [] if action == "add" else [judgement.pk]
    answer = admin.post(reverse(f"admin:judgements_judgement_{action}", args=args), {"title": "x", "post": "yes"})
    assert answer.status_code == 403
    judgement.refresh_from_db()
    assert judgement.title != "x"


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


def test_staff_who_may_look_may_steer(client, judgement):
    staff = User.objects.create_user("staff", is_staff=True)
    staff.user_permissions.add(Permission.objects.get(codename="view_judgement"))
    client.force_login(staff)
    assert "1 judgement cancelled." in steer(client, "cancel", judgement)


def test_a_user_with_judgements_cannot_be_deleted(admin, judgement, mira):
    admin.post(reverse("admin:auth_user_delete", args=[mira.pk]), {"post": "yes"})
    mira.refresh_from_db()


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
