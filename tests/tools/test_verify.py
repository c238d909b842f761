"""What the offline verifier says of a bundle, honest or not."""

import csv
import io
import json
import os
import re

import pytest
from django.core.management import call_command

from engine.audit import bundles
from engine.ledger import hashing, signing
from engine.ledger.checkpoints import Checkpoint
from judgements.models import Council, Judgement
from runs.record.export import FORMATS
from tests.tools.offline import cancelled, export, summary, verify, verify_in_a_process
from tests.verifier import VERIFIER

pytestmark = pytest.mark.django_db


def test_an_honest_export_is_intact(bundle):
    status, said = verify_in_a_process(bundle, "--key", signing.verifier_key())
    councils = Council.objects.exists()  # they have one record; a flush before this test has taken them away
    assert (status, said) == (0, summary(records=5 + councils))


def test_the_key_of_the_file_itself_is_vouched_for_by_nobody(bundle):
    status, (said,) = verify(bundle)
    assert status == 3
    assert said.startswith("Consistent with itself, nobody vouches for it")


def test_another_key_is_not_that_of_the_record(bundle, settings):
    settings.SIGNING_KEY = bytes(range(32))
    status, (said, summary) = verify(bundle, "--key", signing.verifier_key())
    assert status == 1
    assert said.startswith("5 of 5 records are not signed with this key: it is the wrong key, or they are forged.")
    assert summary.startswith("Not intact: ")


def test_a_problem_is_a_sentence_that_names_the_record_and_the_entry(bundle):
    first, *rest = bundle.read_text().split("\n")
    record = json.loads(first)
    record["entries"][9]["texts"]["reason"] = "Because I say so."
    place = f"record {record['id']}, entry 10"
    bundle.write_text("\n".join([hashing.canonical(record), *rest]))
    status, said = verify(bundle, "--key", signing.verifier_key())
    assert status == 1
    changed = r"The reason of attempt [ABC][123] was changed after \d+ \w+ \d+, \d\d:\d\d UTC\. "
    assert re.match(rf"{changed}\({place}: texts reason is ", said[0])
    assert all(place in line for line in said[:-1])
    assert said[-1].startswith("Not intact: 5 records")


def test_bad_usage_and_a_file_that_is_not_there_have_a_status_of_their_own():
    for words in ((), ("nowhere",), ("x", "--receipt", "y"), (os.devnull,), (VERIFIER, "--anchor", VERIFIER)):
        assert verify(*words)[0] == 2, words


def test_what_a_forged_file_says_does_nothing_to_a_terminal(bundle):
    record = json.loads(bundle.read_text().split("\n")[0])
    bundle.write_text(hashing.canonical(record | {"id": "\x1b[2J\nall intact", "form": "\x1b]0;"}) + "\n")
    status, said = verify(bundle, "--key", signing.verifier_key())
    assert status == 1
    assert all(line.isascii() and line.isprintable() for line in said)
    assert said[0].startswith("The head of the record was changed. (record \\x1b[2J\\nall intact: form is")


def test_what_is_not_in_a_file_is_said(bundle):
    bundle.write_text(bundle.read_text().split("\n")[0] + "\n")
    status, said = verify(bundle, "--key", signing.verifier_key())
    assert (status, said) == (0, summary(records=1, elsewhere=12))


def test_a_file_without_a_record_has_a_status_of_its_own(tmp_path):
    for wrong in (b"\xff\xfe\n", b"{}\n", b"[]\n", b"null", b"\n\n", b"[" * 100_000, b'{"a": 1}', b'{"entries":[{'):
        (tmp_path / "wrong").write_bytes(wrong)
        status, said = verify(tmp_path / "wrong", "--key", signing.verifier_key())
        assert (status, said) == (2, ["Nothing was verified: there is no record in the file"])


def unproven(line):
    """A record as somebody makes one up: its hashes fit each other, and no checkpoint knows of it."""
    record = json.loads(line)
    for leaf in record["leaves"]:
        leaf["proof"] = None
    return hashing.canonical(record | {"checkpoint": None})


def test_a_record_without_a_proof_beside_those_with_a_newer_checkpoint_is_named(bundle):
    _, second, *rest = bundle.read_text().split("\n")
    bundle.write_text("\n".join([unproven(second), *rest]))
    status, said = verify(bundle, "--key", signing.verifier_key())
    assert status == 1
    assert said[0].startswith("It has no proof, and a checkpoint is newer: forged, or export it anew. (record ")
    assert all(json.loads(second)["id"] in line for line in said[:-1])


def test_a_record_without_a_proof_is_proven_by_all_leaves_of_the_log(bundle):
    first, *rest = bundle.read_text().split("\n")
    bundle.write_text("\n".join([unproven(first), *rest]))
    status, said = verify(bundle, "--key", signing.verifier_key())
    assert (status, said[0].startswith("Intact")) == (0, True)


def test_only_what_was_submitted_since_then_is_exported(bundle, tmp_path):
    assert len(export(tmp_path, "--since", "2020-01-01").read_text().split("\n")) == 6
    assert export(tmp_path, "--since", "2999-01-01").read_text() == ""


def test_all_records_of_a_file_are_by_one_checkpoint(bundle, mira):
    before, write = Checkpoint.objects.get().note, FORMATS["evidence.jsonl"].begun(None)
    cancelled(mira)
    Checkpoint.objects.make()
    bundles._kept.clear()  # as a minute later
    lines = write(list(Judgement.objects.all()), "").split("\n")[:-1]
    assert {json.loads(line)["checkpoint"] for line in lines} == {before, None}


def test_a_table_is_that_of_the_history(bundle, tmp_path):
    text = export(tmp_path, "--format", "csv").read_text().removeprefix("\ufeff")
    rows = csv.DictReader(io.StringIO(text, newline=""))
    assert [row["outcome"] for row in rows] == ["approved", "rejected", "approved", "cancelled", "error"]


def test_the_command_checkpoint_prints_keeps_and_makes_none_twice(bundle, capsys, settings):
    call_command("checkpoint")
    call_command("checkpoint")
    said = capsys.readouterr()
    assert said.out == Checkpoint.objects.get().note * 2
    assert signing.verifier_key() in said.err
    assert settings.CHECKPOINT_FILE.read_text().count(Checkpoint.objects.get().note) == 1
