"""The corpus: what somebody with the whole database could do to the record, and that each of it is found.

Every case changes the same honest history and is rolled back. An attacker may lift the triggers, knows how the hashes
are made and may even have the signing key; what was sent away before is out of reach.
"""

import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from django.db import transaction

from engine.audit import bundles, full_verification
from engine.audit.full_verification import verify_all
from engine.ledger import signing
from engine.ledger.merkle_log import LogLeaf
from engine.ledger.report import VerificationReport
from runs.record.export import evidence_bundle
from tests.conftest import EVERYTHING
from tests.corpus import CASES, INSIDE
from tests.corpus.history import History, make
from tests.databases import tampering
from tests.load.audit_load import fill
from tests.verifier import VERIFIER, run_here

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("read_once")]
PARTS = 4


@pytest.fixture(scope="module", autouse=True)
def history(django_db_setup: Callable[[], None], django_db_blocker: Any) -> Iterator[History]:
    """Judgements: approved, rejected with a change of mind, failed and retried, cancelled, noted, receipted."""
    with django_db_blocker.unblock():
        made = History(**make())
        yield made
        django_db_setup()


def first_bad(report: VerificationReport, history: History) -> str:
    names = {pk: name for name, pk in vars(history).items() if isinstance(pk, UUID)}
    return names.get(report.faults[0].run, "log") if report.faults else "none"


def offline(history: History, folder: Path, run: Callable[..., tuple[int, str, str]] = run_here) -> tuple[int, str]:
    """What the verifier says of all records as they are now, without a new checkpoint: exit status and words."""
    bundles._kept.clear()  # each export is a process of its own
    (folder / "bundle").write_text("".join(evidence_bundle(bundles.runs_since(None), bundles.tree())), newline="\n")
    (folder / "anchor").write_text(history.anchor)
    named = [folder / "bundle", "--key", signing.verifier_key(), "--anchor", folder / "anchor"]
    status, said, complained = run(*named)
    assert complained == ""
    return status, said


def in_a_process(*words: Any) -> tuple[int, str, str]:
    """As an auditor runs the verifier, with nothing but Python."""
    done = subprocess.run([sys.executable, "-I", "-S", VERIFIER, *words], capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


def test_the_history_itself_is_intact(history: History, tmp_path: Path) -> None:
    assert verify_all(history.anchor).faults == []
    status, said = offline(history, tmp_path, in_a_process)
    assert status == 0, said
    assert offline(history, tmp_path) == (status, said)


def test_many_honest_records_raise_no_alarm(history: History) -> None:
    many = 1_000 if EVERYTHING else 250  # more than are verified at once
    fill(11 * many, prompt_length=50)
    report = verify_all(history.anchor)
    assert (report.faults, report.runs) == ([], many + 7)


@pytest.mark.parametrize("part", range(PARTS))
def test_it_is_found_inside_and_offline(
    part: int, history: History, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In four parts, so that no test takes long. That the guards themselves are missed: tests/engine/test_guards.py."""
    monkeypatch.setattr(full_verification, "_verify_guards", lambda report: None)  # they are lifted once for all cases
    missed = []
    with tampering():
        for name in list(CASES)[part::PARTS]:
            before = transaction.savepoint()
            CASES[name][1](history)
            missed += not_found(name, history, tmp_path)
            transaction.savepoint_rollback(before)
    assert not missed


def not_found(name: str, history: History, folder: Path) -> Iterator[str]:
    """What is said of a case by the site or by the auditors' program in place of what is so."""
    whose, _ = CASES[name]
    report = verify_all(history.anchor)
    if first_bad(report, history) != whose:
        yield f"{name}, inside: {report.faults}"
    if name in INSIDE and not EVERYTHING:
        return
    status, said = offline(history, folder)
    named = name in INSIDE or whose == "log" or re.search(f"record {getattr(history, whose)}", said, re.IGNORECASE)
    if status != (name not in INSIDE) or not named:
        yield f"{name}, offline: {said}"


def test_a_key_of_another_installation_vouches_for_nothing(history: History, settings: Any) -> None:
    settings.SIGNING_KEY = bytes(32)
    assert signing.name() not in history.anchor
    said = [str(problem) for problem in verify_all(history.anchor).faults]
    assert said == [
        "The key of this installation is another one than the log was signed with."
        f" (the log: checkpoint {LogLeaf.objects.count()})"
    ]
