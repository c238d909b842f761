"""The forms of the live page by which people steer a debate."""

import re

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from debates.models import Debate, DebateMessage, SteeringAction
from tests.conftest import allow

from .rows import member, over, queued

pytestmark = pytest.mark.django_db


@pytest.fixture
def debate(mira: User) -> Debate:
    return queued(mira)


def send(page: Client, name: str, debate: Debate, **posted: str):
    return page.post(reverse(f"debate-{name}", args=[debate.pk]), posted)


def test_the_chair_says_something_and_is_back_on_the_page(page: Client, debate: Debate):
    answer = send(page, "say", debate, text="One\r\ntwo.", to="everyone")
    assert (answer.status_code, answer.url) == (302, reverse("debate-live", args=[debate.pk]))
    assert (DebateMessage.objects.get().content, DebateMessage.objects.get().speaking_to) == ("One\ntwo.", [])


def test_a_form_that_is_sent_twice_says_it_once(page: Client, debate: Debate):
    for _ in range(2):
        send(page, "say", debate, text="And you?", to="2", ask="1", key="one")
    assert (DebateMessage.objects.count(), SteeringAction.objects.count()) == (1, 1)


def test_each_page_has_a_key_of_its_own(page: Client, debate: Debate):
    keys = {page.get(reverse("debate-live", args=[debate.pk])).context["key"] for _ in range(2)}
    assert len(keys) == 2


def test_a_member_gets_the_floor_without_a_word(page: Client, debate: Debate):
    assert send(page, "steer", debate, kind="ask", member="3").status_code == 302
    assert SteeringAction.objects.get().member.seat == 3


def test_what_is_refused_comes_back_with_what_was_typed(page: Client, debate: Debate):
    over(debate)
    answer = send(page, "say", debate, text="But <b>wait</b>!", to="everyone")
    assert answer.status_code == 409
    assert "The debate is over." in answer.content.decode()
    assert "But &lt;b&gt;wait&lt;/b&gt;!" in answer.content.decode()


HTMX = {"HX-Request": "true"}


def test_with_scripts_the_form_comes_back_alone_and_empty(page: Client, debate: Debate):
    posted = {"text": "And you?", "to": "2", "key": "one"}
    answer = page.post(reverse("debate-say", args=[debate.pk]), posted, headers=HTMX)
    html = answer.content.decode()
    assert (answer.status_code, html.startswith("<form"), "And you?" in html) == (200, True, False)
    assert ("Said." in html, "aria-invalid" in html) == (True, False)
    assert 'name="key" value="one"' not in html
    assert DebateMessage.objects.get().content == "And you?"


def test_with_scripts_what_is_refused_stands_in_its_form_again(page: Client, debate: Debate):
    over(debate)
    posted = {"text": "But wait!", "to": "2", "ask": "1"}
    answer = page.post(reverse("debate-say", args=[debate.pk]), posted, headers=HTMX)
    html = " ".join(answer.content.decode().split())
    assert (answer.status_code, html.startswith("<form")) == (409, True)
    for text in (
        "aria-invalid",
        "But wait!",
        "The debate is over.",
        '<option value="2" selected>',
        'name="ask" value="1" checked',
    ):
        assert text in html


def test_what_is_said_and_what_is_steered_from_one_page_are_two_acts(page: Client, debate: Debate):
    html = page.get(reverse("debate-live", args=[debate.pk])).content.decode()
    keys = re.findall(r'name="key" value="([^"]+)"', html)
    assert len({*keys}) == len(keys) == 2


def test_a_broken_form_does_nothing(page: Client, debate: Debate):
    for posted in ({}, {"kind": "rule"}, {"kind": "extend", "amount": "x"}, {"kind": "recall"}):
        assert send(page, "steer", debate, **posted).status_code == 409
    assert not SteeringAction.objects.exists()


def test_whoever_may_only_see_it_is_no_chair(client: Client, noor: User, debate: Debate):
    client.force_login(allow(noor, "engine.view_run"))
    for name in ("say", "steer"):
        assert send(client, name, debate, text="x", kind="close").status_code == 403
    assert not DebateMessage.objects.exists()


@pytest.fixture
def with_noor(client: Client, mira: User, noor: User) -> Debate:
    """A debate in which Noor has a seat, and looks at it."""
    seat = {"name": "Noor", "who": "", "model": "", "user": noor}
    client.force_login(allow(noor, "engine.view_run"))
    return queued(mira, members=[member("Amara Osei"), member("Ilse Brandt"), seat])


def test_a_person_leaves_its_seat(client: Client, with_noor: Debate):
    assert send(client, "withdraw", with_noor, verdict="HIRE", reasoning="She is good.").status_code == 302
    assert Debate.objects.with_messages().get(pk=with_noor.pk).state().verdict_of == {3: "HIRE"}


def test_with_scripts_who_cannot_leave_so_finds_all_that_was_typed(client: Client, with_noor: Debate):
    address = reverse("debate-withdraw", args=[with_noor.pk])
    refused = client.post(address, {"verdict": "WAIT", "reasoning": "Enough."}, headers=HTMX).content.decode()
    shown = (
        '<details class="more" open>',
        "Enough.</textarea>",
        '<option value="WAIT" selected>',
        "Say in a sentence why",
    )
    assert [text for text in shown if text not in refused] == []
    left = client.post(address, {"verdict": "WAIT", "reasoning": "Enough was said."}, headers=HTMX).content.decode()
    assert ("You have left the debate." in left, "<form" in left) == (True, False)
