"""A chain may belong to something that is no run. This module itself knows what its rows tell."""

import subprocess
import sys
from uuid import UUID

import pytest
from django.utils import timezone

from engine.audit import bundles, sealing
from engine.audit.full_verification import verify_all
from engine.audit.verification import verify_one
from engine.ledger import signing
from engine.ledger.checkpoints import Checkpoint
from engine.ledger.entries import AuditEntry
from engine.ledger.hashing import EntryDraft, format_timestamp
from engine.ledger.merkle_log import LogLeaf
from judgements.spec import JudgementSpec
from runs.record.export import evidence_bundle
from tests.verifier import VERIFIER

pytestmark = pytest.mark.django_db

SHELF, OTHER = UUID(int=11), UUID(int=12)
ROWS: dict[UUID, list[str]] = {}
TODAY = format_timestamp(timezone.now())  # an entry may not be far older than its place in the log


def chain_keys():
    return ROWS


def build_entries(among):
    return {pk: {"put": [_draft(book) for book in ROWS[pk]]} for pk in among if pk in ROWS}


def validate_entries(entries):
    return "A book is there twice." if len({entry["facts"]["book"] for entry in entries}) < len(entries) else ""


def _draft(book):
    return EntryDraft("put", TODAY, {"book": book}, {"remark": f"{book}, used"})


@pytest.fixture(autouse=True)
def shelf(monkeypatch):
    monkeypatch.setattr(JudgementSpec, "chains", (*JudgementSpec.chains, sys.modules[__name__]))
    ROWS.clear()
    for book in ("Middlemarch", "Emma"):
        put(SHELF, book)


def put(chain, book):
    ROWS.setdefault(chain, []).append(book)
    sealing.record_run(chain, _draft(book))


def problems():
    return [(problem.run, problem.text) for problem in verify_all().faults]


def offline(tmp_path):
    Checkpoint.objects.make()
    bundles._kept.clear()
    (tmp_path / "bundle").write_text("".join(evidence_bundle(bundles.runs_since(None), bundles.tree())))
    named = [tmp_path / "bundle", "--key", signing.verifier_key()]
    return subprocess.run([sys.executable, "-I", "-S", VERIFIER, *named], capture_output=True, text=True).stdout


def test_it_verifies_inside_and_offline(tmp_path):
    report = verify_all()
    assert (report.faults, report.runs) == ([], 0)  # they belong to none
    assert (AuditEntry.objects.filter(run=SHELF).count(), LogLeaf.objects.filter(run=SHELF).count()) == (2, 2)
    assert verify_one(SHELF)[2] == []
    others = [pk for pk in bundles.runs_since(None) if pk != SHELF]  # councils that tests before these leave
    assert offline(tmp_path).startswith(f"Intact: {1 + len(others)} records")


def test_a_row_that_says_something_else_is_found(tmp_path):
    ROWS[SHELF][1] = "Persuasion"
    sentence, detail = verify_all().faults[0].text, verify_all().faults[0].detail
    assert sentence.startswith("The book of put was changed after ")
    assert detail == 'book is "Persuasion", the record says "Emma"'
    assert f"(record {SHELF}, entry 2: facts book" in offline(tmp_path)


def test_a_row_without_an_entry_is_found(tmp_path):
    ROWS[SHELF].append("Villette")
    assert problems() == [(SHELF, "It has what no entry tells of: put.")]
    assert f"It has what no entry tells of, or an entry was deleted. (record {SHELF}, entry 3: put)" in offline(
        tmp_path
    )


def test_rows_without_a_chain_are_found(tmp_path):
    ROWS[OTHER] = ["Emma"]
    assert problems() == [(OTHER, "It has no entries.")]
    assert f"record {OTHER}" in offline(tmp_path)


def test_a_chain_without_rows_is_found():
    ROWS.clear()
    assert problems() == [(SHELF, "Its entries are here, and what they tell of is gone.")]


def test_its_own_rule_is_asked():
    put(SHELF, "Emma")
    assert problems() == [(SHELF, "A book is there twice.")]
