"""UTF-8 alone is read, whatever a request says that it is written in."""

import pytest
from channels.testing import HttpCommunicator
from django.test import Client
from django.urls import reverse

from engine.models import Run
from magi_site.asgi import application
from tests.judgements.test_history import judged

pytestmark = pytest.mark.django_db

HALF = "+2AA-"  # half a surrogate pair, in UTF-7
BOUNDARY = "x"
TYPES = ("text/plain", f"multipart/form-data; boundary={BOUNDARY}", "application/x-www-form-urlencoded")


@pytest.fixture
def page(reviewer):
    client = Client(raise_request_exception=False)
    client.force_login(reviewer)
    return client


def asking(charset):
    return {"headers": {"Content-Type": f"text/plain; charset={charset}"}}


@pytest.mark.parametrize(
    ("name", "asked"),
    [
        ("runs-history", "q"),
        ("library", "q"),
        ("review", "cause"),
        ("review-figures", "shown"),
        ("runs-history-changes", "q"),
        ("login", "next"),
    ],
)
def test_an_address_in_another_encoding_is_refused(page, mira, name, asked):
    judged(mira, "Travel")
    answer = page.get(reverse(name), {asked: HALF}, **asking("utf-7"))
    assert answer.status_code == 400
    assert "<h1>Not understood</h1>" in answer.content.decode()


@pytest.mark.parametrize("sort", TYPES)
def test_a_form_in_another_encoding_is_refused(page, sort):
    body = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="content"\r\n\r\n{HALF}\r\n--{BOUNDARY}--\r\n'
    answer = page.generic("POST", reverse("new"), body, content_type=f"{sort}; charset=utf-7")
    assert (answer.status_code, Run.objects.count()) == (400, 0)


def test_the_api_says_what_to_send(page):
    answer = page.get("/api/v1/runs", {"q": HALF}, **asking("utf-7"))
    assert answer.status_code == 415
    assert answer.json()["detail"] == "Send it as UTF-8: 'utf-7' is not read."


@pytest.mark.parametrize("charset", ["utf-16", "latin-1", "us-ascii", "klingon", '"a b"', "é", "utf-8-sig"])
def test_every_other_encoding_is_refused_known_or_not(page, charset):
    assert page.get(reverse("library"), **asking(charset)).status_code == 400


@pytest.mark.parametrize("charset", ["utf-8", "UTF8", '"utf-8"', "U8"])
def test_utf_8_is_read_under_all_of_its_names(page, charset):
    assert page.get(reverse("library"), {"q": "é"}, **asking(charset)).status_code == 200


@pytest.mark.parametrize("named", ["charset*=utf-8''a%00b", "charset=utf-7"])
async def test_what_the_server_itself_is_sent_is_refused_alike(named):
    headers = [(b"host", b"127.0.0.1"), (b"content-type", f"text/plain; {named}".encode())]
    answer = await HttpCommunicator(application, "GET", "/accounts/login/", headers=headers).get_response()
    assert answer["status"] == 400
