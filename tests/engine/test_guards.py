"""What the database itself refuses, whoever asks; models declare as `immutable` what may happen."""

import json
import re
from pathlib import Path

import pytest
from django.db import connection, models, transaction
from django.db.models import F

from engine import apps
from engine.ledger.checkpoints import Checkpoint
from engine.ledger.entries import AuditEntry
from engine.ledger.immutability import Immutable
from engine.ledger.merkle_log import DigestSalt, LogLeaf
from engine.models import Document, Fork, GateAuthor, ModelCall, Review, Run, RunAuthor, ToolCall
from judgements.models import (
    CouncilChange,
    CouncilMember,
    CouncilVersion,
    EarlierCouncilName,
    Judgement,
    JudgementAgent,
    RoundDecision,
)
from tests.conftest import only_on
from tests.engine.guarded import GUARDED, redact, refused, run, shipped

pytestmark = pytest.mark.django_db


def test_no_row_is_deleted(judged):
    tables = [model._meta.db_table for model in GUARDED]
    assert [model for model in GUARDED if not model.objects.exists()] == []
    assert [table for table in tables if not refused(lambda t=table: run(f"DELETE FROM {t}"))] == []
    if connection.vendor == "postgresql":
        connection.check_constraints()  # what waits for that would refuse it too
        assert [table for table in tables if not refused(lambda t=table: run(f"TRUNCATE {t} CASCADE"))] == []


NEVER = {
    AuditEntry: ("run_id", "seq", "kind", "line", "hash"),
    LogLeaf: ("index", "run_id", "seq", "head", "at", "hash"),
    Checkpoint: ("size", "made", "note", "peaks"),
    DigestSalt: ("leaf_id", "value"),
    Run: ("id", "procedure", "created", "status", "started", "ended", "retries", "outcome", "parent_id", "root_id"),
    ModelCall: tuple({field.attname for field in ModelCall._meta.fields} - {"prompt", "answer", "error"}),
    Document: ("id", "run_id", "number", "kind", "made"),
    Fork: ("run_id", "origin_id", "number", "entry", "hash", "made"),
    ToolCall: tuple({field.attname for field in ToolCall._meta.fields} - {"arguments", "output", "error"}),
    RunAuthor: ("id", "run_id", "name", "part", "place", "made"),
    GateAuthor: tuple(field.attname for field in GateAuthor._meta.fields),
    Judgement: ("run_id", "council_version_id", "prompt_version"),
    JudgementAgent: tuple(field.attname for field in JudgementAgent._meta.fields),
    RoundDecision: tuple({field.attname for field in RoundDecision._meta.fields} - {"reason"}),
    Review: ("id", "run_id", "by", "made", "kind", "outcome"),
    CouncilVersion: ("id", "council_id", "number", "name", "created"),
    CouncilMember: tuple(field.attname for field in CouncilMember._meta.fields),
    CouncilChange: tuple(field.attname for field in CouncilChange._meta.fields),
    EarlierCouncilName: ("id", "name", "council_id"),
}
OTHER = {
    models.BooleanField: True,
    models.DateTimeField: "2001-01-01 00:00:00",
    models.UUIDField: "0" * 32,
    models.CharField: "Z",
    models.TextField: "Z",
}


def test_what_never_changes_is_refused_even_when_redacted(judged):
    redact(judged)
    tried = [(model, column) for model, columns in NEVER.items() for column in columns]
    assert [one for one in tried if not refused(lambda one=one: change(judged, *one))] == []


def change(judged, model, column):
    field = kind = next(field for field in model._meta.fields if field.attname == column)
    while kind.is_relation:
        kind = kind.target_field
    other = next((value for known, value in OTHER.items() if isinstance(kind, known)), 987)
    mine = {Run: "id", ModelCall: "run_id", Judgement: "run_id"}
    where = f" WHERE {mine[model]} = '{key(judged)}'" if model in mine else ""
    run(f'UPDATE {model._meta.db_table} SET "{field.column}" = %s{where}', other)


def key(judgement):
    return judgement.pk.hex if connection.vendor == "sqlite" else str(judgement.pk)


ERASED = {
    "prompt": lambda pk: ModelCall.objects.filter(run=pk).update(prompt=""),
    "answer": lambda pk: ModelCall.objects.filter(run=pk).update(answer=""),
    "reason": lambda pk: RoundDecision.objects.filter(agent__judgement=pk).update(reason=""),
    "title": lambda pk: Run.objects.filter(pk=pk).update(title=""),
    "content": lambda pk: Judgement.objects.filter(pk=pk).update(content=""),
    "state": lambda pk: Fork.objects.filter(run=pk).update(state=""),
    "mark": lambda pk: Run.objects.filter(pk=pk).update(redacted="2026-01-01T00:00Z"),
    "review": lambda pk: Review.objects.filter(run=pk).update(text=""),
    "asked by": lambda pk: Run.objects.filter(pk=pk).update(asked_by=""),
    "salt": lambda pk: DigestSalt.objects.filter(leaf__run=pk).delete(),
}


def test_a_text_is_erased_only_once_the_redaction_is_recorded(judged):
    assert [name for name, erase in ERASED.items() if not refused(lambda erase=erase: erase(judged.pk))] == []
    redact(judged)
    assert [name for name, erase in ERASED.items() if refused(lambda erase=erase: erase(judged.pk))] == []


REPLACED = {
    "reason": lambda pk: RoundDecision.objects.filter(agent__judgement=pk).update(reason="Other."),
    "answer": lambda pk: ModelCall.objects.filter(run=pk).update(answer="{}"),
    "title": lambda pk: Run.objects.filter(pk=pk).update(title="Other"),
    "content": lambda pk: Judgement.objects.filter(pk=pk).update(content="Other"),
    "review": lambda pk: Review.objects.filter(run=pk).update(text="Other."),
    "asked by": lambda pk: Run.objects.filter(pk=pk).update(asked_by="noor"),
}


def test_a_redaction_erases_and_replaces_nothing(judged):
    redact(judged)
    assert [name for name, replace in REPLACED.items() if not refused(lambda r=replace: r(judged.pk))] == []


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


UNIQUE = {AuditEntry: "run_id, seq", ModelCall: "run_id, step, series, attempt", RoundDecision: "agent_id, round"}
UNIQUE |= {
    JudgementAgent: "judgement_id, seat",
    CouncilVersion: "council_id, number",
    CouncilMember: "version_id, seat",
}


@only_on("sqlite")  # PostgreSQL knows no REPLACE
def test_no_row_takes_the_place_of_another(judged):
    ways = [(model, statement) for model in GUARDED for statement in replacing(model)]
    assert [one for one in ways if not refused(lambda one=one: run(one[1]))] == []


def replacing(model):
    table, pk = model._meta.db_table, model._meta.pk.column
    columns = [field.column for field in model._meta.fields]
    all_of_them = ", ".join(f'"{column}"' for column in columns)
    copied = ", ".join("99999" if column == pk and model in UNIQUE else f'"{column}"' for column in columns)
    for way in ("INSERT OR REPLACE INTO", "REPLACE INTO"):
        yield f"{way} {table} ({all_of_them}) SELECT {copied} FROM {table}"
    same = f'SELECT {all_of_them} FROM {table} WHERE true ON CONFLICT ("{pk}") DO UPDATE SET "{pk}" = 5'
    yield f"INSERT INTO {table} ({all_of_them}) {same}"


@only_on("sqlite")  # PostgreSQL has no second key
def test_no_row_takes_the_hidden_number_of_another(judged):
    changes = [f"UPDATE OR REPLACE {model._meta.db_table} SET oid = 77" for model in GUARDED]
    for model in (Run, Judgement):
        pk, table = model._meta.pk.column, model._meta.db_table
        columns = ", ".join(f'"{field.column}"' for field in model._meta.fields if field.column != pk)
        other = f"SELECT max(rowid), '{'f' * 32}', {columns} FROM {table}"
        changes.append(f"REPLACE INTO {table} (rowid, {pk}, {columns}) {other}")
    assert [change for change in changes if not refused(lambda c=change: run(c))] == []


@only_on("postgresql")  # SQLite has no temporary schema that comes first
def test_a_temporary_table_shows_no_redaction_that_never_was(judged):
    with transaction.atomic():
        run("CREATE TEMPORARY TABLE engine_entry (run_id uuid, kind text) ON COMMIT DROP")
        run("INSERT INTO pg_temp.engine_entry VALUES (%s, 'redacted')", str(judged.pk))
        assert refused(lambda: DigestSalt.objects.all()._raw_delete("default"))


def test_the_application_role_may_change_what_the_triggers_let_through_and_no_more():
    text = (Path(__file__).parents[2] / "deploy" / "application_role.sql").read_text()
    granted = json.loads(re.search(r"'({.*?})'", text, re.S)[1])
    assert granted.keys() == {guard.table for guard in shipped()}
    for guard in shipped():
        always = {column for rule in guard.rules if not rule.when for column in rule.kept}
        later = {column for rule in guard.rules for column in (*rule.once, *rule.unlinked, *rule.erasures)}
        assert not set(granted[guard.table]) & (always | {"*"})
        assert later <= set(granted[guard.table])


def test_a_model_that_does_not_say_what_may_happen_to_its_rows_fails_a_check(monkeypatch):
    monkeypatch.delattr(RoundDecision, "immutable")
    monkeypatch.setattr(JudgementAgent, "immutable", Immutable(free="urgency"))
    silent, unknown = apps._check_immutable()
    assert "judgements.RoundDecision does not declare" in silent.msg
    assert "judgements.JudgementAgent: JudgementAgent has no field named 'urgency'" in unknown.msg
