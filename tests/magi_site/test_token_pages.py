"""Tokens on one's own page and in the admin."""

import re

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from magi_site.models import Token
from tests.magi_site.bearers import get

pytestmark = pytest.mark.django_db


# ---- in the admin -------------------------------------------------------------------------------------------


@pytest.fixture
def admin(client, reviewer):
    client.force_login(reviewer)
    return client


def test_nobody_makes_tokens_in_the_admin(admin):
    assert admin.get("/admin/magi_site/token/add/").status_code == 403


def test_the_admin_revokes_tokens(admin, token):
    answer = admin.post("/admin/magi_site/token/", {"action": "revoke", "_selected_action": [token.pk]}, follow=True)
    assert "1 token revoked." in answer.content.decode()
    assert get(token.secret, Client()).status_code == 401


def test_the_admin_lists_tokens_without_a_query_for_each(admin, mira, django_assert_max_num_queries):
    for number in range(20):
        Token.objects.make(mira, f"token {number}")
    with django_assert_max_num_queries(12):
        assert "token 19" in admin.get("/admin/magi_site/token/").content.decode()


# ---- on one's own page ----------------------------------------------------------------------------------------


def make(page, **more):
    return page.post(reverse("tokens"), {"name": "ci", "days": "30", "scopes": ["submit"]} | more)


def shown(answer):
    return re.findall(r'id="token">(magi_[\w-]+)<', answer.content.decode())


def test_a_new_token_is_shown_once_and_stored_by_no_browser(page, mira):
    answer = make(page)
    (secret,) = shown(answer)
    assert answer.content.decode().count(secret) == 1
    assert "no-store" in answer.headers["Cache-Control"]
    assert secret not in page.get(reverse("tokens")).content.decode()
    token = Token.objects.get()
    assert (token.owner, token.name, token.scopes) == (mira, "ci", "submit")
    assert get(secret, Client()).status_code == 200


def test_without_a_tick_a_token_only_reads(page):
    make(page, scopes=[])
    assert Token.objects.get().scopes == ""
    assert "read only" in page.get(reverse("tokens")).content.decode()


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"name": ""}, "Say what it is for."),
        ({"days": ""}, "0 for one that is valid until you revoke it"),
        ({"days": "-1"}, "greater than or equal to 0"),
        ({"days": "99999"}, "less than or equal to 3650"),
        ({"scopes": ["everything"]}, "everything is not one of the available choices"),
    ],
)
def test_a_form_that_is_wrong_makes_none_and_keeps_what_was_typed(page, wrong, sentence):
    text = make(page, **wrong).content.decode()
    assert sentence in text
    assert ('value="ci"' in text) == ("name" not in wrong)
    assert not Token.objects.exists()


def test_people_see_and_revoke_their_own_tokens_alone(page, token, noor):
    other = Token.objects.make(noor, "noors")
    text = page.get(reverse("tokens")).content.decode()
    assert ("ci" in text, "noors" in text) == (True, False)
    assert page.post(reverse("revoke-token", args=[other.pk])).status_code == 404
    assert page.post(reverse("revoke-token", args=[token.pk]), follow=True).status_code == 200
    assert (get(token.secret, Client()).status_code, get(other.secret, Client()).status_code) == (401, 200)


def test_one_person_has_only_so_many_tokens_that_hold(page, mira, settings):
    settings.USER_TOKENS = 2
    first = Token.objects.make(mira)
    Token.objects.make(mira)
    answer = make(page)
    assert (answer.status_code, answer.headers["Retry-After"]) == (429, "60")
    assert "You have 2 tokens that hold" in answer.content.decode()
    assert 'value="ci"' in answer.content.decode()
    Token.objects.filter(pk=first.pk).revoke()
    assert shown(make(page))


def test_no_number_of_ended_tokens_hides_one_that_holds(page, mira):
    Token.objects.make(mira, "the one that holds")
    ended = [Token(owner=mira, name=f"old {n}", digest=f"{n}", revoked=timezone.now()) for n in range(250)]
    Token.objects.bulk_create(ended)
    answer = page.get(reverse("tokens"))
    assert "the one that holds" in answer.content.decode()
    assert len(answer.context["ended"]) == 50


def test_one_person_makes_only_so_many_tokens_in_a_short_time(page, mira, noor, settings):
    settings.USER_TOKENS = 100
    assert all(shown(make(page)) for _ in range(20))
    answer = make(page)
    assert (answer.status_code, shown(answer)) == (429, [])
    assert "You made many tokens in a short time. Try again in" in answer.content.decode()
    page.force_login(noor)
    assert shown(make(page))


@pytest.mark.parametrize("tick", [True, False])
def test_a_new_password_ends_the_tokens_if_the_owner_wants(page, token, noor, tick):
    hers = Token.objects.make(noor)
    new = {"new_password1": "another long one", "new_password2": "another long one"}
    sent = {"old_password": "a long enough secret", **new} | ({"end_tokens": "on"} if tick else {})
    answer = page.post(reverse("password"), sent)
    assert ("1 token was ended." in answer.content.decode()) == tick
    assert get(token.secret, Client()).status_code == (401 if tick else 200)
    assert get(hers.secret, Client()).status_code == 200


def test_a_password_that_was_not_changed_ends_no_token(page, token):
    page.post(reverse("password"), {"old_password": "wrong", "end_tokens": "on"})
    assert get(token.secret, Client()).status_code == 200
