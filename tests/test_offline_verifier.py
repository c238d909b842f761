import argparse
import ast
import base64
import csv
import io
import json
import os
import re
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path
from uuid import uuid4

import pytest
import rfc8785
from asgiref.sync import async_to_sync
from django import conf
from django.contrib.auth.models import User
from django.core.management import call_command
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from engine.evidence import bundles, chain, checkpoints, signing
from engine.evidence.checkpoints import Checkpoint
from engine.evidence.log import Salt
from engine.llm.failures import Unauthorized
from engine.models import Run
from judgements.models import Council, Expected, Judgement, Receipt
from judgements.rules import Verdict
from runs import reviews, steering
from runs.export import KINDS
from runs.redaction import redact
from tests.conftest import JAPAN, ScriptedModels, agents, perform
from tests.databases import once, tampering
from tests.verifier import run_here

TOOLS = Path(__file__).parents[1] / "tools"
VERIFIER, RECEIPTS = TOOLS / "verify.py", TOOLS / "receipt.py"
LINES = 340  # it has to be read by whoever relies on it
pytestmark = pytest.mark.django_db(transaction=True)


def judged(owner, *, content=JAPAN, **said):
    judgement = Judgement.objects.submit(
        owner=owner, content=content, agents=agents("openai/a", "openai/b", "openai/c")
    )
    models = ScriptedModels()
    for letter, answers in said.items():
        models.will(f"openai/{letter}", *answers)
    async_to_sync(perform)(judgement.pk, models)
    return judgement


@pytest.fixture(autouse=True)
def _own_checkpoint_file(settings, tmp_path):
    settings.CHECKPOINT_FILE = tmp_path / "checkpoints"


@pytest.fixture
def bundle(mira: User, reviewer: User, tmp_path: Path) -> Path:
    """Approved, rejected after a complaint, failed and tried again, cancelled, and with reviews."""
    text, anchor = once(exported, mira, reviewer)
    (tmp_path / "checkpoints").write_text(anchor)
    file = tmp_path / "bundle.jsonl"
    file.write_text(text)
    return file


def exported(mira: User, reviewer: User) -> tuple[str, str]:
    judged(mira)
    judged(mira, content="ß \u2028 \U0001f600 \x7f", a=["?", *["reject"] * 3], b=["approve", "reject", "reject"])
    failed = judged(mira, b=[Unauthorized("The key was refused.")])
    steering.retry(failed, mira)
    async_to_sync(perform)(failed.pk, ScriptedModels())
    steering.cancel(Judgement.objects.submit(owner=mira, content="x", agents=agents()), reviewer)
    reviews.add(failed.run, reviewer, "Balthasar misread the criteria.")
    reviews.add(failed.run, reviewer, "Not this week.", Verdict.REJECTED)
    judged(None, b=["nonsense", Unauthorized("The key was refused.")])
    out = io.StringIO()
    call_command("export_records", stdout=out)
    return out.getvalue(), conf.settings.CHECKPOINT_FILE.read_text()


def verify(*words, program=(sys.executable,)):
    command = [*program, "-I", "-S", str(VERIFIER), *map(str, words)]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return done.returncode, done.stdout.splitlines()


def test_an_honest_export_is_intact(bundle):
    status, said = verify(bundle, "--key", signing.verifier_key())
    councils = Council.objects.exists()  # they have one record; a flush before this test has taken them away
    assert (status, said) == (0, summary(records=5 + councils))


def summary(records, redacted=0, since=0, elsewhere=0):
    counts = f"{records} records, {redacted} redacted, {since} not yet in a checkpoint"
    return [f"Intact: {counts}, {elsewhere} leaves of the log are not in it"]


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
    bundle.write_text("\n".join([chain.canonical(record), *rest]))
    status, said = verify(bundle, "--key", signing.verifier_key())
    assert status == 1
    changed = r"The reason of attempt [ABC][123] was changed after \d+ \w+ \d+, \d\d:\d\d UTC\. "
    assert re.match(rf"{changed}\({place}: texts reason is ", said[0])
    assert all(place in line for line in said[:-1])
    assert said[-1].startswith("Not intact: 5 records")


@pytest.mark.parametrize(
    "words", [(), ("nowhere",), ("x", "--receipt", "y"), (os.devnull,), (VERIFIER, "--anchor", VERIFIER)]
)
def test_bad_usage_and_a_file_that_is_not_there_have_a_status_of_their_own(words):
    done = subprocess.run([sys.executable, "-I", "-S", VERIFIER, *words], capture_output=True, text=True)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


def test_what_a_forged_file_says_does_nothing_to_a_terminal(bundle):
    record = json.loads(bundle.read_text().split("\n")[0])
    bundle.write_text(chain.canonical(record | {"id": "\x1b[2J\nall intact", "form": "\x1b]0;"}) + "\n")
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
    return chain.canonical(record | {"checkpoint": None})


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


# ---- anchors and redaction --------------------------------------------------------------------------------


CUT = "The log is cut, or not all of it is here: export all, or with --anchor. (the anchor at {})"


def export(folder, *words):
    file = folder / "again.jsonl"
    with file.open("w") as out:
        call_command("export_records", *map(str, words), stdout=out)
    return file


def test_an_anchor_of_an_earlier_log_is_held_against_all_leaves(bundle, mira, tmp_path):
    anchor = tmp_path / "anchor"
    anchor.write_text(f"Mail of last week:\n\n{Checkpoint.objects.get().note}\n")
    judged(mira)
    key = ("--key", signing.verifier_key())
    whole = export(tmp_path)
    assert verify(whole, *key, "--anchor", anchor)[0] == 0
    whole.write_text(whole.read_text().split("\n")[-2] + "\n")
    status, said = verify(whole, *key, "--anchor", anchor)
    assert (status, said[0]) == (1, CUT.format(14))


def test_an_export_with_an_anchor_leads_to_that_anchor(bundle, mira, tmp_path):
    anchor = tmp_path / "anchor"
    anchor.write_text(Checkpoint.objects.get().note)
    judged(mira)
    status, said = verify(export(tmp_path, "--anchor", anchor), "--key", signing.verifier_key(), "--anchor", anchor)
    assert (status, said) == (0, summary(records=6, since=1))


def test_a_log_that_is_shorter_than_the_anchor_is_cut(bundle, mira, tmp_path):
    judged(mira)
    anchor = tmp_path / "anchor"
    anchor.write_text(checkpoints.make_and_send().note)
    status, said = verify(bundle, "--key", signing.verifier_key(), "--anchor", anchor)
    assert (status, said[0]) == (1, CUT.format(16))


def test_the_newest_of_many_anchors_has_to_be_compared(bundle, mira, tmp_path):
    anchor, notes = tmp_path / "anchor", [Checkpoint.objects.get().note]
    for _ in range(2):
        judged(mira)
        notes.append(checkpoints.make_and_send().note)
    anchor.write_text("\n".join(notes[:2]))
    whole, key = export(tmp_path), ("--key", signing.verifier_key(), "--anchor", anchor)
    assert verify(whole, *key)[0] == 0
    lines = whole.read_text().splitlines(keepends=True)
    whole.write_text("".join([*lines[:5], *lines[6:]]))
    status, said = verify(whole, *key)
    assert (status, said[0]) == (1, CUT.format(16))


def test_an_anchor_of_another_history_is_told_apart(bundle, tmp_path):
    size, other = Checkpoint.objects.get().size, base64.b64encode(bytes(32)).decode()
    anchor = tmp_path / "anchor"
    anchor.write_text(signing.note(f"{signing.name()}\n{size}\n{other}\n"))
    status, said = verify(bundle, "--key", signing.verifier_key(), "--anchor", anchor)
    assert (status, said[0][:50]) == (1, "The log was changed after a checkpoint was signed.")
    assert f"its first {size} leaves are told in two ways" in said[0]


def test_an_anchor_that_is_not_signed_is_none(bundle, tmp_path):
    anchor = tmp_path / "anchor"
    anchor.write_text(Checkpoint.objects.get().note.replace("\n14\n", "\n13\n"))
    status, said = verify(bundle, "--key", signing.verifier_key(), "--anchor", anchor)
    assert (status, said) == (2, ["Nothing was verified: a checkpoint of the anchor is not signed with this key"])


def damaged(note):
    """What may be left of an anchor with two checkpoints: none of it is as good as none."""
    whole = note + note
    yield from (("nothing", ""), ("a line end", "\n"), ("no checkpoint", "Mail of last week"))
    yield from ((f"the first {size} characters", whole[:size]) for size in range(len(note) + 1, len(whole) - 1, 7))
    for line, text in enumerate(note.splitlines()):
        if text:
            yield f"another line {line}", note + note.replace(text, "?" * len(text))
    yield "no UTF-8", whole.encode().replace(b"magi", b"ma\xff\xfe", 1)


def test_an_anchor_that_is_empty_cut_or_damaged_is_an_error(bundle, tmp_path):
    anchor, key = tmp_path / "anchor", ("--key", signing.verifier_key())
    for what, text in damaged(Checkpoint.objects.get().note):
        anchor.write_bytes(text if isinstance(text, bytes) else text.encode())
        status, said, complained = run_here(bundle, *key, "--anchor", anchor)
        assert (status, said, complained.count("\n")) == (2, "", 1), what
        assert complained.startswith("Nothing was verified:"), what


def test_an_anchor_may_lack_its_last_line_end(bundle, tmp_path):
    (tmp_path / "anchor").write_text(
        f"Verify with --key {signing.verifier_key()}\n{Checkpoint.objects.get().note}"[:-1]
    )
    assert verify(bundle, "--key", signing.verifier_key(), "--anchor", tmp_path / "anchor")[0] == 0


@pytest.mark.parametrize("words", [("--key", ""), ("--key", "x"), ("--anchor", ""), ("--key", "", "--anchor", "")])
def test_an_empty_option_is_not_one_that_was_left_out(bundle, words):
    status, (said,) = verify(bundle, *words)
    assert (status, said[:21]) == (2, "Nothing was verified:")


@pytest.mark.parametrize("names", [False, True])
def test_a_redacted_record_is_intact_without_its_texts(mira, tmp_path, names):
    judgement = judged(mira)
    redact(judgement.pk, "mira", "It is time.", names=names)
    key = ("--key", signing.verifier_key())
    assert verify(export(tmp_path), *key) == (0, summary(records=1, redacted=1))
    with tampering():
        Run.objects.filter(pk=judgement.pk).update(title="Still here")
    status, said = verify(export(tmp_path), *key)
    assert status == 1
    assert said[0].startswith("A later entry took its texts away, and they or their key are still there.")


def test_a_name_that_a_redaction_left_cannot_be_changed(mira, tmp_path):
    judgement = judged(mira)
    redact(judgement.pk, "mira", "It is time.")
    with tampering():
        Run.objects.filter(pk=judgement.pk).update(asked_by="noor")
    status, said = verify(export(tmp_path), "--key", signing.verifier_key())
    assert (status, said[0][:39]) == (1, "The name of who asked was changed after")


def test_a_redacted_failure_is_intact_without_its_message(mira, tmp_path):
    redact(judged(mira, b=[Unauthorized("The key was refused.")]).pk, "mira", "It is time.")
    status, said = verify(export(tmp_path), "--key", signing.verifier_key())
    assert (status, said) == (0, summary(records=1, redacted=1))


def test_a_record_is_intact_after_two_redactions_and_a_note_in_between(mira, tmp_path):
    judgement = judged(mira)
    redact(judgement.pk, "mira", "It is time.")
    reviews.add(judgement.run, mira, "A note.")
    redact(judgement.pk, "mira", "Once more.")
    reviews.add(judgement.run, mira, "Another note.")
    assert verify(export(tmp_path), "--key", signing.verifier_key()) == (0, summary(records=1, redacted=1))


def test_texts_that_are_gone_without_a_redaction_are_missed(mira, tmp_path):
    judgement = judged(mira)
    with tampering():
        Run.objects.filter(pk=judgement.pk).update(title="")
        Judgement.objects.filter(pk=judgement.pk).update(content="")
        Salt.objects.all().delete()
    assert verify(export(tmp_path), "--key", signing.verifier_key())[0] == 1


def test_a_judgement_that_is_tried_again_and_goes_on_is_intact_so_far(mira, tmp_path):
    failed = judged(mira, b=[Unauthorized("The key was refused.")])
    steering.retry(failed, mira)
    judged(mira)
    assert verify(export(tmp_path), "--key", signing.verifier_key()) == (0, summary(records=2))


def test_receipts_are_entries_like_all_others(mira, tmp_path):
    Receipt.objects.consume(Receipt.objects.issue(judged(mira), mira), mira, Expected(None, rehearsal=True))
    assert verify(export(tmp_path), "--key", signing.verifier_key()) == (0, summary(records=1))


# ---- the commands -----------------------------------------------------------------------------------------


def test_only_what_was_submitted_since_then_is_exported(bundle, tmp_path):
    assert len(export(tmp_path, "--since", "2020-01-01").read_text().split("\n")) == 6
    assert export(tmp_path, "--since", "2999-01-01").read_text() == ""


def test_all_records_of_a_file_are_by_one_checkpoint(bundle, mira):
    before, write = Checkpoint.objects.get().note, KINDS["evidence.jsonl"].begun()
    judged(mira)
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


# ---- what somebody may do to a file ----------------------------------------------------------------------

sys.path.insert(0, str(TOOLS))
import receipt as receipts  # noqa: E402
import verify as verifier  # noqa: E402


def is_intact(lines, key):
    lines = [line if isinstance(line, bytes) else line.encode(errors="surrogatepass") for line in lines]
    try:
        return not list(verifier.verify(lines, key, "", Counter()))
    except ValueError:  # there is no record left
        return False


def places(value, path=()):
    """The path to everything in a record, itself included."""
    yield path
    for name in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield from places(value[name], (*path, name))


def parent_of(value, path):
    for name in path[:-1]:
        value = value[name]
    return value


def other(value, draw):
    """A value of the same kind that is another one, or of another kind."""
    if isinstance(value, str) and value and draw(st.booleans()):
        place = draw(st.integers(0, len(value) - 1))
        return value[:place] + draw(st.sampled_from(["", "x", "0", " ", "\u200b", "A"])) + value[place + 1 :]
    return draw(st.sampled_from([None, 0, 1, -1, True, False, "", "x", [], {}, 10**30, 1.5, "\ud800"]))


class Lines(list):
    """The lines of a bundle; a test that fails shows only what was done to them."""

    done = "nothing was done"

    def __repr__(self):
        return self.done


@st.composite
def forged(draw, lines):
    """The lines with one thing changed, deleted, doubled or put in the place of another."""
    records = [json.loads(line) for line in lines]
    record = draw(st.integers(0, len(records) - 1))
    path = draw(st.sampled_from([path for path in places(records[record]) if path]))
    within, name, how = parent_of(records[record], path), path[-1], draw(st.sampled_from(list(FORGERIES)))
    FORGERIES[how](within, name, draw)
    changed = Lines(chain.canonical(one) + "\n" for one in records)
    changed.done = f"{how} {record} {path}"
    return changed


def change(within, name, draw):
    within[name] = other(within[name], draw)


def delete(within, name, draw):
    del within[name]


def swap(within, name, draw):
    second = draw(st.sampled_from(sorted(within) if isinstance(within, dict) else range(len(within))))
    within[name], within[second] = within[second], within[name]


def double(within, name, draw):
    if isinstance(within, list):
        within.insert(name, within[name])
    else:
        within[f"{name} too"] = within[name]


FORGERIES = {"change": change, "delete": delete, "swap": swap, "double": double}


def test_whatever_is_changed_in_a_bundle_is_found(bundle):
    lines, key = Lines(io.StringIO(bundle.read_text(), newline="\n")), signing.verifier_key()
    assert is_intact(lines, key)

    @given(forged(lines))
    @settings(max_examples=300)
    def found(changed):
        assume(changed != lines)
        assert not is_intact(changed, key)

    found()


def test_whatever_byte_of_a_bundle_is_changed_is_found(bundle):
    data, key = bundle.read_bytes(), signing.verifier_key()
    record = data.split(b"\n")[0] + b"\n"

    def readable(text):
        try:
            return json.loads(text)
        except ValueError:
            return None

    @given(st.integers(0, len(record) - 2), st.integers(0, 255), st.sampled_from(["put", "insert", "delete"]))
    @settings(max_examples=300)
    def found(place, byte, how):
        new = b"" if how == "delete" else bytes([byte])
        changed = record[:place] + new + record[place + (how != "insert") :]
        assume(changed != record and readable(changed) != readable(record))
        assert not is_intact([changed], key)

    found()


# ---- receipts ---------------------------------------------------------------------------------------------

NOW = "2026-11-21T12:00:00Z"
CONTENT = "Send 40 € to Noor."
PAYMENTS = {"id": 3, "name": "Payments", "version": 2}


def receipt(**changed):
    """A receipt as the site signs one, with these fields in place of its own."""
    fields = {
        "form": "magi-receipt/2",
        "id": str(uuid4()),
        "log": signing.name(),
        "judgement": str(uuid4()),
        "verdict": "approved",
        "council": PAYMENTS,
        "agents_sha256": "cd" * 32,
        "audience": "till",
        "content_sha256": sha256(CONTENT.encode()).hexdigest(),
        "rehearsal": False,
        "record_hash": "ab" * 32,
        "issued": "2026-11-21T11:59:00Z",
        "expires": "2026-11-21T12:05:00Z",
    } | changed
    if fields["form"] == "magi-receipt/1":
        del fields["agents_sha256"]
    signature = signing.sign(chain.canonical(fields).encode())
    return fields | {"signature": base64.b64encode(signature).decode()}


def use(receipt, *options, folder, content=CONTENT, key=None, audience="till", council="3"):
    """The exit status and what the verifier says to a receipt: an object, or a text."""
    (folder / "receipt").write_text(receipt if isinstance(receipt, str) else json.dumps(receipt))
    (folder / "content").write_text(content)
    options = (*options, "--audience", audience) if audience else options
    options = (*options, "--council", council) if council else options
    named = [folder / "receipt", "--content", folder / "content", "--key", key or signing.verifier_key(), "--now", NOW]
    done = subprocess.run([sys.executable, "-E", "-S", RECEIPTS, *named, *options], capture_output=True, text=True)
    assert done.stderr == "" or (done.returncode == 2 and "Traceback" not in done.stderr)
    return done.returncode, done.stdout.splitlines()


@pytest.mark.parametrize("words", [(), ("nowhere",), ("x", "--content", "x", "--key", "y")])
def test_bad_usage_of_a_receipt_has_a_status_of_its_own(words):
    done = subprocess.run([sys.executable, "-E", "-S", RECEIPTS, *words], capture_output=True, text=True)
    assert (done.returncode, "Traceback" in done.stderr) == (2, False)


@pytest.mark.parametrize(
    ("changed", "council", "options"),
    [
        ({}, "3", ()),
        ({}, "Payments", ("--version", "2")),
        ({"council": None}, "none", ()),
        ({}, "none", ()),
        ({"rehearsal": True}, "3", ("--allow-rehearsal",)),
        ({"form": "magi-receipt/1", "council": "Payments"}, "Payments", ()),
        ({"form": "magi-receipt/1", "council": None}, "none", ()),
    ],
)
def test_an_honest_receipt_is_accepted(tmp_path, changed, council, options):
    said = (0, ["Accepted: exactly this content was approved, by whom you expect."])
    assert use(receipt(**changed), *options, folder=tmp_path, council=council) == said


@pytest.mark.parametrize(
    ("changed", "council", "options", "who"),
    [
        ({}, "Travel", (), 'version 2 of the council "Payments" (id 3)'),
        ({}, "payments", (), 'version 2 of the council "Payments" (id 3)'),
        ({}, "4", (), 'version 2 of the council "Payments" (id 3)'),
        ({}, "3", ("--version", "1"), 'version 2 of the council "Payments" (id 3)'),
        ({"council": PAYMENTS | {"name": "4"}}, "4", (), 'version 2 of the council "4" (id 3)'),
        ({"council": None}, "3", (), "agents of the asker's own"),
        ({"council": None}, "Payments", (), "agents of the asker's own"),
        ({"form": "magi-receipt/1", "council": "Payments"}, "3", (), 'the council "Payments"'),
        ({"form": "magi-receipt/1", "council": "Payments"}, "Payments", ("--version", "2"), 'the council "Payments"'),
        ({"form": "magi-receipt/1", "council": "3"}, "3", (), 'the council "3"'),
    ],
)
def test_a_receipt_of_another_council_is_refused(tmp_path, changed, council, options, who):
    said = use(receipt(**changed), *options, folder=tmp_path, council=council)
    assert said == (1, [f"Refused. It was judged by {who}."])


@pytest.mark.parametrize(
    ("council", "options"),
    [
        ("", ()),
        ("", ("--council", "")),
        ("none", ("--version", "1")),
        ("3", ("--version", "0")),
        ("3", ("--version", "x")),
    ],
)
def test_who_does_not_say_whose_approval_counts_is_told_so(tmp_path, council, options):
    assert use(receipt(), *options, folder=tmp_path, council=council)[0] == 2


@pytest.mark.parametrize(
    ("changed", "options", "said"),
    [
        ({"expires": "2026-11-21T12:00:00Z"}, (), "It has expired."),
        ({"issued": "2026-11-21T12:01:01Z", "expires": "2026-11-21T12:05:00Z"}, (), "It was issued in the future."),
        ({"issued": "2026-11-21T11:59:00Z", "expires": "2026-11-21T11:58:00Z"}, (), "It expires before it is issued."),
        ({"verdict": "rejected"}, (), "What it is for was not approved."),
        ({"rehearsal": True}, (), "It was approved by a rehearsal: no model was asked."),
        ({"audience": "bank"}, (), "It is for another audience."),
        ({"audience": None}, (), "It is for another audience."),
        ({"audience": "till 2"}, (), "It is for another audience."),
        ({"log": "magi/0123456789abcdef"}, (), "It is not signed with this key"),
        ({"form": "magi-receipt/3"}, (), "not a receipt of the form that is known here"),
        ({"form": "magi-receipt/1"}, (), "not a receipt of the form that is known here"),
        ({"council": "Payments"}, (), "not a receipt of the form that is known here"),
        ({"council": PAYMENTS | {"more": 1}}, (), "not a receipt of the form that is known here"),
        ({"council": PAYMENTS | {"pay": 1}}, (), "not a receipt of the form that is known here"),
        ({"council": PAYMENTS | {"version": True}}, (), "not a receipt of the form that is known here"),
        ({"agents_sha256": None}, (), "not a receipt of the form that is known here"),
        ({"note": "more"}, (), "not a receipt of the form that is known here"),
        ({"rehearsal": 0}, (), "not a receipt of the form that is known here"),
        ({"issued": "yesterday"}, (), "not a receipt of the form that is known here"),
        ({"expires": "2026-13-21T12:05:00Z"}, (), "This is no receipt"),
    ],
)
def test_a_receipt_that_is_not_for_this_is_refused(tmp_path, changed, options, said):
    status, (sentence,) = use(receipt(**changed), *options, folder=tmp_path)
    assert status == 1
    assert sentence.startswith("Refused. ")
    assert said in sentence


def test_a_receipt_is_for_one_content_to_the_byte(tmp_path):
    assert use(receipt(), folder=tmp_path, content=f"{CONTENT}\n") == (1, ["Refused. It is for another content."])


def test_a_receipt_is_used_once(tmp_path):
    once, twice = receipt(), receipt()
    seen = ("--seen", str(tmp_path / "seen"))
    assert use(once, *seen, folder=tmp_path, audience="bank")[0] == 1
    assert use(once, *seen, folder=tmp_path, audience=None)[0] == 1
    assert use(once, *seen, folder=tmp_path)[0] == 0
    assert use(twice, *seen, folder=tmp_path)[0] == 0
    assert use(once, *seen, folder=tmp_path) == (1, ["Refused. It was used already."])


def test_a_list_of_used_receipts_without_a_name_is_an_error(tmp_path):
    assert use(receipt(), "--seen", "", folder=tmp_path)[0] == 2


@pytest.mark.parametrize("key", ["", "x", "x+00000000+"])
def test_what_is_no_verifier_key_accepts_no_receipt(tmp_path, key):
    (tmp_path / "receipt").write_text(json.dumps(receipt()))
    (tmp_path / "content").write_text(CONTENT)
    words = [tmp_path / "receipt", "--content", tmp_path / "content", "--key", key, "--council", "3"]
    done = subprocess.run([sys.executable, "-E", "-S", RECEIPTS, *words], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "It cannot be read: this is no verifier key\n")


def test_of_two_that_use_a_receipt_at_once_one_is_refused(tmp_path):
    found, text = receipt(), CONTENT.encode()
    options = argparse.Namespace(
        key=signing.verifier_key(),
        audience="till",
        council=3,
        version=None,
        allow_rehearsal=False,
        now=NOW,
        seen=tmp_path / "seen",
    )
    with ThreadPoolExecutor(8) as pool:
        said = list(pool.map(lambda _: receipts.refusal(json.dumps(found), text, options), range(8)))
    assert sorted(said) == ["", *["It was used already."] * 7]


@pytest.mark.parametrize("name", receipts.RECEIPT)
def test_a_receipt_with_any_field_changed_or_missing_is_refused(tmp_path, name):
    honest = receipt(rehearsal=False)
    values = {"rehearsal": True, "verdict": "approved ", "signature": base64.b64encode(bytes(64)).decode()}
    changed = values.get(name, str(honest[name])[:-1] + ("1" if str(honest[name])[-1] != "1" else "2"))
    assert use(honest | {name: changed}, folder=tmp_path)[0] == 1
    assert use({key: value for key, value in honest.items() if key != name}, folder=tmp_path)[0] == 1


def test_a_receipt_is_one_json_object_with_each_key_once(tmp_path):
    text = json.dumps(receipt())
    for wrong in ("", "[]", "null", text + text, text[:-1], '{"verdict": "approved", ' + text[1:], "[" * 100_000):
        assert use(wrong, folder=tmp_path)[0] == 1


def test_a_receipt_of_another_key_is_refused(tmp_path, settings):
    stranger = signing.verifier_key()
    settings.SIGNING_KEY = bytes(range(32))
    status, said = use(receipt(), folder=tmp_path, key=stranger)
    assert (status, said[0][:40]) == (1, "Refused. It is not signed with this key:")
    assert use(receipt(), folder=tmp_path)[0] == 0


# ---- the verifier itself ----------------------------------------------------------------------------------

# RFC 8032, 7.1: secret key, public key, message, signature
VECTORS = [
    (
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
        "",
        "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
    ),
    (
        "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
        "72",
        "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00",
    ),
    (
        "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
        "af82",
        "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a",
    ),
]


def word_of(key):
    """The verifier key of a log with the name x."""
    typed = b"\x01" + key
    number = sha256(b"x\n" + typed).hexdigest()[:8]
    return f"x+{number}+{base64.b64encode(typed).decode()}"


@pytest.mark.parametrize(("key", "message", "signature"), VECTORS)
def test_the_vectors_of_rfc_8032_are_verified(key, message, signature):
    key, message, signature = word_of(bytes.fromhex(key)), bytes.fromhex(message), bytes.fromhex(signature)
    assert verifier.is_signed(key, message, signature)
    assert not verifier.is_signed(key, message + b"x", signature)
    assert not verifier.is_signed(key, message, bytes([signature[0] ^ 1]) + signature[1:])
    malleable = int.from_bytes(signature[32:], "little") + verifier.L
    assert not verifier.is_signed(key, message, signature[:32] + malleable.to_bytes(32, "little"))
    assert not verifier.is_signed(key, message, signature + b"\0")
    assert not verifier.is_signed(key, message, signature[:63])


@pytest.mark.parametrize("y", [2**255 - 19, 2**255 - 18, 2, 1 | 1 << 255])
def test_a_key_that_is_no_point_or_not_written_in_the_one_way_is_refused(y):
    with pytest.raises(ValueError, match="no point"):
        verifier.is_signed(word_of(y.to_bytes(32, "little")), b"", bytes(64))


@given(st.binary(max_size=100), st.integers(0, 63), st.integers(0, 7))
@settings(max_examples=30)
def test_its_ed25519_agrees_with_that_of_the_site(message, place, bit):
    signature = bytearray(signing.sign(message))
    assert verifier.is_signed(signing.verifier_key(), message, bytes(signature))
    signature[place] ^= 1 << bit
    assert not verifier.is_signed(signing.verifier_key(), message, bytes(signature))


FACTS = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(max_codepoint=127)), inner),
)


@given(FACTS)
def test_canonical_json_is_that_of_rfc_8785(value):
    assert chain.canonical(value).encode() == rfc8785.dumps(value)
    assert verifier.canonical(value) == chain.canonical(value)


def test_it_needs_nothing_but_the_standard_library_and_is_short():
    for file, more in ((VERIFIER, set()), (RECEIPTS, {"verify"})):
        imports = re.findall(r"^\s*(?:from|import) (\w+)", file.read_text(), re.MULTILINE)
        assert set(imports) <= sys.stdlib_module_names | more
    assert len(VERIFIER.read_text().splitlines()) < LINES


def test_an_old_python_can_read_it():
    for tool in (VERIFIER, VERIFIER.with_name("receipt.py")):
        ast.parse(tool.read_text(), feature_version=(3, 9))
