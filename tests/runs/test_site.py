"""Links that no request is behind carry the address that the site has."""

from io import StringIO

import pytest
from django.core.management import call_command

from engine.models import Gate
from engine.policy import parse_policy
from magi_site.environment import Environment
from runs import site_url
from tests.acceptance.site import ServedSite, manage
from tests.missions.scenes import mission


@pytest.fixture(autouse=True)
def folder(settings, tmp_path):
    settings.SERVED_AT = tmp_path / "address"
    return settings.SERVED_AT


def test_of_several_hosts_the_first_that_others_reach_is_the_sites(monkeypatch):
    for hosts, found in (("localhost, magi.example, b.example", "https://magi.example"), ("localhost", "")):
        monkeypatch.setenv("ALLOWED_HOSTS", hosts)
        assert Environment().address == found


def test_what_the_operator_says_comes_first(monkeypatch):
    monkeypatch.setenv("ALLOWED_HOSTS", "magi.example")
    monkeypatch.setenv("MAGI_ADDRESS", "https://magi.example:8443")
    assert Environment().address == "https://magi.example:8443"


@pytest.mark.django_db
def test_where_it_was_served_last_stands_in_what_commands_print(mira):
    site_url.note_served_at("http://127.0.0.1:8123")
    Gate.objects.open(None, run=mission(mira).run, step="a", kind="tool", policy=parse_policy({}))
    said = StringIO()
    call_command("gates", json=True, stdout=said)
    assert '"url": "http://127.0.0.1:8123/gates/' in said.getvalue()


def test_what_is_no_address_in_that_file_is_not_taken_for_one(folder):
    wrong = ["", "javascript:alert(1)", "http://", "https://[", "http://a/b", "\0"]
    for text in wrong:
        folder.write_text(text)
        assert (text, site_url.address()) == (text, "http://127.0.0.1:8000")


def test_a_folder_that_cannot_be_written_stops_no_site(settings, folder):
    settings.SERVED_AT = folder / "nowhere" / "address"
    site_url.note_served_at("http://127.0.0.1:8123")
    assert site_url.address() == "http://127.0.0.1:8000"


def test_serve_keeps_where_it_is(tmp_path):
    with ServedSite(tmp_path) as served:
        assert (tmp_path / "address").read_text() == served.url
        done = manage("shell", "-c", "from runs.site_url import address; print(address())", env=served.env)
        assert done.stdout.splitlines()[-1] == served.url
