"""The page that looks at evidence says of every file what the program says of it: of the corpus of forgeries (by `make
test` twenty of them; the program sees all), of honest files and of what is none, in one visit of a real browser."""

import asyncio
import json
import zipfile
from hashlib import sha256
from io import BytesIO
from random import Random
from typing import Any, NamedTuple

import pytest
from django.contrib.auth.models import User
from django.db import transaction
from playwright.sync_api import Page, expect

from engine.ledger import signing
from engine.ledger.hashing import GENESIS_HASH, canonical
from missions import workspace
from runs.forking import fork
from runs.procedure.spec import specs
from runs.record.document import record_line
from runs.record.evidence_file import build_evidence_file
from tests.acceptance.test_old_records import VERIFIER_KEY, VERSIONS, exported_by
from tests.conftest import some_of
from tests.contract import OFFLINE, play, played
from tests.corpus import CASES
from tests.corpus.history import History, make
from tests.databases import tampering
from tests.test_tampering import offline
from tests.verifier import run_here

PLATES = {0: "intact", 1: "changed", 2: "none", 3: "alone"}


class File(NamedTuple):
    name: str
    data: bytes
    key: str
    anchor: str
    plate: str


def plate_of(status: int, said: str) -> str:
    """Of what the program says. What nobody has signed yet is green to nobody, whoever names a key."""
    return "alone" if status == 0 and " 0 not yet in a checkpoint" not in said else PLATES[status]


def said_of(name: str, data: bytes, key: str, folder: Any) -> File:
    (folder / "file").write_bytes(data)
    status, said, _ = run_here(folder / "file", *(["--key", key] if key else []))
    return File(name, data, key, "", plate_of(status, said))


def forged(history: Any, folder: Any) -> list[File]:
    files = []
    with tampering():  # once for all: to take the guards down takes longer than a forgery
        for name, (_, tamper) in some_of(CASES.items(), 20):
            with transaction.atomic():
                tamper(history)
                plate = plate_of(*offline(history, folder))
                data = (folder / "bundle").read_bytes()
                files.append(File(name, data, signing.verifier_key(), history.anchor, plate))
                transaction.set_rollback(True)
    return files


def honest(history: Any, folder: Any) -> list[File]:
    key = signing.verifier_key()
    packed = build_evidence_file(history.approved, "judgement")
    with zipfile.ZipFile(BytesIO(packed)) as archive:
        record = archive.read(next(name for name in archive.namelist() if name.endswith("record.json")))
    stored = BytesIO()
    with zipfile.ZipFile(stored, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("magi/record.json", record)
    plate = said_of("record", record, key, folder).plate
    assert plate == "intact"
    return [
        File("evidence.zip", packed, key, "", plate),
        File("stored.zip", stored.getvalue(), key, "", plate),
        said_of("one that was asked again", record_line(history.noted).encode(), key, folder),
        said_of("record without a key", record, "", folder),
        said_of("one letter", record.replace(b"bridge", b"fridge", 1), key, folder),
        *unproven(record, key, folder),
        said_of("another key", record, VERIFIER_KEY, folder),
        said_of("nothing", b"", key, folder),
        said_of("no JSON", b"\x89PNG", key, folder),
        said_of("another file", json.dumps({"a": 1}).encode(), key, folder),
        File("half a zip", packed[: len(packed) // 2], key, "", "none"),
        *(said_of(f"older {one}", old(one), VERIFIER_KEY, folder) for one in some_of(VERSIONS, 2)),
    ]


def unproven(record: bytes, key: str, folder: Any) -> list[File]:
    """Its newest leaf is another, or is proven otherwise: all that tells is the root that the checkpoint has signed."""
    files = []
    for name in ("another leaf", "another proof", "half a proof"):
        said = json.loads(record)
        leaf = said["leaves"][-1]
        if name == "another leaf":
            leaf["at"] = said["leaves"][0]["at"]
            leaf["hash"] = node_of(leaf, said["id"])
        elif name == "another proof":
            leaf["proof"][-1] = leaf["hash"]
        else:
            leaf["proof"].pop()
        files.append(said_of(name, (canonical(said) + "\n").encode(), key, folder))
    assert {file.plate for file in files} == {"changed"}
    return files


def of_kinds(owner: User, folder: Any) -> list[File]:
    """A record of each kind; and made anew with another fact, so that its rule alone can tell."""
    die, files = Random(7), []
    for kind in OFFLINE:
        line = record_line(played(kind, owner).pk)
        files.append(said_of(kind, line.encode(), "", folder))
        for number in some_of(range(4), 2):
            files.append(said_of(f"{kind} {number}", made_anew(line, die).encode(), "", folder))
    return files


def of_forks(owner: User, folder: Any) -> list[File]:
    """A fork of each kind beside its origin, and beside another origin than it names."""
    kinds = [
        kind for kind in OFFLINE if specs()[kind].forks and not (kind == "mission" and workspace.missing_programs())
    ]
    files = []
    for kind in kinds:
        origin = specs()[kind].rows().get(pk=played(kind, owner).pk)
        made = asyncio.run(play(fork(origin, 1, owner=owner).pk))
        lines = [record_line(one) for one in (origin.pk, made.pk)]
        files.append(said_of(f"fork of a {kind}", "".join(lines).encode(), "", folder))
        other = json.loads(lines[0])
        other["entries"][0]["facts"]["other"] = True
        files.append(said_of(f"fork of another {kind}", (hashed_anew(other) + lines[1]).encode(), "", folder))
    assert [file.plate for file in files] == ["alone", "changed"] * len(kinds)
    return files


def made_anew(line: str, die: Random) -> str:
    """The record with one fact changed and all hashes worked out again; nobody has signed it."""
    record = json.loads(line)
    entry = die.choice([entry for entry in record["entries"] if entry["facts"]])
    name = die.choice(sorted(entry["facts"]))
    other = die.choice([one["facts"] for one in record["entries"] if name in (one["facts"] or {})])[name]
    entry["facts"][name] = (
        other if other != entry["facts"][name] else die.choice([None, 0, 1, "", "approve", "done", []])
    )
    return hashed_anew(record)


def hashed_anew(record: dict[str, Any]) -> str:
    prev, hashes = GENESIS_HASH, {}
    for one in record["entries"]:
        one["line"] = canonical({**json.loads(one["line"]), "facts": one["facts"], "prev": prev})
        one["hash"] = prev = sha256(one["line"].encode()).hexdigest()
    for leaf in record["leaves"]:
        before = hashes.get(leaf["index"] - 1, leaf["prev"])
        leaf |= {"head": record["entries"][leaf["seq"] - 1]["hash"], "prev": before, "proof": None}
        leaf["hash"] = hashes[leaf["index"]] = node_of(leaf, record["id"])
    return canonical({**record, "record_hash": prev, "checkpoint": None}) + "\n"


def node_of(leaf: dict[str, Any], run: str) -> str:
    said = {name: leaf[name] for name in ("at", "head", "index", "prev", "seq")}
    return sha256(b"\0" + canonical({**said, "form": "magi-leaf/1", "run": run}).encode()).hexdigest()


def old(version: str) -> bytes:
    return exported_by(version)


@pytest.fixture(scope="module")
def files(django_db_setup: Any, django_db_blocker: Any, tmp_path_factory: pytest.TempPathFactory) -> list[File]:
    """Each with what the program says of it."""
    folder = tmp_path_factory.mktemp("corpus")
    with django_db_blocker.unblock():
        made = History(**make())
        try:
            return [
                *honest(made, folder),
                *forged(made, folder),
                *of_kinds(made.mira, folder),
                *of_forks(made.mira, folder),
            ]
        finally:
            django_db_setup()


def plate_in(page: Page, file: File) -> str:
    page.evaluate("document.documentElement.removeAttribute('data-checked')")
    page.locator("#anchor").evaluate("(field, text) => { field.value = text }", file.anchor)
    page.locator("#key").evaluate("(field, text) => { field.value = text }", file.key)
    page.locator("#file").set_input_files({"name": "file", "mimeType": "application/octet-stream", "buffer": file.data})
    return page.locator("html[data-checked]").get_attribute("data-checked") or ""


def test_the_page_says_of_every_file_what_the_program_says(files, visitor):
    said = {file.name: plate_in(visitor, file) for file in files}
    assert said == {file.name: file.plate for file in files}
    assert {*said.values()} == {"intact", "changed", "none", "alone"}


def test_what_came_out_is_said_and_no_empty_key_makes_it_green(files, visitor):
    record = next(file for file in files if file.name == "record without a key")
    plate_in(visitor, record)
    expect(visitor.locator("#plate")).to_have_text("Nobody vouches")
    visitor.get_by_label("Public key").fill("magi/nonsense")
    expect(visitor.locator("#key-err")).to_have_text("This is no key of a log.")
    expect(visitor.locator("#said")).to_be_hidden()
    visitor.get_by_label("Public key").fill(signing.verifier_key())
    expect(visitor.locator("#plate")).to_have_text("Intact")
    expect(visitor.locator("#announcer")).to_contain_text("Intact. It is unchanged since")
    visitor.get_by_label("Public key").fill(" ")
    expect(visitor.locator("#plate")).to_have_text("Nobody vouches")
    plate_in(visitor, next(file for file in files if file.name == "one letter"))
    expect(visitor.locator("#lead")).to_contain_text("The content was changed after")
    plate_in(visitor, next(file for file in files if file.name == "another leaf"))
    expect(visitor.locator("#lead")).to_contain_text("Its place in the log is not what the checkpoint vouches for")


@pytest.fixture(scope="module")
def visitor(browser, site):
    """Somebody without an account, from whose page no request goes out once it is there."""
    context = browser.new_context()
    page = context.new_page()
    complaints: list[str] = []
    page.on("console", lambda message: message.type == "error" and complaints.append(message.text))
    answer = page.goto(f"{site.url}/check/")
    assert "connect-src 'none'" in (answer.headers["content-security-policy"] if answer else "")
    page.evaluate("Promise.all([...document.fonts].map(font => font.load()))")
    page.on("request", lambda request: complaints.append(request.url))
    context.set_offline(True)
    yield page
    context.close()
    assert complaints == []
