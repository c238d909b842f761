"""The pages that say what went wrong."""

import pytest
from django.contrib.sessions.backends.db import SessionStore
from django.db import OperationalError
from django.test import Client
from django.urls import reverse

pytestmark = pytest.mark.django_db


def test_a_fault_gets_a_page_even_where_the_database_is_away(mira, monkeypatch):
    client = Client(raise_request_exception=False)
    client.force_login(mira)

    def away(self):
        raise OperationalError

    monkeypatch.setattr(SessionStore, "load", away)
    answer = client.get(reverse("history"))
    assert answer.status_code == 500
    assert "Something broke here" in answer.content.decode()
    assert "default-src 'none'" in answer["Content-Security-Policy"]


@pytest.mark.parametrize("name", ["new", "council-new", "expected-cost"])
def test_a_form_without_its_token_is_refused_on_a_page_of_ours(mira, name):
    client = Client(enforce_csrf_checks=True)
    client.force_login(mira)
    answer = client.post(reverse(name))
    assert answer.status_code == 403
    assert "<h1>Not allowed</h1>" in answer.content.decode()


def test_what_is_too_large_is_refused_on_a_page_of_ours(client, mira):
    client.force_login(mira)
    answer = client.post(reverse("new"), "x" * 1_100_000, content_type="application/x-www-form-urlencoded")
    assert answer.status_code == 400
    assert "<h1>Not understood</h1>" in answer.content.decode()
