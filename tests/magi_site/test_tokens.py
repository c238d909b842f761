"""Tokens: who is let into the API by what, and that nobody else is."""

from datetime import timedelta
from hashlib import sha256

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone

from magi_site.models import Token

pytestmark = pytest.mark.django_db
COUNCILS = "/api/v1/councils"


def get(secret, client=None, scheme="Bearer"):
    return (client or Client()).get(COUNCILS, headers={"Authorization": f"{scheme} {secret}"})


@pytest.fixture
def token(mira):
    return Token.objects.make(mira, "ci")


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


# ---- made by an operator ------------------------------------------------------------------------------------


def test_the_command_prints_a_token_that_holds(mira, capsys):
    call_command("create_token", "mira", name="ci", expires=30)
    secret = capsys.readouterr().out.strip()
    assert get(secret).status_code == 200
    assert Token.objects.get().name == "ci"


@pytest.mark.parametrize(
    ("user", "options"),
    [("nobody", {}), ("mira", {"expires": 0}), ("mira", {"expires": 99999}), ("mira", {"name": "x" * 61})],
)
def test_the_command_refuses_what_cannot_be(mira, user, options):
    with pytest.raises(CommandError):
        call_command("create_token", user, **options)
    assert not Token.objects.exists()


def test_the_command_makes_none_for_a_disabled_user(mira):
    type(mira).objects.update(is_active=False)
    with pytest.raises(CommandError, match="no active user"):
        call_command("create_token", "mira")


# ---- in the admin -------------------------------------------------------------------------------------------


@pytest.fixture
def admin(client, reviewer):
    client.force_login(reviewer)
    return client


def test_the_admin_shows_a_new_token_once(admin, reviewer):
    answer = admin.post("/admin/magi_site/token/add/", {"name": "mine", "days": "7"})
    secret = answer.context["secret"]
    assert answer.content.decode().count(secret) == 1
    assert get(secret).status_code == 200
    assert Token.objects.get().owner == reviewer
    assert "no-store" in answer.headers["Cache-Control"]
    for path in ("", f"{Token.objects.get().pk}/change/", f"{Token.objects.get().pk}/history/"):
        assert secret[5:] not in admin.get(f"/admin/magi_site/token/{path}").content.decode()


def test_the_admin_makes_tokens_for_nobody_else(admin, mira, reviewer):
    admin.post("/admin/magi_site/token/add/", {"name": "x", "owner": mira.pk})
    assert [token.owner for token in Token.objects.all()] == [reviewer]


def test_the_admin_revokes_tokens(admin, token):
    answer = admin.post("/admin/magi_site/token/", {"action": "revoke", "_selected_action": [token.pk]}, follow=True)
    assert "1 token revoked." in answer.content.decode()
    assert get(token.secret, Client()).status_code == 401


def test_the_admin_lists_tokens_without_a_query_for_each(admin, mira, django_assert_max_num_queries):
    for number in range(20):
        Token.objects.make(mira, f"token {number}")
    with django_assert_max_num_queries(12):
        assert "token 19" in admin.get("/admin/magi_site/token/").content.decode()
