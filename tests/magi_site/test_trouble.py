"""A database that is full, read-only, damaged or held by somebody: a sentence, and what can be read is read."""

import re
import sqlite3

import pytest
from django.contrib.sessions.backends.db import SessionStore
from django.db import Error as DBError
from django.db import OperationalError, connection
from django.test import AsyncClient
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from engine import database_errors, doctor
from judgements.models import Judgement
from magi_site import models as site_models
from magi_site.error_pages import LABELS, error_page
from magi_site.models import Token, TokenUseMarks
from tests.conftest import agents, only_on
from tests.test_architecture import TEMPLATES

pytestmark = pytest.mark.django_db(transaction=True)


class TooLong(sqlite3.OperationalError):
    sqlite_errorname = "SQLITE_BUSY"


CRITERIA = "Criteria that are kept, whatever the database says."


def set_read_only(on):
    sqlite = f"PRAGMA query_only = {int(on)}"
    postgresql = f"SET default_transaction_read_only = {'on' if on else 'off'}"
    with connection.cursor() as cursor:
        cursor.execute(sqlite if connection.vendor == "sqlite" else postgresql)


@pytest.fixture
def read_only(client, mira, monkeypatch):
    monkeypatch.setattr(database_errors, "database_watch", database_errors.DatabaseWatch())
    monkeypatch.setattr(site_models, "token_use_marks", TokenUseMarks())
    client.force_login(mira)
    client.raise_request_exception = False
    set_read_only(True)
    yield
    set_read_only(False)


@pytest.fixture
def token(mira):
    return Token.objects.make(mira)


def filled(name):
    """A council's form."""
    trio = [{**agent, "criteria": CRITERIA} for agent in agents()]
    fields = {f"a{number}-{key}": value for number, agent in enumerate(trio, 1) for key, value in agent.items()}
    return fields | {"name": name, "a1-fallback": "", "a2-fallback": "", "a3-fallback": ""}


def bearer(token):
    return {"HTTP_AUTHORIZATION": f"Bearer {token.secret}"}


# ---- read-only ---------------------------------------------------------------------------------------------


def test_reading_by_token_works_and_the_log_says_once_that_its_use_is_not_written(token, read_only, client, caplog):
    marks = site_models.token_use_marks
    for _ in range(3):
        marks._retry_at = 0
        assert client.get("/api/v1/judgements", **bearer(token)).status_code == 200
    assert [record.getMessage() for record in caplog.records] == [
        "When tokens were last used is not written: The database can only be read."
    ]


def test_what_a_program_sends_is_refused_with_a_problem_that_says_when_to_try_again(token, read_only, client):
    body = {"content": "Shall it?", "agents": agents()}
    answer = client.post("/api/v1/judgements", body, content_type="application/json", **bearer(token))
    assert (answer.status_code, answer["Content-Type"], answer["Retry-After"]) == (
        503,
        "application/problem+json",
        "60",
    )
    assert answer.json()["detail"].startswith("The database can only be read. Nothing was done")


def test_what_a_person_sends_stays_on_the_page_that_says_why_not(read_only, client):
    before = Judgement.objects.count()
    answer = client.post(reverse("council-new"), filled("Night"))
    page = answer.content.decode()
    assert (answer.status_code, Judgement.objects.count()) == (503, before)
    assert "The database can only be read." in page
    assert f">\n{CRITERIA}</textarea>" in page
    assert '<input type="hidden" name="name" value="Night">' in page


def test_what_was_sent_is_called_as_its_page_calls_it(read_only, client):
    page = client.post(reverse("council-new"), filled("Night")).content.decode()
    assert re.findall(r"<label [^>]+>(.+?)</label>", page) == [f"Agent {number}, criteria" for number in (1, 2, 3)]
    templates = "".join(path.read_text() for path in TEMPLATES)
    assert all(f">{label}</label>" in templates for label in LABELS.values())


def test_a_text_that_begins_with_an_empty_line_stays_as_it_was_typed(read_only, client):
    page = client.post(reverse("new"), {"content": f"\n{CRITERIA}"}).content.decode()
    assert f">\n\n{CRITERIA}</textarea>" in page  # a browser leaves the first one out


def test_a_password_is_never_shown_again(rf):
    request = rf.post(reverse("login"), {"username": "mira", "password": "a long enough secret"})
    try:
        raise OperationalError from TooLong
    except OperationalError:
        page = error_page(request)
    assert page.status_code == 503
    assert "a long enough secret" not in page.content.decode()


def test_pages_can_be_read(read_only, client):
    assert client.get(reverse("history")).status_code == 200


def test_readyz_says_it_in_words(read_only, client):
    answer = client.get("/readyz")
    assert (answer.status_code, answer.content) == (503, b"the database can only be read\n")


def test_readyz_writes_seldom(client, monkeypatch):
    monkeypatch.setattr(database_errors, "database_watch", database_errors.DatabaseWatch())
    assert client.get("/readyz").content == b"ready\n"
    with CaptureQueriesContext(connection) as queries:
        client.get("/readyz")
    assert {query["sql"][:6] for query in queries} == {"SELECT"}


# ---- held, full and damaged --------------------------------------------------------------------------------


@pytest.fixture
def sqlite(tmp_path):
    """A database of its own: (run this SQL)."""
    path = tmp_path / "small.sqlite3"
    base = sqlite3.connect(path, timeout=0.1, isolation_level=None)
    base.execute("CREATE TABLE box (thing UNIQUE)")
    yield base
    base.close()


def met(base, sql):
    """What the database's refusal is called, wrapped as Django wraps it."""
    with pytest.raises(sqlite3.Error) as caught:
        base.execute(sql)
    try:
        raise OperationalError from caught.value
    except DBError as error:
        return database_errors.problem_of(error)


def test_a_full_one_is_called_full(sqlite):
    sqlite.execute("PRAGMA max_page_count = 3")
    assert met(sqlite, "INSERT INTO box VALUES (zeroblob(100000))") is database_errors.FULL


def test_a_held_one_is_called_busy_and_soon_tried_again(sqlite, tmp_path):
    other = sqlite3.connect(tmp_path / "small.sqlite3", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    assert met(sqlite, "INSERT INTO box VALUES (1)") is database_errors.BUSY
    assert database_errors.BUSY.wait == 10
    other.close()


def test_a_damaged_one_is_called_damaged(sqlite, tmp_path):
    path = tmp_path / "small.sqlite3"
    sqlite.execute("PRAGMA cache_size = 0")
    with path.open("r+b") as file:
        file.seek(4096 * 2)  # the third page: the index
        file.write(b"\xff" * 4096)
    assert met(sqlite, "INSERT INTO box VALUES (1)") is database_errors.DAMAGED


def test_a_fault_of_ours_is_no_trouble_of_the_database(sqlite):
    assert met(sqlite, "SELECT nothing FROM nowhere") is None
    assert database_errors.problem_of(ValueError("no")) is None
    assert database_errors.problem_of(None) is None


@only_on("postgresql")
def test_a_statement_that_took_too_long_is_busy():
    with connection.cursor() as cursor:
        cursor.execute("SET statement_timeout = 50")
        try:
            with pytest.raises(DBError) as caught:
                cursor.execute("SELECT pg_sleep(5)")
        finally:
            cursor.execute("RESET statement_timeout")
    assert database_errors.problem_of(caught.value) is database_errors.BUSY


def test_the_log_has_a_sentence_in_place_of_a_traceback(read_only, client, caplog):
    client.post(reverse("council-new"), filled("Night"))
    record = next(record for record in caplog.records if record.name == "django.request")
    assert database_errors.DatabaseErrorFilter().filter(record)
    assert record.exc_info is None
    assert "The database can only be read." in record.getMessage()


@only_on("sqlite")
async def test_the_doctor_says_what_a_damaged_index_page_is(monkeypatch):
    monkeypatch.setattr(
        database_errors, "check_integrity", lambda thoroughly: "Tree 9 page 9: btreeInitPage() returns error code 11"
    )
    finding = await doctor._database()
    assert (finding.well, "is damaged" in finding.sentence) == (False, True)


def test_readyz_says_that_damage_was_met_until_a_look_finds_none(client, monkeypatch):
    watch = database_errors.DatabaseWatch()
    monkeypatch.setattr(database_errors, "database_watch", watch)
    monkeypatch.setattr(database_errors, "check_integrity", lambda: "a page is damaged")
    assert client.get("/readyz").content == b"the database is damaged\n"
    monkeypatch.setattr(database_errors, "check_integrity", lambda: "")
    watch.note(database_errors.DAMAGED)
    assert client.get("/readyz").content == b"ready\n"


@only_on("sqlite")
def test_a_disk_with_hardly_any_room_is_called_full(monkeypatch):
    monkeypatch.setattr(database_errors, "MIN_FREE_BYTES", 10**18)
    assert database_errors.probe_database() is database_errors.FULL


@only_on("sqlite")
def test_a_probe_waits_for_a_lock_a_moment_only(monkeypatch):
    monkeypatch.setattr(database_errors, "PROBE_TIMEOUT", 0.1)
    other = sqlite3.connect(connection.settings_dict["NAME"], isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with CaptureQueriesContext(connection) as queries:
        assert database_errors.probe_database() is database_errors.BUSY
    other.close()
    asked = [query["sql"] for query in queries if not query["sql"].startswith(("SAVEPOINT", "BEGIN"))]
    assert (asked[0], asked[-1]) == ("PRAGMA busy_timeout = 100", "PRAGMA busy_timeout = 20000")
    assert len(asked) > 2


async def test_the_page_knows_the_error_under_asgi_too(monkeypatch):
    def held(self):
        raise OperationalError from TooLong

    monkeypatch.setattr(SessionStore, "load", held)
    client = AsyncClient(raise_request_exception=False)
    client.cookies["sessionid"] = "a" * 32
    answer = await client.get(reverse("history"))
    assert (answer.status_code, answer["Retry-After"]) == (503, "10")
    assert "The database is busy" in answer.content.decode()


@only_on("sqlite")
def test_what_is_sent_while_the_database_is_held_is_to_be_sent_again_soon(client, mira):
    client.force_login(mira)
    client.raise_request_exception = False
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA busy_timeout = 50")
    other = sqlite3.connect(connection.settings_dict["NAME"], isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    answer = client.post(reverse("council-new"), filled("Night"))
    other.close()
    connection.close()
    assert (answer.status_code, answer["Retry-After"]) == (503, "10")


def test_a_fault_of_ours_while_trouble_is_handled_is_no_trouble():
    fault = KeyError("ours")
    fault.__context__ = TooLong("database is locked")
    assert database_errors.problem_of(fault) is None
