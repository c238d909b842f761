"""MAGI as a role that owns nothing: it judges, and can take back nothing that it has said."""

import shutil
import tempfile
from pathlib import Path

import psycopg
import pytest

from tests.acceptance.site import ROOT, ServedSite, environment, judge, manage
from tests.conftest import JAPAN
from tests.services import Postgres

GRANTS = (ROOT / "deploy" / "application_role.sql").read_text()


@pytest.fixture(scope="module")
def server(own_servers):
    """A PostgreSQL whose database `magi` belongs to the role `magi`."""
    folder = Path(tempfile.mkdtemp(prefix="magi-"))
    folder.chmod(0o711)  # PostgreSQL runs as another user
    try:
        with Postgres(folder) as server:
            for role in ("magi", "magi_app"):
                said(server.url("postgres"), f"CREATE ROLE {role} LOGIN")
            said(server.url("postgres"), "CREATE DATABASE magi OWNER magi")
            yield server
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def said(url, *statements):
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in statements:
            found = connection.execute(statement)
        return found.fetchall() if found.description else None


def address(server, role):
    return server.url("magi").replace("postgres@", f"{role}@")


@pytest.fixture(scope="module")
def app(server, tmp_path_factory):
    """The environment of the application; the owner has migrated, and granted twice."""
    data = tmp_path_factory.mktemp("app")
    owner = environment(data, DATABASE_URL=address(server, "magi"))
    assert manage("migrate", "--verbosity", "0", env=owner, wait=120).returncode == 0
    said(address(server, "magi"), GRANTS, GRANTS)
    return environment(data, DATABASE_URL=address(server, "magi_app"), MAGI_DEFAULT_MODEL="rehearsal/instant")


@pytest.fixture(scope="module")
def judged(app):
    status, judgement = judge(JAPAN, env=app)
    assert status in (0, 1)
    return judgement


def test_a_judgement_is_performed_and_its_record_is_intact(app, judged):
    assert sum(len(agent["decisions"]) for agent in judged["agents"]) == 9
    done = manage("verify_record", "--all", env=app)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_site_starts_where_there_is_nothing_to_migrate(app, judged, tmp_path):
    with ServedSite(tmp_path, DATABASE_URL=app["DATABASE_URL"]) as site:
        assert "Sign in" in site.log.read_text()


def test_the_site_says_what_to_do_where_there_is_a_migration_to_make(app, server, judged):
    # the last to be made: none depends on it
    [(number, last)] = said(address(server, "magi"), "SELECT id, name FROM django_migrations ORDER BY id DESC LIMIT 1")
    said(address(server, "magi"), f"UPDATE django_migrations SET name = 'away' WHERE id = {number}")
    try:
        done = manage("serve", "--port", "0", env=app)
    finally:
        said(address(server, "magi"), f"UPDATE django_migrations SET name = '{last}' WHERE id = {number}")
    assert done.returncode == 1
    assert "Run manage.py migrate as the role that owns the tables" in done.stderr
    assert "Traceback" not in done.stderr


REFUSED = [
    *(f"UPDATE {table} SET run_id = NULL" for table in ("engine_entry", "engine_leaf")),
    "UPDATE engine_run SET created = now()",
    "UPDATE judgements_rounddecision SET decision = 'reject'",
    *(
        f"{verb} {table}"
        for verb in ("DELETE FROM", "TRUNCATE", "DROP TABLE")
        for table in ("engine_entry", "engine_leaf", "engine_run", "engine_modelcall", "judgements_judgement")
    ),
    "TRUNCATE engine_salt",
    "INSERT INTO engine_leaf SELECT * FROM engine_leaf ON CONFLICT (index) DO UPDATE SET head = ''",
    "SET session_replication_role = replica",
    "DROP TRIGGER engine_entry_kept ON engine_entry",
    "ALTER TABLE engine_entry DISABLE TRIGGER ALL",
    "ALTER TABLE engine_entry DISABLE TRIGGER engine_entry_kept",
    "CREATE OR REPLACE FUNCTION evidence_is_only_added() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'",
    "SET ROLE magi",
    "DELETE FROM django_migrations",
]


def test_the_role_cannot_take_back(server, judged):
    kinds = {statement: refusal(server, "magi_app", statement) for statement in REFUSED}
    assert kinds == dict.fromkeys(REFUSED, psycopg.errors.InsufficientPrivilege)


def refusal(server, role, statement):
    """Which error it meets, or that it meets none."""
    try:
        said(address(server, role), statement)
    except psycopg.Error as error:
        return type(error)
    return None


GUARDED_BY_TRIGGERS = [
    "UPDATE judgements_judgement SET content = ''",
    "UPDATE judgements_rounddecision SET reason = ''",
    "UPDATE engine_run SET status = 'queued'",
    "UPDATE engine_run SET outcome = NULL",
    "UPDATE engine_run SET title = ''",
    "DELETE FROM engine_salt",
]


@pytest.mark.parametrize("role", ["magi_app", "magi"])
def test_what_a_redaction_needs_is_refused_without_one(server, judged, role):
    for statement in GUARDED_BY_TRIGGERS:
        with pytest.raises(psycopg.errors.RestrictViolation, match="evidence is only added"):
            said(address(server, role), statement)
