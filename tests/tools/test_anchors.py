"""A bundle, held against checkpoints that somebody else keeps; and one whose texts were erased."""

import base64

import pytest

from engine.ledger import checkpoints, signing
from engine.ledger.checkpoints import Checkpoint
from engine.ledger.merkle_log import DigestSalt
from engine.models import Run
from judgements.models import ExpectedReceipt, Judgement, Receipt
from runs import reviews, run_actions
from runs.record.redaction import redact_run
from tests.databases import tampering
from tests.tools.offline import cancelled, export, summary, verify
from tests.verifier import run_here

pytestmark = pytest.mark.django_db


CUT = "The log is cut, or not all of it is here: export all, or with --anchor. (the anchor at {})"


def test_an_anchor_of_an_earlier_log_is_held_against_all_leaves(bundle, mira, tmp_path):
    anchor = tmp_path / "anchor"
    anchor.write_text(f"Mail of last week:\n\n{Checkpoint.objects.get().note}\n")
    cancelled(mira)
    key = ("--key", signing.verifier_key())
    whole = export(tmp_path)
    assert verify(whole, *key, "--anchor", anchor)[0] == 0
    whole.write_text(whole.read_text().split("\n")[-2] + "\n")
    status, said = verify(whole, *key, "--anchor", anchor)
    assert (status, said[0]) == (1, CUT.format(14))


def test_an_export_with_an_anchor_leads_to_that_anchor(bundle, mira, tmp_path):
    anchor = tmp_path / "anchor"
    anchor.write_text(Checkpoint.objects.get().note)
    cancelled(mira)
    status, said = verify(export(tmp_path, "--anchor", anchor), "--key", signing.verifier_key(), "--anchor", anchor)
    assert (status, said) == (0, summary(records=6, since=1))


def test_a_log_that_is_shorter_than_the_anchor_is_cut(bundle, mira, tmp_path):
    cancelled(mira)
    anchor = tmp_path / "anchor"
    anchor.write_text(checkpoints.make_and_send().note)
    status, said = verify(bundle, "--key", signing.verifier_key(), "--anchor", anchor)
    assert (status, said[0]) == (1, CUT.format(16))


def test_the_newest_of_many_anchors_has_to_be_compared(bundle, mira, tmp_path):
    anchor, notes = tmp_path / "anchor", [Checkpoint.objects.get().note]
    for _ in range(2):
        cancelled(mira)
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


def test_an_empty_option_is_not_one_that_was_left_out(bundle):
    for words in (("--key", ""), ("--key", "x"), ("--anchor", ""), ("--key", "", "--anchor", "")):
        status, (said,) = verify(bundle, *words)
        assert (status, said[:21]) == (2, "Nothing was verified:"), words


@pytest.mark.parametrize("names", [False, True])
def test_a_redacted_record_is_intact_without_its_texts(approved_judgement, tmp_path, names):
    judgement = approved_judgement
    redact_run(judgement.pk, "mira", "It is time.", names=names)
    key = ("--key", signing.verifier_key())
    assert verify(export(tmp_path), *key) == (0, summary(records=1, redacted=1))
    with tampering():
        Run.objects.filter(pk=judgement.pk).update(title="Still here")
    status, said = verify(export(tmp_path), *key)
    assert status == 1
    assert said[0].startswith("A later entry took its texts away, and they or their key are still there.")


def test_a_name_that_a_redaction_left_cannot_be_changed(approved_judgement, tmp_path):
    judgement = approved_judgement
    redact_run(judgement.pk, "mira", "It is time.")
    with tampering():
        Run.objects.filter(pk=judgement.pk).update(asked_by="noor")
    status, said = verify(export(tmp_path), "--key", signing.verifier_key())
    assert (status, said[0][:39]) == (1, "The name of who asked was changed after")


def test_a_redacted_failure_is_intact_without_its_message(failed_judgement, tmp_path):
    redact_run(failed_judgement.pk, "mira", "It is time.")
    status, said = verify(export(tmp_path), "--key", signing.verifier_key())
    assert (status, said) == (0, summary(records=1, redacted=1))


def test_a_record_is_intact_after_two_redactions_and_a_note_in_between(approved_judgement, mira, tmp_path):
    judgement = approved_judgement
    redact_run(judgement.pk, "mira", "It is time.")
    reviews.add_review(judgement.run, mira, "A note.")
    redact_run(judgement.pk, "mira", "Once more.")
    reviews.add_review(judgement.run, mira, "Another note.")
    assert verify(export(tmp_path), "--key", signing.verifier_key()) == (0, summary(records=1, redacted=1))


def test_texts_that_are_gone_without_a_redaction_are_missed(approved_judgement, tmp_path):
    judgement = approved_judgement
    with tampering():
        Run.objects.filter(pk=judgement.pk).update(title="")
        Judgement.objects.filter(pk=judgement.pk).update(content="")
        DigestSalt.objects.all().delete()
    assert verify(export(tmp_path), "--key", signing.verifier_key())[0] == 1


def test_a_judgement_that_is_tried_again_and_goes_on_is_intact_so_far(failed_judgement, mira, tmp_path):
    run_actions.retry(failed_judgement, mira)
    cancelled(mira)
    assert verify(export(tmp_path), "--key", signing.verifier_key()) == (0, summary(records=2))


def test_receipts_are_entries_like_all_others(approved_judgement, mira, tmp_path):
    receipt = Receipt.objects.issue(approved_judgement, mira)
    Receipt.objects.consume(receipt, mira, ExpectedReceipt(None, rehearsal=True))
    assert verify(export(tmp_path), "--key", signing.verifier_key()) == (0, summary(records=1))
