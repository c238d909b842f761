"""What docs/operations.md promises: the site behind deploy/nginx.conf, and a backup that is made while it works."""

import json
import re
import sqlite3
from contextlib import closing, contextmanager
from http.client import HTTPConnection, RemoteDisconnected
from urllib.parse import urlencode, urlsplit

import pytest

from tests.acceptance.proxy import HOST, PATIENCE, Proxy
from tests.acceptance.site import ServedSite, free_port, manage
from tests.conftest import JAPAN, agents
from tests.waiting import wait_until

SIGN_IN = "/accounts/login/"
POSTED = {"Content_Type": "application/x-www-form-urlencoded", "Origin": f"https://{HOST}"}


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    with ServedSite(tmp_path_factory.mktemp("site"), ALLOWED_HOSTS=HOST) as site:
        yield site


@pytest.fixture(scope="module")
def proxy(nginx, site, tmp_path_factory):
    with Proxy(nginx, tmp_path_factory.mktemp("nginx"), site.port) as proxy:
        yield proxy


def cookies(answer):
    return "; ".join(line.split(";")[0] for line in answer.headers.get_all("Set-Cookie"))


def test_pages_come_over_https_and_no_client_can_say_otherwise(proxy):
    page = proxy.ask("GET", SIGN_IN, X_Forwarded_Proto="http")
    assert page.status == 200
    assert page.headers["Strict-Transport-Security"]
    assert "__Host-csrftoken=" in cookies(page)
    parts = re.findall(r'(?:href|src)="(/static/[^"]+)"', page.read().decode())
    assert {urlsplit(path).path.rsplit(".")[-1] for path in parts} >= {"css", "js"}
    assert {proxy.ask("GET", path).status for path in parts} == {200}
    plain = proxy.ask("GET", SIGN_IN, scheme="http", X_Forwarded_Proto="https")
    assert (plain.status, plain.headers["Location"]) == (301, f"https://{HOST}{SIGN_IN}")
    # the site believes this header, and nginx's limits would not know the path
    assert proxy.ask("GET", f"/x{SIGN_IN}", Daphne_Root_Path="/x").status == 404


def test_no_link_that_holds_is_found_in_a_log_of_the_proxy(nginx, tmp_path):
    paths = ["/accounts/enter/1/5ecret/", "/shared/5ecret/", "/badge/5ecret.svg", "//x/..//shared/5ecret/"]
    with Proxy(nginx, tmp_path, free_port()) as alone:
        assert {alone.ask("GET", path).status for path in [*paths, "/else/"]} == {502}
        assert {alone.ask("GET", path, scheme="http").status for path in [*paths, "/else/"]} == {301}
        with pytest.raises(RemoteDisconnected):
            alone.ask("GET", paths[1], scheme="http", Host="other.example")
    logs = [(tmp_path / name).read_text() for name in ("access.log", "error.log")]
    assert [log.count("5ecret") for log in logs] == [0, 0]
    assert [log.count("GET /else/") for log in logs] == [2, 1]


def test_a_judgement_is_asked_for_and_watched_through_the_proxy(proxy, site):
    session = cookies(proxy.ask("GET", urlsplit(site.link).path))
    page = proxy.ask("GET", "/", Cookie=session)
    token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', page.read().decode())[1]
    form = {"csrfmiddlewaretoken": token, "content": JAPAN}
    for number, agent in enumerate(agents(), start=1):
        form |= {f"a{number}-{key}": value for key, value in agent.items()}
    posted = proxy.ask("POST", "/", urlencode(form), Cookie=f"{session}; {cookies(page)}", **POSTED)
    assert posted.status == 302
    plate = re.compile('id="plate"[^>]* data-state="(approve|reject)"')
    assert any(plate.search(message) for message in proxy.watch(f"/ws{posted.headers['Location']}", session))


def test_a_program_judges_through_the_proxy_and_follows_at_once(proxy, site):
    secret = manage("create_token", "admin", env=site.env).stdout.strip()
    headers = {"Authorization": f"Bearer {secret}", "Content_Type": "application/json"}
    council = json.dumps({"content": JAPAN, "council": "Magi"})
    made = proxy.ask("POST", "/api/v1/judgements", council, **headers)
    assert made.status == 202
    assert made.headers["Location"].startswith(f"https://{HOST}/api/v1/judgements/")
    stream = proxy.ask("GET", f"{urlsplit(made.headers['Location']).path}/events", **headers)
    assert stream.readline() == b"event: judgement\n"
    assert b'"status": "approved"' in (rest := stream.read()) or b'"status": "rejected"' in rest


@pytest.mark.parametrize(("name", "status"), [("admin", 200), ("somebody", 403)])
def test_whom_a_header_with_underscores_names_is_known_behind_the_proxy(proxy, site, name, status):
    secret = manage("create_token", "admin", env=site.env).stdout.strip()
    asking = HTTPConnection(HOST)
    asking.sock = proxy.connect("https")
    headers = {"Authorization": f"Bearer {secret}", "user_principal_id": name}
    asking.request("GET", "/api/automation/plans", headers=headers)
    assert asking.getresponse().status == status


def test_what_is_too_large_or_too_often_is_refused_before_the_site(proxy):
    # the body is only announced: nginx answers without it
    assert proxy.ask("POST", SIGN_IN, Content_Length="1100000").status == 413
    assert proxy.ask("POST", "/", "x" * 200_000).status == 403
    assert proxy.ask("POST", "/api/v1/missions", Content_Length="202000000").status == 413
    file = f'--x\r\nContent-Disposition: form-data; name="files"; filename="a"\r\n\r\n{"x" * 2_000_000}\r\n--x--\r\n'
    repository = {"Content_Type": "multipart/form-data; boundary=x"}
    assert proxy.ask("POST", "/api/v1/missions", file, **repository).status == 401
    # forty would need three minutes to get through: however slow this machine is, the limit comes first
    tries = (proxy.ask("POST", SIGN_IN, "", **POSTED).status for _ in range(40))
    assert next(tries) == 403
    assert 429 in tries
    assert proxy.ask("GET", SIGN_IN).status == 200


def test_a_backup_made_while_the_site_works_goes_on_elsewhere(tmp_path):
    old, new = tmp_path / "old", tmp_path / "new"
    old.mkdir()
    new.mkdir()
    with ServedSite(old, "--no-engine", MAGI_DEFAULT_MODEL="rehearsal/instant") as site:
        manage("judge", JAPAN, "--no-wait", env=site.env)
        with database(old) as writer, database(old) as reader:
            writer.execute("BEGIN IMMEDIATE")
            writer.execute("DELETE FROM judgements_council")
            reader.execute("VACUUM INTO ?", [str(new / "magi.sqlite3")])
            writer.execute("ROLLBACK")
    with ServedSite(new, MAGI_DEFAULT_MODEL="rehearsal/instant"), database(new) as restored:
        assert restored.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert restored.execute("SELECT count(*) FROM judgements_council").fetchone() > (0,)
        status = "SELECT status FROM engine_run"
        wait_until(lambda: restored.execute(status).fetchone() == ("finished",), "what waited is finished")


@contextmanager
def database(folder):
    with closing(sqlite3.connect(folder / "magi.sqlite3", timeout=PATIENCE, isolation_level=None)) as connection:
        yield connection
