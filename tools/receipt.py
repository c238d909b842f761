"""Verifies a receipt of MAGI offline, where the action is taken; docs/audit.md tells what it proves.

Standard library and verify.py beside it, Python 3.9 or newer. Exit status 0: accepted, 1: refused, 2: bad usage or no
readable file.
"""

import argparse
import base64
import json
import os
import re
from datetime import datetime, timedelta, timezone
from hashlib import sha256
from pathlib import Path

from verify import NOT_GENUINE, canonical, is_signed

UUID, HASH = '"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"', '"[0-9a-f]{64}"'
TIME, TEXT, NUMBER = r'"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{6})?Z"', r'"([^"\\]|\\.)+"', "[1-9][0-9]*"
OLDER_FORMAT = {  # each field as canonical JSON
    **{"form": '"magi-receipt/1"', "id": UUID, "log": TEXT, "judgement": UUID, "verdict": TEXT, "record_hash": HASH},
    **{"council": f"null|{TEXT}", "audience": f"null|{TEXT}", "content_sha256": HASH, "rehearsal": "true|false"},
    **{"issued": TIME, "expires": TIME, "signature": '"[A-Za-z0-9+/]{85}[AQgw]=="'},
}
COUNCIL = f'null|{{"id":{NUMBER},"name":{TEXT},"version":{NUMBER}}}'
RECEIPT = {**OLDER_FORMAT, "form": '"magi-receipt/2"', "council": COUNCIL, "agents_sha256": HASH}


def read(text):
    """One JSON object, no key of it there twice. ValueError for anything else."""
    value = json.loads(text, object_pairs_hook=lambda pairs: dict(pairs) if len(dict(pairs)) == len(pairs) else None)
    if not isinstance(value, dict):
        raise ValueError("this is not one JSON object with each key once")
    return value


def refusal_reason(text, content, options):
    """Why a receipt is not accepted, in a sentence; empty where it is."""
    try:
        receipt = read(text)
        if not any(is_of(receipt, form) for form in (RECEIPT, OLDER_FORMAT)):
            return "This is not a receipt of the form that is known here."
        issued, expires = (moment(receipt[name]) for name in ("issued", "expires"))
        bare = canonical({name: value for name, value in receipt.items() if name != "signature"}).encode()
        signed = is_signed(options.key, bare, base64.b64decode(receipt["signature"]))
    except NOT_GENUINE as error:
        return f"This is no receipt ({error})."
    now, ours = moment(options.now) if options.now else datetime.now(timezone.utc), options.key.split("+")[0]
    wrong = {
        "It is not signed with this key: it was changed, or another log made it.": not signed or receipt["log"] != ours,
        "It is for another content.": receipt["content_sha256"] != sha256(content).hexdigest(),
        "What it is for was not approved.": receipt["verdict"] != "approved",
        "It was approved by a rehearsal: no model was asked.": receipt["rehearsal"] and not options.allow_rehearsal,
        "It is for another audience.": receipt["audience"] != options.audience,
        f"It was judged by {check_judged_by(receipt)}.": not is_by(receipt, options.council, options.version),
        "It expires before it is issued.": expires <= issued,
        "It was issued in the future.": issued > now + timedelta(seconds=60),
        "It has expired.": expires <= now,
    }
    found = next((sentence for sentence, true in wrong.items() if true), "")
    return found or (
        "It was used already." if options.seen is not None and is_used(receipt["id"], options.seen) else ""
    )


def is_of(receipt, form):
    known = all(re.fullmatch(value, canonical(receipt.get(name, []))) for name, value in form.items())
    return known and receipt.keys() == form.keys()


def is_by(receipt, council, version):
    """Whether this council judged, in this version if one is given. The older form says a council's name alone."""
    found = receipt["council"]
    if council is None:  # whoever judged is accepted
        return True
    if not isinstance(found, dict):
        return found == council and version is None
    known = found["id"] if isinstance(council, int) else found["name"]
    return known == council and version in (None, found["version"])


def check_judged_by(receipt):
    found = receipt["council"]
    if isinstance(found, dict):
        return 'version {version} of the council "{name}" (id {id})'.format(**found)
    return "agents of the asker's own" if found is None else f'the council "{found}"'


def expected_council(word):
    if not word:
        raise ValueError
    return None if word == "none" else int(word) if re.fullmatch("[0-9]+", word) else word


def number(word):
    if not re.fullmatch(NUMBER, word):
        raise ValueError
    return int(word)


def moment(text):
    return datetime.fromisoformat(text.replace("Z", "+00:00"))


def is_used(name, path):
    """Whether the file has it. Then it has."""
    import fcntl  # not everywhere, and only needed here

    with open(path, "a+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        if name in file.read():
            return True
        file.write(f"{name}\n")
        file.flush()
        os.fsync(file.fileno())
    return False


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("receipt")
    for name in ("content", "key"):
        parser.add_argument(f"--{name}", required=True)
    expected = (
        "whose approval counts: a council's id (a number) or name; none: whoever judged, also the asker's own agents"
    )
    parser.add_argument("--council", required=True, type=expected_council, metavar="COUNCIL", help=expected)
    parser.add_argument("--version", type=number, help="that version of the council alone")
    for name in ("audience", "seen", "now"):
        parser.add_argument(f"--{name}")
    parser.add_argument("--allow-rehearsal", action="store_true")
    options = parser.parse_args()
    if options.version and options.council is None:
        parser.error("--version is a council's: say which by --council")
    try:
        is_signed(options.key, b"", bytes(64))  # a key that is none is bad usage
        said = refusal_reason(Path(options.receipt).read_text("utf-8"), Path(options.content).read_bytes(), options)
    except (OSError, *NOT_GENUINE) as error:
        said, status = f"It cannot be read: {error}", 2
    else:
        status = 1 if said else 0
        said = f"Refused. {said}" if said else "Accepted: exactly this content was approved, by whom you expect."
    print(said.encode("unicode_escape").decode())
    return status


if __name__ == "__main__":
    raise SystemExit(main())
