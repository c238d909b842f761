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

from engine.evidence import bundles, signing
from engine.evidence.audit import verify_all
from engine.evidence.findings import Report
from engine.evidence.log import Leaf
from runs.export import bundle
from tests.audit_load import fill
from tests.corpus import CASES, INSIDE
from tests.corpus.history import History, forget, make
from tests.databases import tampering
from tests.verifier import VERIFIER, run_here

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module", autouse=True)
def history(django_db_setup: None, django_db_blocker: Any) -> Iterator[History]:
    """Judgements: approved, rejected with a change of mind, failed and retried, cancelled, noted, receipted."""
    with django_db_blocker.unblock():
        made = History(**make())
        yield made
        forget(made.before)


def first_bad(report: Report, history: History) -> str:
    names = {pk: name for name, pk in vars(history).items() if isinstance(pk, UUID)}
    return names.get(report.faults[0].run, "log") if report.faults else "none"


def offline(history: History, folder: Path, run: Callable[..., tuple[int, str, str]] = run_here) -> tuple[int, str]:
    """What the verifier says of all records as they are now, without a new checkpoint: exit status and words."""
    bundles._kept.clear()  # each export is a process of its own
    (folder / "bundle").write_text("".join(bundle(bundles.runs_since(None), bundles.tree())), newline="\n")
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


def test_a_thousand_honest_records_raise_no_alarm(history: History) -> None:
    fill(11 * 1_000, prompt_length=50)
    report = verify_all(history.anchor)
    assert (report.faults, report.runs) == ([], 1_007)


@pytest.mark.parametrize("name", CASES)
def test_it_is_found_inside_and_offline(name: str, history: History, tmp_path: Path) -> None:
    whose, tamper = CASES[name]
    with tampering():
        tamper(history)
    report = verify_all(history.anchor)
    assert first_bad(report, history) == whose, report.faults
    status, said = offline(history, tmp_path)
    assert status == (name not in INSIDE), said
    assert name in INSIDE or whose == "log" or re.search(f"record {getattr(history, whose)}", said, re.IGNORECASE), said


def test_a_key_of_another_installation_vouches_for_nothing(history: History, settings: Any) -> None:
    settings.SIGNING_KEY = bytes(32)
    assert signing.name() not in history.anchor
    said = [str(problem) for problem in verify_all(history.anchor).faults]
    assert said == [
        "The key of this installation is another one than the log was signed with."
        f" (the log: checkpoint {Leaf.objects.count()})"
    ]
