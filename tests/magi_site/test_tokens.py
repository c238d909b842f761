"""Tokens: who is let into the API by what, and that nobody else is."""

import re
from datetime import timedelta
from hashlib import sha256
from pathlib import Path

import pytest
from django.apps import apps
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.models.signals import post_migrate
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from judgements.models import Judgement
from magi_site import token_triggers
from magi_site.api import api
from magi_site.models import Token
from runs.api.scopes import TokenScope
from tests.conftest import JAPAN, agents
from tests.magi_site.bearers import COUNCILS, get, post

pytestmark = pytest.mark.django_db


API_PAGE = Path(__file__).resolve().parents[2] / "docs" / "api.md"


def test_a_token_lets_its_owner_in(token):
    assert get(token.secret).status_code == 200
    assert get(token.secret, scheme="bearer").status_code == 200


def test_a_token_has_256_random_bits_and_only_its_hash_is_kept(mira):
    made = [Token.objects.make(mira).secret for _ in range(3)]
    assert len(set(made)) == 3
    assert all(secret.startswith("magi_") and len(secret) == len("magi_") + 43 for secret in made)
    kept = str(list(Token.objects.values()))
    assert not any(secret[5:] in kept for secret in made)
    assert all(sha256(secret.encode()).hexdigest() in kept for secret in made)


@pytest.mark.parametrize("secret", ["", " ", "None", "null", "magi_", "x" * 5000, "é\x80", "%00", "' OR 1=1 --"])
def test_what_is_no_token_lets_nobody_in(token, secret):
    answer = get(secret)
    assert (answer.status_code, answer.headers["WWW-Authenticate"]) == (401, 'Bearer realm="magi"')
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert answer.json()["title"] == "Unauthorized"


def test_whatever_ends_a_token_ends_it_at_once_and_says_the_same(token, mira):
    answers = [get("magi_unknown").content]
    Token.objects.filter(pk=token.pk).revoke()
    answers.append(get(token.secret).content)
    Token.objects.update(revoked=None, expires=timezone.now() - timedelta(seconds=1))
    answers.append(get(token.secret).content)
    Token.objects.update(expires=None)
    mira.is_active = False
    mira.save()
    answers.append(get(token.secret).content)
    assert len(set(answers)) == 1
    assert b"401" in answers[0]


def test_a_token_with_days_to_live_holds_until_then(mira):
    token = Token.objects.make(mira, days=2)
    assert get(token.secret).status_code == 200
    assert timedelta(days=1, hours=23) < token.expires - timezone.now() <= timedelta(days=2)


@pytest.mark.parametrize(
    "how",
    [
        {"query_params": {"token": "SECRET", "access_token": "SECRET"}},
        {"headers": {"X-API-Key": "SECRET"}},
        {"headers": {"Authorization": "SECRET"}},
        {"headers": {"Authorization": "Basic SECRET"}},
        {"headers": {"Authorization": "Token SECRET"}},
        {"headers": {"Cookie": "Authorization=Bearer SECRET; token=SECRET"}},
    ],
)
def test_a_token_counts_only_as_a_bearer(token, how):
    put = {kind: {k: v.replace("SECRET", token.secret) for k, v in values.items()} for kind, values in how.items()}
    assert Client().get(COUNCILS, **put).status_code == 401


def test_a_session_does_not_let_into_the_api(client, mira, token):
    client.force_login(mira)
    assert client.get(COUNCILS).status_code == 401
    assert client.post("/api/v1/judgements", {}, content_type="application/json").status_code == 401


def test_the_session_of_somebody_else_changes_nothing(client, noor, token, judgement):
    client.force_login(noor)
    mine = client.get(f"/api/v1/judgements/{judgement.pk}", headers={"Authorization": f"Bearer {token.secret}"})
    assert mine.status_code == 200


def test_no_cookie_is_set_and_no_form_token_is_asked_for(token):
    client = Client(enforce_csrf_checks=True)
    answer = client.post(
        "/api/v1/judgements", "{}", content_type="application/json", headers={"Authorization": f"Bearer {token.secret}"}
    )
    assert (answer.status_code, dict(answer.cookies)) == (422, {})


def test_the_last_use_is_written_once_a_minute(token, django_assert_num_queries):
    get(token.secret)
    first = Token.objects.get().last_used
    assert first is not None
    get(token.secret)
    assert Token.objects.get().last_used == first
    Token.objects.update(last_used=first - timedelta(seconds=61))
    get(token.secret)
    assert Token.objects.get().last_used >= first


def test_letting_in_takes_one_query_whoever_comes(token, django_assert_num_queries):
    get(token.secret)
    for secret in ("magi_unknown", ""):
        with django_assert_num_queries(1):
            Token.objects.of(secret)
    with django_assert_num_queries(1):
        assert Token.objects.of(token.secret).owner.username == "mira"


# ---- how long, and for what ---------------------------------------------------------------------------------


ASKED = {"content": JAPAN, "agents": agents()}


def test_a_token_expires_unless_somebody_says_otherwise(mira):
    assert timedelta(days=89) < Token.objects.make(mira).expires - timezone.now() <= timedelta(days=90)
    assert Token.objects.make(mira, days=0).expires is None


@pytest.mark.parametrize("scopes", [(), ("steer",), ("submit:debate",)])
def test_without_its_scope_a_token_submits_nothing_and_is_told_what_it_lacks(mira, scopes):
    answer = post(Token.objects.make(mira, scopes=scopes).secret, "/judgements", ASKED)
    assert (answer.status_code, answer.headers["Content-Type"]) == (403, "application/problem+json")
    assert "“submit”" in answer.json()["detail"]
    assert 'error="insufficient_scope", scope="submit"' in answer.headers["WWW-Authenticate"]
    assert not Judgement.objects.exists()


@pytest.mark.parametrize("scopes", [("submit",), ("submit:judgement",), ("steer", "submit")])
def test_a_scope_lets_submit_alone_or_for_one_kind(mira, scopes):
    assert post(Token.objects.make(mira, scopes=scopes).secret, "/judgements", ASKED).status_code == 202


@pytest.mark.parametrize(("path", "scope"), [("cancel", "steer"), ("retry", "steer"), ("receipt", "submit")])
def test_what_changes_a_judgement_needs_its_scope(mira, judgement, path, scope):
    other = {"steer": "submit", "submit": "steer"}[scope]
    address = f"/judgements/{judgement.pk}/{path}"
    assert post(Token.objects.make(mira, scopes=[other]).secret, address).status_code == 403
    assert post(Token.objects.make(mira, scopes=[scope]).secret, address).status_code in (202, 409)


def test_to_use_a_receipt_up_needs_the_scope_submit(mira):
    sent = {"receipt": {}}
    answer = post(Token.objects.make(mira, scopes=["steer"]).secret, "/receipts/consume", sent | {"council": None})
    answers = [answer, post(Token.objects.make(mira, scopes=["steer"]).secret, "/receipts/consume", sent)]
    assert 403 in [answer.status_code for answer in answers]


def test_reading_needs_no_scope(mira, judgement):
    client = Client(headers={"Authorization": f"Bearer {Token.objects.make(mira, scopes=()).secret}"})
    for path in ("/councils", "/judgements", f"/judgements/{judgement.pk}", f"/judgements/{judgement.pk}/record"):
        assert client.get(f"/api/v1{path}").status_code == 200


def test_whatever_changes_something_or_shows_secret_addresses_says_which_scope_it_needs():
    for path, operations in api.get_openapi_schema()["paths"].items():
        for method, operation in operations.items():
            assert ("x-scope" in operation) == (method != "get" or path == "/api/v1/webhooks"), path
            if scope := operation.get("x-scope"):
                assert operation["security"] == [{"BearerAuth": [scope]}]
                assert 403 in operation["responses"]


def test_the_command_makes_tokens_for_what_it_is_told(mira, capsys):
    call_command("create_token", "mira", scopes="steer:judgement, submit,steer:judgement", expires=0)
    token = Token.objects.get()
    assert (token.scopes, token.expires) == ("steer:judgement,submit", None)


def test_only_scopes_that_a_call_needs_are_offered_and_all_are_documented(page):
    paths = api.get_openapi_schema()["paths"].values()
    needed = {operation.get("x-scope") for operations in paths for operation in operations.values()} - {None}
    offered = re.findall(r'name="scopes" value="(\w+)"', page.get(reverse("tokens")).content.decode())
    documented = re.findall(r"^\| `(\w+)` \|", API_PAGE.read_text(), re.MULTILINE)
    assert set(offered) == needed == set(TokenScope.values)
    assert documented == TokenScope.values


def test_a_token_that_nobody_gave_a_scope_only_reads(mira):
    assert not Token(owner=mira).may("submit", "judgement")


# ---- a disabled account -------------------------------------------------------------------------------------


def in_sql(pk, active):
    with connection.cursor() as cursor:
        cursor.execute("UPDATE auth_user SET is_active = %s WHERE id = %s", [active, pk])


def by_saving(pk, active):
    user = User.objects.get(pk=pk)
    user.is_active = active
    user.save()


def test_the_trigger_that_ends_them_is_put_up_again_after_migrations(token, mira):
    token_triggers.remove_trigger(connection)
    app = apps.get_app_config("magi_site")
    post_migrate.send(sender=app, app_config=app, verbosity=0, interactive=False, using="default")
    type(mira).objects.filter(pk=mira.pk).update(is_active=False)
    assert Token.objects.get(pk=token.pk).revoked


@pytest.mark.parametrize("switch", [in_sql, by_saving], ids=["in-sql", "by-saving"])
def test_no_token_comes_back_with_its_account_although_no_call_saw_it_disabled(token, mira, noor, switch):
    others = Token.objects.make(noor)
    switch(mira.pk, False)
    switch(mira.pk, True)
    assert get(token.secret).status_code == 401
    assert Token.objects.get(pk=token.pk).state == "revoked"
    assert get(others.secret).status_code == 200
    assert get(Token.objects.make(User.objects.get(pk=mira.pk)).secret).status_code == 200


def test_what_changes_else_in_an_account_ends_no_token(token, mira):
    mira.first_name = "Mira"
    mira.save()
    assert get(token.secret).status_code == 200


# ---- made by an operator ------------------------------------------------------------------------------------


def test_the_command_prints_a_token_that_holds(mira, capsys):
    call_command("create_token", "mira", name="ci", expires=30)
    secret = capsys.readouterr().out.strip()
    assert get(secret).status_code == 200
    assert Token.objects.get().name == "ci"


@pytest.mark.parametrize(
    ("user", "options"),
    [
        ("nobody", {}),
        ("mira", {"expires": -1}),
        ("mira", {"expires": 99999}),
        ("mira", {"name": "x" * 61}),
        ("mira", {"scopes": "all"}),
        ("mira", {"scopes": "approve"}),
        ("mira", {"scopes": "submit:journey"}),
        ("mira", {"scopes": "Submit"}),
    ],
)
def test_the_command_refuses_what_cannot_be(mira, user, options):
    with pytest.raises(CommandError):
        call_command("create_token", user, **options)
    assert not Token.objects.exists()


def test_the_command_makes_none_for_a_disabled_user(mira):
    type(mira).objects.update(is_active=False)
    with pytest.raises(CommandError, match="no active user"):
        call_command("create_token", "mira")
