import re
from datetime import UTC, datetime

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver, reverse

from judgements.models import Judgement
from magi_site.first_login import first_administrator_link
from tests.conftest import JAPAN, agents, submitted_at

pytestmark = pytest.mark.django_db

# the last two have a secret of their own: who has none is told that there is no such page
OPEN = {"login", "logout", "enter", "alive", "ready", "favicon", "admin:login", "check-page", "check-program"}
OPEN |= {"badge", "counted-icon", "shared", "metrics"}
UNKNOWN = "6f9619ff-8b86-4011-b42d-00c04fc964ff"
ARGUMENTS = {"pk": UNKNOWN, "id": UNKNOWN, "object_id": "1", "app_label": "auth", "url": "x"}


def routes(resolver=None, prefix="", namespace=""):
    for pattern in (resolver or get_resolver()).url_patterns:
        route = prefix + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            inner = f"{pattern.namespace}:" if pattern.namespace else namespace
            yield from routes(pattern, route, inner)
        elif isinstance(pattern, URLPattern):
            yield f"{namespace}{pattern.name}", route


def path_of(route):
    filled = re.sub(r"<int:\w+>", "1", route)
    filled = re.sub(r"<(?:\w+:)?(\w+)>", lambda m: ARGUMENTS.get(m[1], "1"), filled)
    return "/" + re.sub(r"\(\?P<\w+>[^)]*\)|[\^$]|\\Z", lambda m: "auth" if m[0].startswith("(") else "", filled)


# the API knows no form to send anybody to
APIS = ("api:", "automation:", "model:", "mcp")
OF_THE_API = [(name, path_of(route)) for name, route in routes() if name.startswith(APIS)]
OPEN_EVERYWHERE = {"openapi-json": 200, "openapi-view": 200, "api-root": 404}
OPEN_IN_THE_API = {f"{api}{name}": status for api in APIS for name, status in OPEN_EVERYWHERE.items()} | {
    "api:key": 200
}
CLOSED = [(name, path_of(route)) for name, route in routes() if name not in OPEN and not name.startswith(APIS)]


def test_a_stranger_is_sent_to_sign_in_from_every_page(client):
    """Whatever a new route declares in `tests/routes.py`: who may come without signing in stands in OPEN above."""
    answers = {name: client.get(path) for name, path in CLOSED}
    assert [name for name, one in answers.items() if "/login/" not in one.headers.get("Location", "")] == []


def test_a_stranger_is_let_into_no_call_of_the_api(client):
    wrong = {}
    for name, path in OF_THE_API:
        answers = {client.generic(method, path).status_code for method in ("GET", "POST", "PATCH", "DELETE")}
        expected = OPEN_IN_THE_API.get(name, 401)
        if answers not in ({expected}, {expected, 405}):
            wrong[name] = answers
    assert wrong == {}


def test_the_link_for_the_first_administrator_signs_in_once(client):
    path = first_administrator_link()
    client.get(path)
    assert client.session["_auth_user_id"] == str(User.objects.get(is_superuser=True).pk)
    client.logout()
    assert client.get(path).status_code == 404


def test_whoever_enters_first_is_offered_a_password_and_may_skip_it(client):
    html = client.get(first_administrator_link(), follow=True).content.decode()
    assert "Set a password" in html
    assert f'href="{reverse("new")}">Skip for now</a>' in html


def test_a_link_that_was_used_says_so_and_what_to_do(client):
    path = first_administrator_link()
    client.get(path)
    assert "You are signed in already." in client.get(path).content.decode()
    client.logout()
    html = client.get(path).content.decode()
    assert "This link works no more" in html
    assert "it prints another link" in " ".join(html.split())
    assert f'href="{reverse("login")}">Sign in</a>' in html


def test_a_link_of_nobody_is_met_like_one_that_was_used(client, reviewer):
    met = [client.get(reverse("enter", args=[pk, "x-y"])) for pk in (reviewer.pk, reviewer.pk + 1_000)]
    assert [one.status_code for one in met] == [404, 404]
    assert met[0].content == met[1].content


def test_no_link_is_made_once_an_administrator_has_a_password(reviewer):
    assert first_administrator_link() is None


def test_an_administrator_without_password_can_set_one(client):
    client.get(first_administrator_link())
    new = "correct horse battery"
    client.post(reverse("password"), {"new_password1": new, "new_password2": new})
    assert User.objects.get().check_password(new)
    assert client.get(reverse("password")).status_code == 200


def test_changing_a_password_asks_for_the_old_one(client, mira):
    client.force_login(mira)
    client.post(reverse("password"), {"new_password1": "another long one", "new_password2": "another long one"})
    mira.refresh_from_db()
    assert mira.check_password("a long enough secret")


def test_every_page_says_what_it_may_load(client):
    headers = client.get(reverse("login")).headers
    assert "default-src 'none'" in headers["Content-Security-Policy"]
    assert "unsafe" not in headers["Content-Security-Policy"]
    assert headers["X-Frame-Options"] == "DENY"
    assert "no-store" in headers["Cache-Control"]


def test_a_foreign_host_name_is_refused(client):
    assert client.get("/healthz", headers={"host": "evil.example"}).status_code == 400


def test_health_is_told_to_everybody(client):
    assert client.get("/healthz").content == b"alive\n"
    assert client.get("/readyz").content == b"ready\n"


def test_a_queue_that_nobody_takes_from_is_not_ready(client, mira):
    with submitted_at(datetime(2020, 1, 1, tzinfo=UTC)):
        Judgement.objects.submit(owner=mira, content=JAPAN, agents=agents())
    answer = client.get("/readyz")
    assert (answer.status_code, answer.content) == (503, b"no engine takes what is queued\n")


def test_a_form_without_its_token_leads_to_our_own_page_that_says_what_to_do(mira):
    client = Client(enforce_csrf_checks=True)
    client.force_login(mira)
    answer = client.post(reverse("new"))
    assert answer.status_code == 403
    assert "load its page again and try once more" in answer.content.decode()


def test_pages_that_name_no_icon_get_ours(client):
    assert client.get("/favicon.ico")["Location"] == "/static/img/magi.svg"
