"""Guessing passwords: slow for whoever guesses, whatever the name, and no way to keep the owner out."""

import logging
import time
from contextlib import ExitStack
from datetime import timedelta
from functools import partial

import pytest
from django.apps import apps
from django.contrib.auth.hashers import PBKDF2PasswordHasher, make_password
from django.contrib.auth.models import User
from django.contrib.contenttypes.models import ContentType
from django.test import Client, RequestFactory
from django.urls import reverse

from engine.models import rate_limits
from engine.models.rate_limits import RateBucket, RateLimit, RateLimitReached
from magi_site import sign_in
from magi_site.settings import PASSWORD_HASHERS
from magi_site.sign_in import PasswordQueue, client_address, network_of
from tests.conftest import at_once

pytestmark = pytest.mark.django_db
RIGHT = "a long enough secret"
NGINX = "127.0.0.1"


@pytest.fixture(autouse=True)
def behind_a_proxy(settings):
    from ipaddress import ip_network

    settings.PROXIES = [ip_network("127.0.0.0/8")]


def guess(name="mira", password="wrong", address="192.0.2.1", client=None, path="login"):
    sent = {"username": name, "password": password}
    return (client or Client()).post(reverse(path), sent, headers={"X-Forwarded-For": address})


def later(monkeypatch, seconds):
    now = time.time() + seconds
    monkeypatch.setattr(rate_limits.time, "time", lambda: now)


# ---- how often --------------------------------------------------------------------------------------------


def test_the_sixth_wrong_guess_is_refused_before_its_password_is_looked_at(mira):
    assert [guess().status_code for _ in range(5)] == [200] * 5
    answer = guess(password=RIGHT)
    assert answer.status_code == 429
    assert 170 <= int(answer["Retry-After"]) <= 180
    assert "too many attempts to sign in. Try again in 3 minutes." in answer.content.decode()
    assert 'value="mira"' in answer.content.decode()


def test_after_the_time_that_is_said_one_more_guess_is_looked_at(mira, monkeypatch):
    for _ in range(6):
        guess()
    later(monkeypatch, 181)
    assert guess().status_code == 200
    assert guess().status_code == 429


def test_known_and_unknown_names_are_refused_alike(mira):
    answers = {name: [guess(name, address=f"192.0.2.{n}") for _ in range(6)] for n, name in enumerate(("mira", "zed"))}
    statuses = {name: [answer.status_code for answer in of] for name, of in answers.items()}
    assert statuses["mira"] == statuses["zed"] == [200] * 5 + [429]
    bodies = [[answer.content.decode().replace(name, "") for answer in of] for name, of in answers.items()]
    cut = [[text.partition("csrfmiddlewaretoken")[0] + text.partition("<h1>")[2] for text in of] for of in bodies]
    assert cut[0] == cut[1]


def test_other_ways_to_write_a_name_are_the_same_account(mira):
    for name in ("mira", "MIRA", "ｍｉｒａ", "mira", "Mira"):
        assert guess(name).status_code == 200
    assert guess("mIRA").status_code == 429


def test_one_address_does_not_try_one_password_on_all_accounts(mira):
    assert [guess(f"user{number}").status_code for number in range(21)] == [200] * 20 + [429]
    assert guess("user99", address="192.0.2.2").status_code == 200


def test_many_addresses_do_not_guess_at_one_account_for_ever(mira, monkeypatch):
    monkeypatch.setattr(sign_in, "OF_ACCOUNT", RateLimit(7, 60))
    statuses = [guess(address=f"192.0.2.{number}").status_code for number in range(8)]
    assert statuses == [200] * 7 + [429]


def test_whoever_signed_in_before_in_this_browser_is_not_kept_out_by_others(mira, monkeypatch):
    monkeypatch.setattr(sign_in, "OF_ACCOUNT", RateLimit(7, 60))
    own = Client()
    assert guess(password=RIGHT, client=own).status_code == 302
    own.post(reverse("logout"))
    for number in range(30):
        guess(address=f"192.0.2.{number % 4}")
    assert guess(password=RIGHT).status_code == 429
    assert guess(password=RIGHT, client=own).status_code == 302


def test_a_known_browser_is_known_for_its_own_account_and_guesses_no_faster(mira, noor):
    own = Client()
    guess(password=RIGHT, client=own)
    own.post(reverse("logout"))
    assert [guess("mira", client=own).status_code for _ in range(6)] == [200] * 5 + [429]
    assert [guess("noor", client=own).status_code for _ in range(6)] == [200] * 5 + [429]


def test_all_known_browsers_of_an_account_guess_no_faster_than_one(mira):
    browsers = [Client() for _ in range(3)]
    for own in browsers:
        guess(password=RIGHT, client=own)
        own.post(reverse("logout"))
    assert [guess(client=browsers[n % 3]).status_code for n in range(6)] == [200] * 5 + [429]


def test_a_new_password_makes_browsers_unknown_except_the_one_it_was_set_in(mira, monkeypatch):
    own, other = Client(), Client()
    guess(password=RIGHT, client=own)
    guess(password=RIGHT, client=other)
    other.post(reverse("logout"))
    new = {"new_password1": "another long one", "new_password2": "another long one"}
    own.post(reverse("password"), {"old_password": RIGHT, **new})
    own.post(reverse("logout"))
    for _ in range(5):
        guess()
    assert guess(password="another long one", client=other).status_code == 429
    assert guess(password="another long one", client=own).status_code == 302


def test_a_cookie_that_was_changed_makes_no_browser_known(mira):
    own = Client()
    guess(password=RIGHT, client=own)
    cookie = own.cookies["known-browser"].value
    own.post(reverse("logout"))
    own.cookies["known-browser"] = cookie[:-2] + "xx"
    for _ in range(5):
        guess()
    assert guess(client=own).status_code == 429


def test_right_passwords_count_by_themselves(mira, noor, hashed):
    assert [guess(password=RIGHT).status_code for _ in range(30)] == [302] * 30
    hashed.clear()
    assert (guess(password=RIGHT).status_code, hashed) == (429, [])
    assert guess("noor").status_code == 200


def test_wrong_passwords_do_not_count_as_right_ones(mira, monkeypatch):
    monkeypatch.setattr(sign_in, "RIGHT_PASSWORD_LIMIT", RateLimit(2, 600))
    assert [guess().status_code for _ in range(4)] == [200] * 4
    assert guess(password=RIGHT).status_code == 302


def test_a_password_is_not_changed_without_an_end(mira, client, monkeypatch):
    monkeypatch.setattr(sign_in, "RIGHT_PASSWORD_LIMIT", RateLimit(2, 600))
    client.force_login(mira)
    sent = {"old_password": RIGHT, "new_password1": "another long one", "new_password2": "a different one"}
    assert [client.post(reverse("password"), sent).status_code for _ in range(3)] == [200, 200, 429]


def test_a_right_password_takes_no_wrong_one_back(mira):
    for _ in range(4):
        guess()
    guess(password=RIGHT)
    assert [guess().status_code for _ in range(2)] == [200, 429]


def test_the_admin_has_no_second_way_in(mira, client):
    answer = client.get("/admin/login/?next=/admin/doctor/")
    assert answer["Location"] == f"{reverse('login')}?next=/admin/doctor/"
    assert client.post("/admin/login/", {"username": "mira", "password": RIGHT}).status_code == 302
    assert "_auth_user_id" not in client.session


def test_whom_the_admin_does_not_let_in_is_told_so(mira, client):
    client.force_login(mira)
    answer = client.get("/admin/", follow=True)
    assert (answer.status_code, len(answer.redirect_chain)) == (403, 1)


def test_no_key_breaks_the_admins_way_to_a_page(client, admin_user):
    client.force_login(admin_user)
    kinds = {type(model._meta.pk): model for model in apps.get_models()}  # one with each kind of key
    types = [ContentType.objects.get_for_model(model).pk for model in kinds.values()]
    assert {client.get(f"/admin/r/{pk}/{key}/").status_code for pk in types for key in ("1", "x")} == {404}


def test_the_old_password_cannot_be_guessed_by_changing_it(mira, client):
    client.force_login(mira)
    new = {"new_password1": "another long one", "new_password2": "another long one"}
    sent = [client.post(reverse("password"), {"old_password": "wrong", **new}) for _ in range(6)]
    assert [answer.status_code for answer in sent] == [200] * 5 + [429]
    assert client.post(reverse("password"), {"old_password": RIGHT, **new}).status_code == 429
    assert client.get("/admin/password_change/").status_code in (302, 403)


# ---- what it costs ----------------------------------------------------------------------------------------


class Counted(PBKDF2PasswordHasher):
    """A quick one that remembers what it hashed."""

    iterations = 1000
    hashed: list[str] = []

    def encode(self, password, salt, iterations=None):
        self.hashed.append(password)
        return super().encode(password, salt, iterations)


@pytest.fixture
def hashed(settings, mira):
    settings.PASSWORD_HASHERS = [f"{__name__}.Counted"]
    User.objects.filter(username="mira").update(password=make_password(RIGHT))
    Counted.hashed.clear()
    return Counted.hashed


def test_no_account_is_told_from_others_by_its_hasher():
    assert PASSWORD_HASHERS == ["django.contrib.auth.hashers.PBKDF2PasswordHasher"]


@pytest.mark.parametrize("whose", ["mira", "nobody", "disabled", "without", "other", "older"])
def test_each_wrong_guess_costs_the_same_hashing(mira, hashed, whose):
    User.objects.create_user("disabled", password=RIGHT, is_active=False)
    User.objects.create_user("without")
    User.objects.create(username="other", password="scrypt$16384$salt$8$1$abc")
    older = PBKDF2PasswordHasher()
    User.objects.create(username="older", password=older.encode(RIGHT, "salt", 400))
    hashed.clear()
    assert guess(whose).status_code == 200
    assert len(hashed) == (2 if whose == "older" else 1)  # the second does the iterations that the first has too few


def test_a_password_that_is_longer_than_any_is_refused_before_it_is_hashed(mira, hashed):
    answer = guess(password="x" * 5000)
    assert (answer.status_code, hashed) == (200, [])
    assert "User name or password is wrong." in answer.content.decode()


def test_what_is_refused_is_not_hashed(mira, hashed):
    for _ in range(5):
        guess()
    hashed.clear()
    assert (guess().status_code, hashed) == (429, [])


def test_only_a_few_passwords_are_hashed_at_once(mira, monkeypatch):
    monkeypatch.setattr(sign_in, "UNKNOWN_BROWSER_QUEUE", PasswordQueue(1))
    with ExitStack() as others:
        for _ in range(1 + sign_in.MAX_QUEUED):
            others.enter_context(sign_in.UNKNOWN_BROWSER_QUEUE.all)
        answer = guess(password=RIGHT)
    assert (answer.status_code, answer["Retry-After"]) == (503, "5")
    assert "Many people are signing in just now." in answer.content.decode()
    assert guess(password=RIGHT).status_code == 302


def test_a_flood_that_is_refused_writes_no_errors(mira, monkeypatch, caplog):
    monkeypatch.setattr(sign_in, "QUEUE_TIMEOUT", 0.01)
    with sign_in.UNKNOWN_BROWSER_QUEUE.places:
        assert guess().status_code == 503
    assert not [record for record in caplog.records if record.name == "django.request"]


def test_whoever_waits_too_long_for_a_place_is_told_so(mira, monkeypatch):
    monkeypatch.setattr(sign_in, "QUEUE_TIMEOUT", 0.01)
    with sign_in.UNKNOWN_BROWSER_QUEUE.places:
        assert guess().status_code == 503
    assert not RateBucket.objects.exists()


def test_a_flood_of_strangers_keeps_no_known_browser_out(mira, monkeypatch):
    own = Client()
    guess(password=RIGHT, client=own)
    own.post(reverse("logout"))
    monkeypatch.setattr(sign_in, "QUEUE_TIMEOUT", 0.01)
    with sign_in.UNKNOWN_BROWSER_QUEUE.places:
        assert guess(password=RIGHT).status_code == 503
        assert guess(password=RIGHT, client=own).status_code == 302


def test_one_account_takes_no_more_than_its_share_of_the_line(mira, noor, client):
    client.force_login(noor)
    new = {"new_password1": "another long one", "new_password2": "another long one"}
    with ExitStack() as others:
        for _ in range(sign_in.MAX_QUEUED_PER_ACCOUNT):
            others.enter_context(sign_in.KNOWN_BROWSER_QUEUE.share(sign_in._account("noor")))
            others.enter_context(sign_in.UNKNOWN_BROWSER_QUEUE.share(sign_in._account("noor")))
        assert client.post(reverse("password"), {"old_password": RIGHT, **new}).status_code == 429
        answer = guess("noor", password=RIGHT)
        assert (answer.status_code, answer["Retry-After"]) == (429, "5")
        assert guess(password=RIGHT).status_code == 302
    assert client.post(reverse("password"), {"old_password": RIGHT, **new}).status_code == 200
    assert not sign_in.KNOWN_BROWSER_QUEUE._of


# ---- where it comes from ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("remote", "said", "address"),
    [
        ("203.0.113.5", "192.0.2.1", "203.0.113.5"),  # nobody who may say so
        (NGINX, "192.0.2.1", "192.0.2.1"),
        (NGINX, "6.6.6.6, 192.0.2.1", "192.0.2.1"),  # the client put the first one there
        (NGINX, "192.0.2.1, 127.0.0.9", "192.0.2.1"),
        (NGINX, "nonsense", NGINX),
        (NGINX, "", NGINX),
        (f"::ffff:{NGINX}", "192.0.2.1", "192.0.2.1"),
        (NGINX, "127.0.0.2, 127.0.0.3", "127.0.0.2"),
        ("", "192.0.2.1", "unknown"),
    ],
)
def test_a_proxy_that_is_named_says_where_a_visitor_is(remote, said, address):
    request = RequestFactory().get("/", REMOTE_ADDR=remote, HTTP_X_FORWARDED_FOR=said)
    assert client_address(request) == address


def test_a_network_of_ipv6_is_one_visitor():
    found = {network_of(RequestFactory().get("/", REMOTE_ADDR=f"2001:db8::{end}")) for end in ("1", "ffff", "a:b:c:d")}
    assert found == {"2001:db8::/64"}


def test_an_address_of_ipv4_written_as_one_of_ipv6_is_the_same_visitor():
    seen = [f"::ffff:{NGINX}", "::ffff:192.0.2.1", "192.0.2.1", "::ffff:192.0.2.2"]
    found = [network_of(RequestFactory().get("/", REMOTE_ADDR=address)) for address in seen]
    assert found == [NGINX, "192.0.2.1", "192.0.2.1", "192.0.2.2"]


# ---- the log ----------------------------------------------------------------------------------------------


def test_the_log_says_who_tried_and_nothing_that_was_typed_for_no_account(mira, caplog):
    caplog.set_level(logging.INFO, "magi_site.sign_in")
    guess()
    guess("hunter2\n\x1b[2J")
    guess(password=RIGHT)
    assert [record.getMessage() for record in caplog.records] == [
        'A wrong password for "mira" came from 192.0.2.1.',
        "A wrong password for an unknown account came from 192.0.2.1.",
        'The right password for "mira" came from 192.0.2.1.',
    ]


def test_a_form_that_is_empty_holds_no_right_password(mira, client, caplog):
    caplog.set_level(logging.INFO, "magi_site.sign_in")
    client.force_login(mira)
    assert "This field is required." in client.post(reverse("password")).content.decode()
    assert [record.getMessage() for record in caplog.records] == ['A wrong password for "mira" came from 127.0.0.1.']


# ---- the count --------------------------------------------------------------------------------------------


def test_of_two_limits_both_are_counted_or_none():
    RateBucket.objects.consume({"a": RateLimit(1, 60)}, "Slowly.")
    with pytest.raises(RateLimitReached, match=r"Slowly. Try again in 60 seconds."):
        RateBucket.objects.consume({"a": RateLimit(1, 60), "b": RateLimit(1, 60)}, "Slowly.")
    RateBucket.objects.consume({"b": RateLimit(1, 60)}, "Slowly.")


def test_what_says_nothing_any_more_is_forgotten(monkeypatch):
    RateBucket.objects.consume({"a": RateLimit(2, 60)}, "")
    assert (rate_limits.delete_expired(), RateBucket.objects.count()) == (False, 1)
    later(monkeypatch, timedelta(seconds=61).total_seconds())
    assert (rate_limits.delete_expired(), RateBucket.objects.count()) == (False, 0)


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_of_many_at_once_no_more_get_through_than_may():
    take = partial(RateBucket.objects.consume, {"a": RateLimit(3, 600), "b": RateLimit(5, 600)}, "")
    outcomes = at_once(*[take] * 12, refused=RateLimitReached)
    assert outcomes.count(None) == 3
