"""Who may open the live page's socket, asked over a real connection."""

import http.client

import pytest

from tests.acceptance.site import ServedSite, judge
from tests.conftest import JAPAN


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    with ServedSite(tmp_path_factory.mktemp("site"), MAGI_DEFAULT_MODEL="rehearsal/instant") as site:
        site.judgement = judge(JAPAN, env=site.env)[1]["id"]
        yield site


def upgrade(site, path, origin, session=""):
    """The status that the server answers a websocket handshake with."""
    connection = http.client.HTTPConnection("127.0.0.1", site.port, timeout=60)
    headers = {
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "MDEyMzQ1Njc4OWFiY2RlZg==",
    }
    headers |= {"Origin": origin} if origin else {}
    headers |= {"Cookie": f"sessionid={session}"} if session else {}
    connection.request("GET", path, headers=headers)
    status = connection.getresponse().status
    connection.close()
    return status


def test_the_owner_of_a_session_may_watch_from_the_site_itself(site):
    path = f"/ws/judgements/{site.judgement}/"
    assert upgrade(site, path, site.url, site.visitor_session) == 101


def test_no_other_site_may_open_the_socket(site):
    near = ("http://127.0.0.1.evil.example", "http://127.0.0.1:9999", "https://127.0.0.1")
    origins, path = ("", "null", "http://evil.example", *near), f"/ws/judgements/{site.judgement}/"
    assert {origin: upgrade(site, path, origin, site.visitor_session) for origin in origins} == dict.fromkeys(
        origins, 403
    )


def test_without_a_session_nothing_is_shown(site):
    assert upgrade(site, f"/ws/judgements/{site.judgement}/", site.url) == 403


def test_what_does_not_exist_has_no_socket(site):
    for path in ("/ws/judgements/6f9619ff-8b86-4011-b42d-00c04fc964ff/", "/ws/judgements/x/", "/ws/", "/"):
        assert upgrade(site, path, site.url, site.visitor_session) == 403, path
