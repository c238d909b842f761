"""A person on a seat is told that its turn has come: on its pages, by its browser, and by a letter."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from engine.models import Gate, Letter
from runs.approvals import reminders
from runs.context_processors import pending_gate_count
from runs.live import notifications

from .scenes import last_words, waiting
from .table import Table

pytestmark = pytest.mark.django_db


@pytest.fixture
def elin(mira: User) -> User:
    return User.objects.create_user("elin", email="elin@example.com")


@pytest.fixture
def table(mira: User, elin: User) -> Table:
    return waiting(mira, elin)


def hours_later(monkeypatch, hours: float) -> None:
    real = timezone.now
    monkeypatch.setattr(timezone, "now", lambda: real() + timedelta(hours=hours))


def test_the_turn_stands_on_the_page_of_what_waits_for_this_person_and_no_other(table: Table, elin: User, page: Client):
    own = Client()
    own.force_login(elin)
    title = f"Your turn in: {table.row.run.title}"
    assert title in own.get(reverse("waiting")).content.decode()
    assert title not in page.get(reverse("waiting")).content.decode()


def test_an_open_page_of_what_waits_names_the_turn_for_a_notice(table: Table, elin: User, mira: User):
    gate = Gate.objects.get(run=table.pk)
    address = reverse("gate", args=[gate.pk])
    assert notifications._new(elin, after=0) == [{"id": gate.pk, "title": gate.title, "address": address}]
    assert (pending_gate_count(elin), pending_gate_count(mira), notifications._new(mira, after=0)) == ("1", "", [])


def test_a_letter_comes_while_there_is_half_of_the_time_left(table: Table, settings, monkeypatch):
    settings.EMAIL_URL = "smtp://127.0.0.1:1"
    gate = Gate.objects.get(run=table.pk)
    reminders.send_reminders()
    assert not Letter.objects.exists()
    hours_later(monkeypatch, (gate.expires - gate.made).total_seconds() / 7200 + 0.1)
    reminders.send_reminders()
    [letter] = Letter.objects.all()
    assert (letter.to, letter.subject) == ("elin@example.com", "1 thing waits for you")
    assert f"{gate.title}\nsince" in letter.text
    assert f"/gates/{gate.pk}/" in letter.text


def test_the_last_word_is_asked_for_in_the_same_ways(mira: User, elin: User):
    gate = Gate.objects.get(run=last_words(mira, elin).pk)
    assert Gate.objects.for_user(elin).get() == gate
    assert "The debate is over" in gate.text
