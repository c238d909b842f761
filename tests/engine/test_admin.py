"""Budgets and users in the admin."""

import pytest
from django.urls import reverse

from engine.llm.pricing import DOLLAR
from engine.models import ModelCall
from engine.models.budgets import Budget

pytestmark = pytest.mark.django_db


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
