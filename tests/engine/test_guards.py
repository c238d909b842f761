"""What the database itself refuses, whoever asks; the rules of what may happen stand in `guards.py`."""

import json
import re
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.db import IntegrityError, connection, models, transaction
from django.db.models import F
from django.db.models.functions import Now
from django.utils import timezone

from engine.evidence import guards, sealing, triggers
from engine.evidence.audit import verify_all
from engine.evidence.chain import Draft
from engine.evidence.checkpoints import Checkpoint
from engine.evidence.entries import REDACTED, Entry
from engine.evidence.log import Leaf, Salt
from engine.models import ModelCall, Review, Run
from judgements import prompts, rules
from judgements.models import Agent, Council, CouncilChange, CouncilVersion, Judgement, Member, Receipt, RoundDecision
from runs import reviews
from tests.conftest import JAPAN, agents, only_on, says
from tests.databases import kept_for_a_module, tampering

pytestmark = pytest.mark.django_db
committed = pytest.mark.django_db(transaction=True)  # tables are changed outside of transactions

REASON = "Because the criteria say so."
GUARDED = (
    Entry,
    Leaf,
    Checkpoint,
    Salt,
    Run,
    ModelCall,
    Judgement,
    Agent,
    RoundDecision,
    Review,
    Receipt,
    CouncilVersion,
    Member,
    CouncilChange,
)


def make_judged():
    """One that waits, one that is over and reviewed, and a checkpoint."""
    asker, reviewer = User.objects.create_user("asker"), User.objects.create_superuser("reviewer")
    Judgement.objects.submit(owner=asker, content=JAPAN, agents=agents("openai/a", "openai/b", "openai/c"))
    three = [{**agent, "model": "", "fallback": ""} for agent in agents()]
    council = Council.objects.found(name="Kept", agents=three, owner=None)
    judgement = Judgement.objects.submit(
        owner=reviewer, content="Shall we?", agents=council.agents(), council=council.current
    )
    for number in rules.ROUNDS:
        for agent in judgement.agents.all():
            decide(agent, number)
    judgement.conclude()
    Run.objects.filter(pk=judgement.pk).update(status="finished", started=Now(), ended=Now())
    Leaf.objects.add(sealing.seal(judgement.pk))
    reviews.add(judgement.run, reviewer, "Seen.")
    Receipt.objects.issue(judgement, reviewer)
    Checkpoint.objects.make()
    return judgement.pk


made = kept_for_a_module(make_judged)


@pytest.fixture
def judged(made):
    """It is there no more after a test that commits."""
    return Judgement.objects.filter(pk=made).first() or Judgement.objects.get(pk=make_judged())


def decide(agent, number):
    now = timezone.now()
    before = [
        prompts.Earlier(n, seat, rules.Decision.APPROVE, REASON) for n in range(1, number) for seat in rules.SEATS
    ]
    case = prompts.Case(agent.seat, agent.criteria, agent.judgement.content, number, tuple(before))
    asked = {"prompt": json.dumps(prompts.messages(case)), "model": agent.model}
    call = {"step": agent.step(number), "attempt": 1, "deadline": now} | asked
    call = ModelCall.objects.create(
        run_id=agent.judgement_id, status="answered", answer=says("approve", REASON), ended=now, **call
    )
    agent.decide(number, prompts.read_answer(call.answer), call)


def redact(judgement):
    sealing.record(judgement.pk, Draft(REDACTED, "2026-01-01T00:00:00Z"))


def refused(change):
    try:
        with transaction.atomic():
            change()
    except IntegrityError as error:
        return "evidence is only added" in str(error)
    return False


def run(sql, *values):
    with connection.cursor() as cursor:
        cursor.execute(sql, values)


def shipped():
    """Without those of the procedure that stands among the tests."""
    return [guard for guard in guards.all_guards() if not guard.table.startswith("checking_")]


def test_all_triggers_are_there_after_all_migrations(db):
    assert weaknesses() == []
    assert {guard.table for guard in shipped()} == {model._meta.db_table for model in GUARDED}


@pytest.mark.parametrize("model", GUARDED, ids=lambda model: model.__name__)
def test_no_row_is_deleted(judged, model):
    assert model.objects.exists()
    table = model._meta.db_table
    assert refused(lambda: run(f"DELETE FROM {table}"))
    if connection.vendor == "postgresql":
        connection.check_constraints()  # what waits for that would refuse it too
        assert refused(lambda: run(f"TRUNCATE {table} CASCADE"))


NEVER = {
    Entry: ("run_id", "seq", "kind", "line", "hash"),
    Leaf: ("index", "run_id", "seq", "head", "at", "hash"),
    Checkpoint: ("size", "made", "note", "peaks"),
    Salt: ("leaf_id", "value"),
    Run: ("id", "procedure", "created", "status", "started", "ended", "retries", "outcome", "parent_id", "root_id"),
    ModelCall: tuple({field.attname for field in ModelCall._meta.fields} - {"prompt", "answer", "error"}),
    Judgement: ("run_id", "council_version_id", "prompt_version"),
    Agent: tuple(field.attname for field in Agent._meta.fields),
    RoundDecision: tuple({field.attname for field in RoundDecision._meta.fields} - {"reason"}),
    Review: ("id", "run_id", "by", "made", "kind", "outcome"),
    CouncilVersion: ("id", "council_id", "number", "name", "created"),
    Member: tuple(field.attname for field in Member._meta.fields),
    CouncilChange: tuple(field.attname for field in CouncilChange._meta.fields),
}
OTHER = {
    models.BooleanField: True,
    models.DateTimeField: "2001-01-01 00:00:00",
    models.UUIDField: "0" * 32,
    models.CharField: "Z",
    models.TextField: "Z",
}


@pytest.mark.parametrize(
    ("model", "column"), [(m, column) for m, columns in NEVER.items() for column in sorted(columns)]
)
def test_what_never_changes_is_refused_even_when_redacted(judged, model, column):
    redact(judged)
    field = next(field for field in model._meta.fields if field.attname == column)
    kind = field
    while kind.is_relation:
        kind = kind.target_field
    other = next((value for known, value in OTHER.items() if isinstance(kind, known)), 987)
    mine = {
        Run: f"id = '{key(judged)}'",
        ModelCall: f"run_id = '{key(judged)}'",
        Judgement: f"run_id = '{key(judged)}'",
    }
    where = f" WHERE {mine[model]}" if model in mine else ""
    assert refused(lambda: run(f'UPDATE {model._meta.db_table} SET "{field.column}" = %s{where}', other))


def key(judgement):
    return judgement.pk.hex if connection.vendor == "sqlite" else str(judgement.pk)


ERASED = {
    "prompt": lambda pk: ModelCall.objects.filter(run=pk).update(prompt=""),
    "answer": lambda pk: ModelCall.objects.filter(run=pk).update(answer=""),
    "reason": lambda pk: RoundDecision.objects.filter(agent__judgement=pk).update(reason=""),
    "title": lambda pk: Run.objects.filter(pk=pk).update(title=""),
    "content": lambda pk: Judgement.objects.filter(pk=pk).update(content=""),
    "mark": lambda pk: Run.objects.filter(pk=pk).update(redacted="2026-01-01T00:00Z"),
    "review": lambda pk: Review.objects.filter(run=pk).update(text=""),
    "asked by": lambda pk: Run.objects.filter(pk=pk).update(asked_by=""),
    "salt": lambda pk: Salt.objects.filter(leaf__run=pk).delete(),
}


@pytest.mark.parametrize("erase", ERASED.values(), ids=ERASED.keys())
def test_a_text_is_erased_only_once_the_redaction_is_recorded(judged, erase):
    assert refused(lambda: erase(judged.pk))
    redact(judged)
    assert not refused(lambda: erase(judged.pk))


REPLACED = {
    "reason": lambda pk: RoundDecision.objects.filter(agent__judgement=pk).update(reason="Other."),
    "answer": lambda pk: ModelCall.objects.filter(run=pk).update(answer="{}"),
    "title": lambda pk: Run.objects.filter(pk=pk).update(title="Other"),
    "content": lambda pk: Judgement.objects.filter(pk=pk).update(content="Other"),
    "review": lambda pk: Review.objects.filter(run=pk).update(text="Other."),
    "asked by": lambda pk: Run.objects.filter(pk=pk).update(asked_by="noor"),
}


@pytest.mark.parametrize("replace", REPLACED.values(), ids=REPLACED.keys())
def test_a_redaction_erases_and_replaces_nothing(judged, replace):
    redact(judged)
    assert refused(lambda: replace(judged.pk))


def test_the_message_of_an_error_is_erased_and_its_code_stays(judgement):
    error = {"code": "internal", "message": "mira's secret", "agent": "B"}
    mine = Run.objects.filter(pk=judgement.pk)
    mine.update(status="cancelled", error=error)
    assert refused(lambda: mine.update(error={**error, "message": ""}))
    redact(judgement)
    assert refused(lambda: mine.update(error={**error, "message": "", "code": "timeout"}))
    assert refused(lambda: mine.update(error={**error, "message": "Other."}))
    mine.update(error={**error, "message": ""})
    mine.update(error={"code": "internal", "agent": "B"})


def test_who_asked_may_go_and_nobody_else_comes_in_their_place(judged, noor):
    assert refused(lambda: Run.objects.filter(pk=judged.pk).update(owner=noor))
    assert refused(lambda: Review.objects.update(author=noor))
    judged.run.owner.delete()
    assert Review.objects.get().by == "reviewer"
    assert Run.objects.get(pk=judged.pk).asked_by == "reviewer"


def test_what_the_engine_needs_of_a_run_that_is_over_may_change(judged):
    Run.objects.filter(pk=judged.pk).update(revision=F("revision") + 1, worker="x", reserved=0, lease_expires_at=None)


def test_a_call_is_completed_once(judgement):
    call = ModelCall.objects.create(
        run=judgement.run, step="A1", attempt=1, model="m", prompt="[]", deadline="2030-01-01T00:00Z"
    )
    mine = ModelCall.objects.filter(pk=call.pk)
    assert refused(lambda: mine.update(prompt="[1]", status="answered"))
    mine.update(status="answered", answer="yes")
    assert refused(lambda: mine.update(status="open"))
    assert refused(lambda: mine.update(answer="no"))


def test_a_verdict_comes_once(judgement):
    mine = Run.objects.filter(pk=judgement.pk)
    mine.update(outcome="approved")
    assert refused(lambda: mine.update(outcome="rejected"))
    assert refused(lambda: mine.update(outcome=None))


UNIQUE = {Entry: "run_id, seq", ModelCall: "run_id, step, series, attempt", RoundDecision: "agent_id, round"}
UNIQUE |= {Agent: "judgement_id, seat", CouncilVersion: "council_id, number", Member: "version_id, seat"}


@only_on("sqlite")  # PostgreSQL knows no REPLACE
@pytest.mark.parametrize("model", GUARDED, ids=lambda model: model.__name__)
def test_no_row_takes_the_place_of_another(judged, model):
    table, pk = model._meta.db_table, model._meta.pk.column
    columns = [field.column for field in model._meta.fields]
    all_of_them = ", ".join(f'"{column}"' for column in columns)
    copied = ", ".join("99999" if column == pk and model in UNIQUE else f'"{column}"' for column in columns)
    for way in ("INSERT OR REPLACE INTO", "REPLACE INTO"):
        assert refused(lambda way=way: run(f"{way} {table} ({all_of_them}) SELECT {copied} FROM {table}"))
    same = f'SELECT {all_of_them} FROM {table} WHERE true ON CONFLICT ("{pk}") DO UPDATE SET "{pk}" = 5'
    assert refused(lambda: run(f"INSERT INTO {table} ({all_of_them}) {same}"))


@only_on("sqlite")  # PostgreSQL has no second key
@pytest.mark.parametrize("model", GUARDED, ids=lambda model: model.__name__)
def test_no_row_takes_the_hidden_number_of_another(judged, model):
    assert refused(lambda: run(f"UPDATE OR REPLACE {model._meta.db_table} SET oid = 77"))
    if model in (Run, Judgement):
        columns = ", ".join(f'"{f.column}"' for f in model._meta.fields if f.column != model._meta.pk.column)
        other = f"SELECT max(rowid), '{'f' * 32}', {columns} FROM {model._meta.db_table}"
        change = f"REPLACE INTO {model._meta.db_table} (rowid, {model._meta.pk.column}, {columns}) {other}"
        assert refused(lambda: run(change))


@only_on("postgresql")  # SQLite has no temporary schema that comes first
def test_a_temporary_table_shows_no_redaction_that_never_was(judged):
    with transaction.atomic():
        run("CREATE TEMPORARY TABLE engine_entry (run_id uuid, kind text) ON COMMIT DROP")
        run("INSERT INTO pg_temp.engine_entry VALUES (%s, 'redacted')", str(judged.pk))
        assert refused(lambda: Salt.objects.all()._raw_delete("default"))


def test_the_application_role_may_change_what_the_triggers_let_through_and_no_more():
    text = (Path(__file__).parents[2] / "deploy" / "application_role.sql").read_text()
    granted = json.loads(re.search(r"'({.*?})'", text, re.S)[1])
    assert granted.keys() == {guard.table for guard in shipped()}
    for guard in shipped():
        always = {column for rule in guard.rules if not rule.when for column in rule.kept}
        later = {column for rule in guard.rules for column in (*rule.once, *rule.unlinked, *rule.erasures)}
        assert not set(granted[guard.table]) & (always | {"*"})
        assert later <= set(granted[guard.table])


def test_tampering_lifts_the_triggers_for_a_while(judged):
    with tampering():
        Entry.objects.update(line="{}")
    assert refused(lambda: Entry.objects.update(line=""))
    assert verify_all().faults


@committed
def test_tampering_looks_at_no_foreign_key(judged):
    with tampering():
        run("DELETE FROM engine_run")
    assert "what they tell of is gone" in str(verify_all().faults)


def test_a_trigger_that_is_gone_is_noticed_and_the_record_is_no_worse(judged):
    guard = guards.GUARDS["engine_entry"]
    assert verify_all().notices == []
    guards.lift(connection, [guard])
    try:
        report = verify_all()
    finally:
        guards.install(connection, [guard])
    assert report.faults == []
    assert "the database does not refuse changes: trigger engine_entry_deleted is missing" in report.notices


def weaknesses():
    return [weakness.text for weakness in triggers.weaknesses(connection)]


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
        ours = [name for guard in guards.all_guards() for name in guard.triggers("postgresql")]
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


def altered(model):
    """As a migration does it that widens a column."""
    old = next(field for field in model._meta.fields if isinstance(field, models.CharField))
    new = old.clone()
    new.set_attributes_from_name(old.name)
    new.model, new.max_length = model, old.max_length + 1
    for before, after in ((old, new), (new, old)):
        with connection.schema_editor() as editor:
            guards.lift(connection, guards.all_guards())
            editor.alter_field(model, before, after, strict=True)
            guards.install(connection, guards.all_guards())


@committed
@pytest.mark.parametrize("model", [Entry, Agent, Run])
def test_a_migration_that_makes_a_table_anew_lifts_and_installs(judged, model):
    altered(model)
    assert weaknesses() == []
    assert verify_all().faults == []


@only_on("sqlite")  # PostgreSQL changes tables in place
@committed
def test_one_that_forgets_is_stopped_or_noticed(judged):
    old = Member._meta.get_field("fallback")
    new = old.clone()
    new.set_attributes_from_name(old.name)
    new.model, new.max_length = Member, 300
    try:
        with connection.schema_editor() as editor:
            editor.alter_field(Member, old, new, strict=True)
        gone = ("replaced", "kept", "deleted")
        assert set(weaknesses()) == {f"trigger judgements_member_{name} is missing" for name in gone}
    finally:
        with connection.schema_editor() as editor:
            editor.alter_field(Member, new, old, strict=True)
        guards.install(connection, guards.all_guards())
