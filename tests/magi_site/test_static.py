import gzip

import pytest
from django.templatetags.static import static
from django.utils.module_loading import import_string

from magi_site.settings import MIDDLEWARE, ROOT

CSS = (ROOT / "static" / "css" / "live.css").read_bytes()
GZIP = {"Accept-Encoding": "gzip, br"}


def test_styles_and_scripts_go_out_packed(client):
    answer = client.get("/static/css/live.css", headers=GZIP)
    assert (answer["Content-Encoding"], answer["Vary"]) == ("gzip", "Accept-Encoding")
    assert answer["Content-Length"] == str(len(answer.content))
    assert len(answer.content) < len(CSS) / 3
    assert gzip.decompress(answer.content) == CSS


def test_who_cannot_unpack_gets_them_as_they_are(client):
    answer = client.get("/static/css/live.css")
    assert "Content-Encoding" not in answer
    assert answer["Vary"] == "Accept-Encoding"
    assert answer.getvalue() == CSS


def test_what_has_not_changed_is_not_sent_again(client):
    first = client.get("/static/css/live.css", headers=GZIP)
    again = client.get("/static/css/live.css", headers={**GZIP, "If-None-Match": first["ETag"]})
    assert (again.status_code, again.getvalue()) == (304, b"")


def test_what_is_named_by_its_content_is_never_asked_for_again(client):
    address = static("css/live.css")
    assert address.startswith("/static/css/live.css?v=")
    assert "immutable" in client.get(address, headers=GZIP)["Cache-Control"]
    assert client.get("/static/css/live.css?v=other")["Cache-Control"] == "max-age=60, public"


def test_a_part_of_a_file_is_a_part_of_the_whole_one(client):
    answer = client.get("/static/css/live.css", headers={**GZIP, "Range": "bytes=0-9"})
    assert (answer.status_code, answer.getvalue()) == (206, CSS[:10])


@pytest.mark.django_db
@pytest.mark.parametrize("path", ["/accounts/login/", "/static/fonts/ibm-plex-sans-latin-400-normal.woff2"])
def test_pages_and_what_is_packed_already_are_left_alone(client, path):
    assert "Content-Encoding" not in client.get(path, headers=GZIP)


@pytest.mark.parametrize("name", MIDDLEWARE)
def test_no_middleware_holds_a_thread_while_a_call_waits(name):
    assert import_string(name).async_capable
