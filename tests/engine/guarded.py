"""A row of every table that is guarded, and what somebody may try with them."""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from django.contrib.auth.models import User
from django.db import IntegrityError, connection, models, transaction
from django.db.models.functions import Now
from django.utils import timezone

from engine.audit import sealing
from engine.ledger import immutability, trigger_check
from engine.ledger.checkpoints import Checkpoint
from engine.ledger.entries import REDACTED, AuditEntry
from engine.ledger.hashing import EntryDraft
from engine.ledger.immutability import ALL_COLUMNS, ImmutableTable, guarded_models, table_of
from engine.ledger.merkle_log import DigestSalt, LogLeaf
from engine.models import (
    AuthorContribution,
    Document,
    Fork,
    Gate,
    GateAuthor,
    GateDecision,
    ModelCall,
    NewDocument,
    Review,
    Run,
    RunAuthor,
    Suspension,
    ToolCall,
)
from engine.policy import parse_policy
from judgements import prompts, rules
from judgements.models import (
    Council,
    CouncilChange,
    CouncilMember,
    CouncilVersion,
    EarlierCouncilName,
    Judgement,
    JudgementAgent,
    Receipt,
    RoundDecision,
)
from runs import reviews
from tests.checking.models import Check
from tests.conftest import JAPAN, agents, says

REASON = "Because the criteria say so."
GUARDED = (
    AuditEntry,
    LogLeaf,
    Checkpoint,
    DigestSalt,
    Run,
    Document,
    ModelCall,
    Suspension,
    Fork,
    ToolCall,
    Gate,
    GateDecision,
    RunAuthor,
    GateAuthor,
    Judgement,
    JudgementAgent,
    RoundDecision,
    Review,
    Receipt,
    CouncilVersion,
    CouncilMember,
    CouncilChange,
    EarlierCouncilName,
)


def make_judged():
    """Two that wait, one of them with a document, one that is over and reviewed, and a checkpoint."""
    asker, reviewer = User.objects.create_user("asker"), User.objects.create_superuser("reviewer")
    Judgement.objects.submit(owner=asker, content=JAPAN, agents=agents("openai/a", "openai/b", "openai/c"))
    read = NewDocument("bridge.txt", "text", ("Open it.",), "0" * 64)
    Check.objects.submit(owner=asker, question="Sound?", writer="openai/a", checker="openai/b", documents=[read])
    three = [{**agent, "model": "", "fallback": ""} for agent in agents()]
    council = Council.objects.create_first(name="Kept", agents=three, owner=None)
    EarlierCouncilName.objects.create(name=council.name, council=council)
    judgement = Judgement.objects.submit(
        owner=reviewer, content="Shall we?", agents=council.agents(), council=council.current
    )
    for number in rules.ROUNDS:
        for agent in judgement.agents.all():
            decide(agent, number)
    asked = {
        "step": "publish",
        "kind": "answer",
        "title": "May it go out?",
        "text": JAPAN,
        "policy": parse_policy(None),
    }
    gate = Gate.objects.open(None, run_id=judgement.pk, **asked)
    GateDecision.objects.create(gate=gate, by="reviewer", decision="approve", text="Yes.")
    RunAuthor.objects.note(judgement.pk, asker, AuthorContribution.SAID)
    GateAuthor.objects.add_for(gate)
    Gate.objects.update(state="approved", closed=Now())
    tool = {"tool": "figures.today", "source": "toolbox.calculator", "definition": "0" * 64, "effect": "reads"}
    said = {"arguments": "{}", "output": "2026-01-01", "error": "None.", "status": "done", "ended": timezone.now()}
    ToolCall.objects.create(run_id=judgement.pk, step="today", number=1, gate=gate, **tool, **said)
    judgement.conclude()
    Run.objects.filter(pk=judgement.pk).update(status="finished", started=Now(), ended=Now())
    LogLeaf.objects.add(sealing.seal(judgement.pk))
    Suspension.objects.create(run_id=judgement.pk)
    first = AuditEntry.objects.get(run=judgement.pk, seq=1)
    at = {"number": 1, "entry": first.seq, "hash": first.hash, "state": "0" * 64}
    Fork.objects.create(run_id=judgement.pk, origin_id=judgement.pk, **at)
    reviews.add_review(judgement.run, reviewer, "Seen.")
    Receipt.objects.issue(judgement, reviewer)
    Checkpoint.objects.make()
    return judgement.pk


def decide(agent, number):
    now = timezone.now()
    before = [
        prompts.EarlierDecision(n, seat, rules.AgentDecision.APPROVE, REASON)
        for n in range(1, number)
        for seat in rules.SEATS
    ]
    case = prompts.PromptCase(agent.seat, agent.criteria, agent.judgement.content, number, tuple(before))
    asked = {"prompt": json.dumps(prompts.messages(case)), "model": agent.model}
    call = {"step": agent.step(number), "attempt": 1, "deadline": now} | asked
    call = ModelCall.objects.create(
        run_id=agent.judgement_id, status="answered", answer=says("approve", REASON), ended=now, **call
    )
    agent.decide(number, prompts.read_answer(call.answer), call)


def redact(judgement):
    sealing.record_run(judgement.pk, EntryDraft(REDACTED, "2026-01-01T00:00:00Z"))


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

    return [guard for guard in immutability.all_guards() if not guard.table.startswith("checking_")]


def guards_of(app: str) -> dict[str, ImmutableTable]:
    """The guarded tables of an app, by name."""
    found = (table_of(model) for model in guarded_models() if model._meta.app_label == app)
    return {guard.table: guard for guard in found}


def weaknesses():
    return [weakness.text for weakness in trigger_check.trigger_problems(connection)]


OTHER = {
    models.BooleanField: 'NOT "{}"',
    models.DateTimeField: "'2001-01-01 00:00:00'",
    models.UUIDField: f"'{'0' * 32}'",
    models.JSONField: "'[9]'",
}


def columns_of(
    known: Mapping[str, ImmutableTable], rows: Mapping[str, type[models.Model]], what: str
) -> Iterator[tuple[str, str]]:
    """Of each table those that always are kept, or may be erased."""
    for table, guard in known.items():
        fields = [field.column for field in rows[table]._meta.fields]
        for rule in guard.rules:
            named = fields if rule.kept == ALL_COLUMNS and what == "kept" else getattr(rule, what)
            yield from ((table, column) for column in named if not (rule.when and what == "kept"))


def another(rows: type[models.Model], column: str) -> str:
    """Another value, in SQL."""
    field: Any = next(field for field in rows._meta.fields if field.column == column)
    while field.is_relation:
        field = field.target_field
    short = f"'{'987'[: field.max_length]}'"
    return next((value for kind, value in OTHER.items() if isinstance(field, kind)), short).format(column)


# ---- what a kind's rows let through that they should not: empty lists, where its guards hold ----


def deleted(known: Mapping[str, ImmutableTable], rows: Mapping[str, type[models.Model]]) -> list[str]:
    """The tables that have no row to try it with, or lose it."""
    return [
        table
        for table in known
        if not rows[table]._default_manager.exists() or not refused(lambda table=table: run(f"DELETE FROM {table}"))
    ]


def changed(known: Mapping[str, ImmutableTable], rows: Mapping[str, type[models.Model]]) -> list[tuple[str, str]]:
    """What never changes and takes another value."""
    return [
        (table, column)
        for table, column in columns_of(known, rows, "kept")
        if not refused(lambda t=table, c=column: run(f'UPDATE {t} SET "{c}" = {another(rows[t], c)}'))
    ]


def texts_held(known: Mapping[str, ImmutableTable], rows: Mapping[str, type[models.Model]]) -> list[tuple[str, str]]:
    """What a redaction may erase, and is there."""
    texts = columns_of(known, rows, "erased")
    return [(table, column) for table, column in texts if rows[table]._default_manager.exclude(**{column: ""}).exists()]


def taking(text: str, places: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Those that take this text."""
    return [one for one in places if not refused(lambda one=one: run(f'UPDATE {one[0]} SET "{one[1]}" = %s', text))]


def not_only_erased(places: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Those that, one after another, take another text, or do not become empty."""
    return [one for one in places if taking("Other.", [one]) or not taking("", [one])]


def replaced(
    known: Mapping[str, ImmutableTable], rows: Mapping[str, type[models.Model]]
) -> list[tuple[str, tuple[str, ...]]]:
    """The unique columns by which SQLite's REPLACE takes a row away. Each is tried alone: no other one is the same."""
    return [
        (table, columns)
        for table in known
        for columns in unique_columns(rows[table])
        if not rows[table]._meta.pk.is_relation and replaces(rows[table], columns)
    ]


def unique_columns(model: type[models.Model]) -> list[tuple[str, ...]]:
    meta = model._meta
    found = [(field.column,) for field in meta.fields if field.unique and not field.primary_key]
    named = ([*one.fields, *(it.name for it in one.expressions)] for one in meta.constraints if hasattr(one, "fields"))
    return found + [tuple(meta.get_field(name).column for name in names) for names in named]


def replaces(model: type[models.Model], same: tuple[str, ...]) -> bool:
    table, key = model._meta.db_table, model._meta.pk
    with connection.cursor() as cursor:
        there = " AND ".join(f'"{column}" IS NOT NULL' for column in same)
        cursor.execute(f"SELECT count(*), count(CASE WHEN {there} THEN 1 END) FROM {table}")
        before, tried = cursor.fetchone()
    others = {column for columns in unique_columns(model) for column in columns} - set(same)
    new = {column: another(model, column) for column in others} | {key.column: another(model, key.column)}
    columns = [field.column for field in model._meta.fields]
    copied = ", ".join(new.get(column, f'"{column}"') for column in columns)
    into = ", ".join(f'"{column}"' for column in columns)
    put = f"INSERT OR REPLACE INTO {table} ({into}) SELECT {copied} FROM {table} WHERE {there} LIMIT 1"
    try:
        with transaction.atomic():
            run(put)
            count = model._default_manager.count()
            transaction.set_rollback(True)
    except IntegrityError:  # by its trigger, or by a rule about its columns
        return False
    return tried > 0 and count == before
