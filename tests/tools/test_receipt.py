"""What the program that accepts receipts says to them."""

import argparse
import base64
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from uuid import uuid4

import pytest

from engine.ledger import hashing, signing
from tests.tools.offline import RECEIPTS, receipts
from tests.verifier import run_here

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
    signature = signing.sign(hashing.canonical(fields).encode())
    return fields | {"signature": base64.b64encode(signature).decode()}


def use(receipt, *options, folder, content=CONTENT, key=None, audience="till", council="3"):
    """The exit status and what the verifier says to a receipt: an object, or a text."""
    (folder / "receipt").write_text(receipt if isinstance(receipt, str) else json.dumps(receipt))
    (folder / "content").write_text(content)
    options = (*options, "--audience", audience) if audience else options
    options = (*options, "--council", council) if council else options
    named = [folder / "receipt", "--content", folder / "content", "--key", key or signing.verifier_key(), "--now", NOW]
    status, said, complained = run_here(*named, *options, program=RECEIPTS)
    assert complained == "" or status == 2
    return status, said.splitlines()


def test_bad_usage_of_a_receipt_has_a_status_of_its_own():
    for words in ((), ("nowhere",), ("x", "--content", "x", "--key", "y")):
        assert run_here(*words, program=RECEIPTS)[0] == 2, words


def test_it_runs_with_nothing_but_python():
    done = subprocess.run([sys.executable, "-E", "-S", RECEIPTS, "nowhere"], capture_output=True, text=True)
    assert (done.returncode, "Traceback" in done.stderr, "usage" in done.stderr) == (2, False, True)


def test_an_honest_receipt_is_accepted(tmp_path):
    said = (0, ["Accepted: exactly this content was approved, by whom you expect."])
    for changed, council, options in (
        ({}, "3", ()),
        ({}, "Payments", ("--version", "2")),
        ({"council": None}, "none", ()),
        ({}, "none", ()),
        ({"rehearsal": True}, "3", ("--allow-rehearsal",)),
        ({"form": "magi-receipt/1", "council": "Payments"}, "Payments", ()),
        ({"form": "magi-receipt/1", "council": None}, "none", ()),
    ):
        assert use(receipt(**changed), *options, folder=tmp_path, council=council) == said, (changed, council)


def test_a_receipt_of_another_council_is_refused(tmp_path):
    for changed, council, options, who in (
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
    ):
        said = use(receipt(**changed), *options, folder=tmp_path, council=council)
        assert said == (1, [f"Refused. It was judged by {who}."]), (changed, council)


def test_who_does_not_say_whose_approval_counts_is_told_so(tmp_path):
    for council, options in (
        ("", ()),
        ("", ("--council", "")),
        ("none", ("--version", "1")),
        ("3", ("--version", "0")),
        ("3", ("--version", "x")),
    ):
        assert use(receipt(), *options, folder=tmp_path, council=council)[0] == 2, (council, options)


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


def test_what_is_no_verifier_key_accepts_no_receipt(tmp_path):
    (tmp_path / "receipt").write_text(json.dumps(receipt()))
    (tmp_path / "content").write_text(CONTENT)
    for key in ("", "x", "x+00000000+"):
        words = [tmp_path / "receipt", "--content", tmp_path / "content", "--key", key, "--council", "3"]
        status, said, _ = run_here(*words, program=RECEIPTS)
        assert (status, said) == (2, "It cannot be read: this is no verifier key\n"), key


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
        said = list(pool.map(lambda _: receipts.refusal_reason(json.dumps(found), text, options), range(8)))
    assert sorted(said) == ["", *["It was used already."] * 7]


def test_a_receipt_with_any_field_changed_or_missing_is_refused(tmp_path):
    honest, accepted = receipt(rehearsal=False), []
    values = {"rehearsal": True, "verdict": "approved ", "signature": base64.b64encode(bytes(64)).decode()}
    for name in receipts.RECEIPT:
        other = values.get(name, str(honest[name])[:-1] + ("1" if str(honest[name])[-1] != "1" else "2"))
        without = {key: value for key, value in honest.items() if key != name}
        accepted += [name for forged in (honest | {name: other}, without) if use(forged, folder=tmp_path)[0] != 1]
    assert not accepted


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
