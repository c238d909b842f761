"""That the database refuses is noticed where it ends: triggers lifted, exchanged, switched off, lost by a migration."""

import pytest
from django.db import connection, models

from engine.audit.full_verification import verify_all
from engine.ledger import immutability, trigger_check
from engine.ledger.entries import AuditEntry
from engine.models import Run
from judgements.models import CouncilMember, JudgementAgent
from magi_site import apps
from tests.conftest import only_on
from tests.databases import as_postgresql_says, tampering
from tests.engine.guarded import GUARDED, guards_of, refused, run, shipped, weaknesses

pytestmark = pytest.mark.django_db
committed = pytest.mark.django_db(transaction=True)  # tables are changed outside of transactions


@pytest.fixture(autouse=True)
def _postgresql_is_asked_each_time(monkeypatch):
    monkeypatch.setattr(trigger_check, "_as_postgresql_says", as_postgresql_says)


def test_all_triggers_are_there_after_all_migrations(db):
    assert weaknesses() == []
    # all but the first in test_guards.py of their own rooms
    tried = {model._meta.db_table for model in GUARDED}
    tried |= {table for app in ("debates", "inquiries", "missions", "plans") for table in guards_of(app)}
    assert {guard.table for guard in shipped()} == tried


def test_tampering_lifts_the_triggers_for_a_while(judged):
    with tampering():
        AuditEntry.objects.update(line="{}")
    assert refused(lambda: AuditEntry.objects.update(line=""))
    assert verify_all().faults


@committed
def test_tampering_looks_at_no_foreign_key(judged):
    with tampering():
        run("DELETE FROM engine_run")
    assert "what they tell of is gone" in str(verify_all().faults)


def test_a_trigger_that_is_gone_is_noticed_and_the_record_is_no_worse(judged):
    guard = immutability.table_of(AuditEntry)
    assert verify_all().notices == []
    immutability.remove_triggers(connection, [guard])
    try:
        report = verify_all()
    finally:
        immutability.install_triggers(connection, [guard])
    assert report.faults == []
    assert "the database does not refuse changes: trigger engine_entry_deleted is missing" in report.notices


EMPTY = """CREATE OR REPLACE FUNCTION {}() RETURNS trigger LANGUAGE plpgsql SET search_path = public, pg_temp
    AS 'BEGIN RETURN coalesce(NEW, OLD); END'"""
ACTING = {
    "sqlite": {
        "another text": (
            "DROP TRIGGER engine_leaf_kept",
            "CREATE TRIGGER engine_leaf_kept BEFORE UPDATE ON engine_leaf BEGIN SELECT 1; END",
            "trigger engine_leaf_kept on engine_leaf does something else than it should",
        ),
        "one beside": (
            "CREATE TRIGGER y AFTER INSERT ON Engine_Entry BEGIN DELETE FROM auth_group; END",
            "trigger y on engine_entry is not ours",
        ),
        "a temporary one": (
            "CREATE TEMPORARY TRIGGER y AFTER INSERT ON engine_entry BEGIN SELECT 1; END",
            "trigger y on engine_entry is not ours",
        ),
    },
    "postgresql": {
        "another event": (
            "DROP TRIGGER engine_leaf_kept ON engine_leaf",
            "CREATE TRIGGER engine_leaf_kept BEFORE INSERT ON engine_leaf"
            " FOR EACH ROW EXECUTE FUNCTION evidence_is_only_added()",
            "trigger engine_leaf_kept on engine_leaf does something else than it should",
        ),
        "a condition": (
            "DROP TRIGGER engine_leaf_kept ON engine_leaf",
            "CREATE TRIGGER engine_leaf_kept BEFORE UPDATE ON engine_leaf FOR EACH ROW WHEN (OLD.index < 0)"
            " EXECUTE FUNCTION evidence_is_only_added()",
            "trigger engine_leaf_kept on engine_leaf does something else than it should",
        ),
        "another function": (
            "DROP TRIGGER engine_leaf_kept ON engine_leaf",
            "CREATE TRIGGER engine_leaf_kept BEFORE UPDATE ON engine_leaf"
            " FOR EACH ROW EXECUTE FUNCTION engine_salt_deleted()",
            "trigger engine_leaf_kept on engine_leaf does something else than it should",
        ),
        "another body": (
            EMPTY.format("evidence_is_only_added"),
            "function evidence_is_only_added does something else than it should",
        ),
        "another body of an erasure": (
            EMPTY.format("engine_salt_deleted"),
            "function engine_salt_deleted does something else than it should",
        ),
        "another place to look in": (
            "ALTER FUNCTION engine_salt_deleted() SET search_path = pg_temp, public",
            "function engine_salt_deleted does something else than it should",
        ),
        "one beside": (
            "CREATE TRIGGER y AFTER INSERT ON engine_entry FOR EACH ROW EXECUTE FUNCTION evidence_is_only_added()",
            "trigger y on engine_entry is not ours",
        ),
        "a rule": (
            "CREATE RULE y AS ON UPDATE TO engine_leaf DO INSTEAD NOTHING",
            "rule y on engine_leaf is not ours",
        ),
        "row security": (
            "ALTER TABLE engine_leaf ENABLE ROW LEVEL SECURITY",
            "row security hides rows of engine_leaf",
        ),
        "an heir": ("CREATE TABLE y () INHERITS (engine_leaf)", "table y adds its rows to engine_leaf"),
    },
}


@pytest.mark.parametrize("what", ACTING[connection.vendor])
def test_what_could_change_or_hide_evidence_by_itself_is_a_problem(judged, what):
    *statements, said = ACTING[connection.vendor][what]
    for statement in statements:
        run(statement)
    sentence = f"Something in the database may change or hide evidence before it is sealed. (the database: {said})"
    assert [str(problem) for problem in verify_all().faults] == [sentence]


OFF = {
    "a trigger": (
        "ALTER TABLE engine_leaf DISABLE TRIGGER engine_leaf_kept",
        "trigger engine_leaf_kept is switched off",
    ),
    "all in this session": (
        "SET LOCAL session_replication_role = replica",
        "session_replication_role switches all triggers off for this session",
    ),
    "all of a role": (
        "ALTER ROLE postgres SET session_replication_role = replica",
        "session_replication_role switches all triggers off for role postgres",
    ),
    "all in this database": (
        "DO $$BEGIN EXECUTE format("
        "'ALTER DATABASE %I SET session_replication_role = replica', current_database()); END$$",
        "session_replication_role switches all triggers off for every role in database {}",
    ),
}


@only_on("postgresql")  # a trigger of SQLite cannot be switched off
@pytest.mark.parametrize("what", OFF)
def test_what_is_switched_off_is_noticed_and_the_record_is_no_worse(judged, what):
    statement, said = OFF[what]
    connection.check_constraints()  # what waits for that would keep a table from being altered
    run(statement.replace("%I", "%%I"))
    report = verify_all()
    said = said.format(connection.settings_dict["NAME"])
    assert (report.faults, report.notices) == ([], [f"the database does not refuse changes: {said}"])


@only_on("postgresql")  # SQLite keeps the text as it was written
def test_triggers_as_a_restored_dump_makes_them_are_ours(judged):
    """PostgreSQL says some conditions otherwise once they were made from what it said."""
    connection.check_constraints()  # what waits for that would keep a table from being altered
    with connection.cursor() as cursor:
        ours = [name for guard in immutability.all_guards() for name in guard.triggers("postgresql")]
        asked = "SELECT tgname, tgrelid::regclass, pg_get_triggerdef(oid) FROM pg_trigger WHERE tgname = ANY(%s)"
        for _ in range(2):
            cursor.execute(asked, [ours])
            for name, table, made in cursor.fetchall():
                run(f"DROP TRIGGER {name} ON {table}")
                run(made)
    assert weaknesses() == []


@only_on("postgresql")  # nor need anything be made on SQLite to be compared
def test_where_nothing_may_be_made_the_names_are_compared_at_least(judged):
    connection.check_constraints()  # what waits for that could not be looked up any more
    run("SET LOCAL transaction_read_only = on")
    text, *rest = weaknesses()
    assert text.startswith("what the triggers do cannot be compared here: ")
    assert rest == []


def test_a_migrate_that_has_nothing_to_do_installs_triggers_that_are_missing(judged):
    immutability.remove_triggers(connection, [immutability.table_of(AuditEntry)])
    connection.check_constraints()  # what waits for that would keep a table from being altered
    apps._install_triggers(using="default", plan=[])
    assert weaknesses() == []


def altered(model):
    """As a migration does it that widens a column."""
    old = next(field for field in model._meta.fields if isinstance(field, models.CharField))
    new = old.clone()
    new.set_attributes_from_name(old.name)
    new.model, new.max_length = model, old.max_length + 1
    for before, after in ((old, new), (new, old)):
        with connection.schema_editor() as editor:
            immutability.remove_triggers(connection, immutability.all_guards())
            editor.alter_field(model, before, after, strict=True)
            immutability.install_triggers(connection, immutability.all_guards())


@committed
@pytest.mark.parametrize("model", [AuditEntry, JudgementAgent, Run])
def test_a_migration_that_makes_a_table_anew_lifts_and_installs(judged, model):
    altered(model)
    assert weaknesses() == []
    assert verify_all().faults == []


@only_on("sqlite")  # PostgreSQL changes tables in place
@committed
def test_one_that_forgets_is_stopped_or_noticed(judged):
    old = CouncilMember._meta.get_field("fallback")
    new = old.clone()
    new.set_attributes_from_name(old.name)
    new.model, new.max_length = CouncilMember, 300
    try:
        with connection.schema_editor() as editor:
            editor.alter_field(CouncilMember, old, new, strict=True)
        gone = ("replaced", "kept", "deleted")
        assert set(weaknesses()) == {f"trigger judgements_member_{name} is missing" for name in gone}
    finally:
        with connection.schema_editor() as editor:
            editor.alter_field(CouncilMember, new, old, strict=True)
        immutability.install_triggers(connection, immutability.all_guards())
