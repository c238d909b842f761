"""Verifies records and receipts of MAGI offline; docs/audit.md tells how they are made and what this proves.

Standard library only, Python 3.9 or newer. Exit status 0: intact, 1: not, 2: bad usage or no readable file.
"""

import argparse
import base64
import hashlib
import hmac
import json
import os
import re
from datetime import datetime, timedelta, timezone
from functools import cache, reduce

P, L = 2**255 - 19, 2**252 + 27742317777372353535851937790883648493
D, SQRT_M1 = -121665 * pow(121666, -1, P) % P, pow(2, (P - 1) // 4, P)
WEIGHTS, NOTHING = {1: 1, 2: 4, 3: 5}, "0" * 64
BASE64 = "[A-Za-z0-9+/]"
NOTE = re.compile(rf"((\S+)\n(0|[1-9]\d{{0,17}})\n({BASE64}{{43}}=)\n)\n— (\S+) ({BASE64}{{90}}[AEIMQUYcgkosw048]=)\n")
HIDDEN = re.compile(r"[\0-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")  # what a reason may not have
UUID, HASH = '"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"', '"[0-9a-f]{64}"'
TIME, TEXT, SIGNATURE = r'"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{6})?Z"', '".+"', f'"{BASE64}{{85}}[AQgw]=="'
RECEIPT = {  # each field as canonical JSON
    **{"form": '"magi-receipt/1"', "id": UUID, "log": TEXT, "judgement": UUID, "verdict": TEXT, "record_hash": HASH},
    **{"council": f"null|{TEXT}", "audience": f"null|{TEXT}", "content_sha256": HASH, "rehearsal": "true|false"},
    **{"issued": TIME, "expires": TIME, "signature": SIGNATURE},
}
FORGED = (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError)  # what odd files lead to
canonical = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False).encode


def add(one, other):
    """Two points of Ed25519 (RFC 8032)."""
    (x, y), (u, v) = one, other
    d = D * x * y * u * v
    both = pow(1 - d * d, -1, P)
    return (x * v + u * y) * (1 - d) * both % P, (y * v + x * u) * (1 + d) * both % P


def point_of(data):
    y, sign = int.from_bytes(data, "little") & (1 << 255) - 1, data[31] >> 7
    square = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    x = pow(square, (P + 3) // 8, P)
    x = x if x * x % P == square else x * SQRT_M1 % P
    if y >= P or x * x % P != square or (sign and not x):
        raise ValueError("the key is no point of the curve")
    return x if x & 1 == sign else P - x, y


def is_signed(key, message, signature):
    k = int.from_bytes(hashlib.sha512(signature[:32] + key + message).digest(), "little") % L
    s, (x, y) = int.from_bytes(signature[32:], "little"), point_of(key)
    found, base = (0, 1), point_of(b"\x58" + b"\x66" * 31)
    for bit in range(252, -1, -1):  # s times the base point, less k times the key
        found = add(found, found)
        found = add(found, base) if s >> bit & 1 else found
        found = add(found, (-x, y)) if k >> bit & 1 else found
    written = (found[1] | (found[0] & 1) << 255).to_bytes(32, "little")
    return len(signature) == 64 and s < L and written == signature[:32]


def read(text):
    """One JSON object, no key of it there twice. ValueError for anything else."""
    value = json.loads(text, object_pairs_hook=lambda pairs: dict(pairs) if len(dict(pairs)) == len(pairs) else None)
    if not isinstance(value, dict):
        raise ValueError("this is not one JSON object with each key once")
    return value


def unhex(text):
    if not re.fullmatch("([0-9a-f]{2})*", text):
        raise ValueError("it has other signs than hexadecimal digits")
    return bytes.fromhex(text)


def key_of(word):
    """The name, the id and the public key in a verifier key: NAME+ID+KEY."""
    name, number, data = word.split("+", 2)
    key = base64.b64decode(data, validate=True)
    if len(key) != 33 or key[0] != 1 or hashlib.sha256(f"{name}\n".encode() + key).hexdigest()[:8] != number:
        raise ValueError("this is no verifier key")
    return name, unhex(number), key[1:]


@cache
def checkpoint(note, word):
    """The size and the root of the log by this note."""
    (name, number, key), found = key_of(word), NOTE.fullmatch(note)
    text, log, size, root, by, signature = found.groups() if found else ("", "", 0, "", "", "")
    signature = base64.b64decode(signature)
    if {log, by} != {name} or signature[:4] != number or not is_signed(key, text.encode(), signature[4:]):
        raise ValueError("the checkpoint is not signed by this log")
    return int(size), base64.b64decode(root)


def differences(found, expected, where=""):
    if isinstance(found, dict) and isinstance(expected, dict):
        for name in sorted({*found, *expected}):
            yield from differences(found.get(name, "missing"), expected.get(name, "missing"), f"{where}{name} ")
    elif canonical(found) != canonical(expected):
        yield f"{where}is {canonical(found):.99}, expected {canonical(expected):.99}"


def examine(record, word, log):
    """What is wrong with a record, each with the number of the entry. Its leaves and its root are added to the log."""
    sealed = [entry for entry in record["entries"] if entry["line"] is not None]
    yield from ((0, f"{entry['kind']} is in no entry") for entry in record["entries"] if entry["line"] is None)
    if not sealed or not record["ended"]:
        yield 0, "it is not over: there is nothing to verify yet"
        return
    for seq, entry in enumerate(sealed, 1):
        prev, later = sealed[seq - 2]["hash"] if seq > 1 else NOTHING, {other["kind"] for other in sealed[seq:]}
        salt = next((leaf["salt"] for leaf in record["leaves"] if leaf["seq"] >= seq), None)
        yield from ((seq, text) for text in examine_entry(entry, record["id"], seq, prev, salt, later))
        yield from ((seq, text) for text in examine_decision(entry["facts"] or {}, entry["texts"]))
    said, end = readable(record, sealed, word), [entry["facts"] for entry in sealed if entry["kind"] == "ended"][-1]
    scores = {agent["seat"]: agent["score"] for agent in said["agents"]}
    ruled = {**end, "scores": scores, "verdict": said["verdict"], "rehearsal": said["rehearsal"]}
    yield from ((0, text) for text in (*differences(record, said), *differences(end, ruled, "by the rule ")))
    yield from examine_leaves(record, sealed, word, log)


def examine_entry(entry, run, seq, prev, salt, later):
    """Its line against its hash, its place and its row. `later`: the kinds of the entries that follow."""
    line, texts = read(entry["line"]), entry["texts"]
    erased = "redacted" in later
    without_row = entry["kind"] in ("retried", "redacted") or (entry["kind"] == "ended" and "retried" in later)
    digests = line["texts"]
    if erased and (texts or salt):
        yield "it was redacted, and its texts or their key are still there"
    elif texts or not (erased or without_row):
        key = unhex(salt or "")
        digests = {n: hmac.new(key, f"{seq} {n}\n{text}".encode(), "sha256").hexdigest() for n, text in texts.items()}
    row = {
        **entry,
        "texts": digests,
        "form": "magi-entry/1",
        "run": run,
        "prev": prev,
        "place": seq,
        "maker": line["maker"],
    }
    hashed = {"hash": hashlib.sha256(entry["line"].encode()).hexdigest(), "line": canonical(line)}
    yield from differences(row, {**line, **hashed, "place": line["seq"]})


def examine_decision(facts, texts):
    made = facts.get("decision")
    if made and facts["step"] != f"{made['seat']}{made['round']}":
        yield "its decision was not asked for there"
    if made and "answer" in texts:
        answer = read(texts["answer"])
        reason = HIDDEN.sub(lambda found: json.dumps(found[0])[1:-1], answer["reason"].strip())
        answer["reason"] = reason if len(reason) <= 4000 else f"{reason[:4000]} …"
        yield from differences({"decision": made["decision"], "reason": texts["reason"]}, answer, "by its answer, ")


def examine_leaves(record, sealed, word, log):
    size, root = checkpoint(record["checkpoint"], word) if record["checkpoint"] else (0, b"")
    log["roots"].setdefault(size, set()).add(root)
    last = {"index": -1, "seq": 0}
    for leaf in record["leaves"]:
        index, seq = leaf["index"], leaf["seq"]
        said = {name: leaf[name] for name in ("index", "seq", "head", "at", "prev")}
        line = canonical({**said, "form": "magi-leaf/1", "run": record["id"]}).encode()
        node = hashlib.sha256(b"\0" + line).digest()
        proven = index < size and by_proof(node, index, size, leaf["proof"]) == root
        said.update(head=sealed[seq - 1]["hash"], hash=node.hex(), salt=leaf["salt"])
        said["proof"] = leaf["proof"] if proven else None if index >= size else "one that leads to the checkpoint"
        yield from ((seq, text) for text in differences(leaf, said, f"leaf {index} "))
        if index <= last["index"] or seq <= last["seq"] or index in log["leaves"]:
            yield seq, f"leaf {index} goes backwards, or is there twice"
        last, log["leaves"][index] = leaf, (leaf["prev"], node)
    if last["seq"] != len(sealed):
        yield len(sealed), "the log ends elsewhere than its entries do"


def readable(record, sealed, word):
    """What the record must say by its entries and by the rule."""
    first, end = sealed[0], [entry for entry in sealed if entry["kind"] == "ended"][-1]
    calls = [(entry["facts"], entry["texts"]) for entry in sealed if entry["kind"] == "attempt"]
    agents = [judged(agent, calls) for agent in first["facts"]["agents"]]
    votes, status = [agent["verdict"] for agent in agents], end["facts"]["status"]
    ruled = "approved" if votes.count("approved") >= 2 else "rejected"
    verdict = ruled if status == "finished" and len(votes) == 3 and None not in votes else None
    error, council = end["facts"]["error"], first["facts"]["council"] or {"name": None, "version": None}
    done = min((len(agent["decisions"]) for agent in agents), default=0)
    return {
        **{name: record[name] for name in ("id", "url", "revision", "entries", "leaves", "checkpoint")},
        **{"form": "magi-record/1", "log": key_of(word)[0], "key": word, "record_hash": sealed[-1]["hash"]},
        **{"title": first["texts"].get("title", ""), "content": first["texts"].get("content", ""), "agents": agents},
        **{"council": council["name"], "council_version": council["version"], "earlier": first["facts"]["earlier"]},
        **{"asked_by": first["texts"].get("asked by"), "cancelled_by": end["texts"].get("cancelled by")},
        **{"status": verdict or {"failed": "error"}.get(status, status), "verdict": verdict, "round": min(done + 1, 3)},
        **{"created": first["at"], "started": end["facts"]["started"], "ended": end["at"]},
        **{"prompt_version": first["facts"]["prompt_version"], "retries": end["facts"]["retries"]},
        "usage": used([facts for facts, _ in calls]),
        "error": error and {**error, "message": end["texts"].get("error", "")},
        "rehearsal": any(agent["model"].startswith("rehearsal/") for agent in agents),
    }


def judged(agent, calls):
    """An agent as it must be: with its decisions, its score and its verdict."""
    made = [
        {
            **{name: facts["decision"][name] for name in ("round", "decision")},
            **{name: facts[name] for name in ("model", "answered_by")},
            **{"reason": texts.get("reason", ""), "attempts": facts["attempt"]},
        }
        for facts, texts in calls
        if facts["decision"] and facts["decision"]["seat"] == agent["seat"]
    ]
    score = sum(WEIGHTS[one["round"]] for one in made if one["decision"] == "approve")
    whole = [one["round"] for one in made] == list(WEIGHTS)
    verdict = ("approved" if score >= 5 else "rejected") if whole else None
    said = {"score": f"{score // 10}.{score % 10}", "verdict": verdict, "decisions": made}
    return {**agent, **said, "fallback": agent["fallback"] or None}


def used(calls):
    unpriced = any(call["input_tokens"] is not None and call["cost"] is None for call in calls)
    cost = sum(call["cost"] or 0 for call in calls)
    return {
        **{name: sum(call[name] or 0 for call in calls) for name in ("input_tokens", "output_tokens")},
        "calls": len(calls),
        "estimated": any(call["estimated"] for call in calls),
        "dollars": None if unpriced else f"{cost // 10**9}.{cost % 10**9:09}".rstrip("0").rstrip("."),
    }


def parent(left, right):
    return hashlib.sha256(b"\1" + left + right).digest()


def by_proof(node, index, size, path):
    """The root that a leaf's proof leads to; nothing where the proof has not the length of that place."""
    last, others = size - 1, [unhex(text) for text in path]
    while last and others:
        if index & 1 or index < last:
            other = others.pop(0)
            node = parent(other, node) if index & 1 else parent(node, other)
        index, last = index // 2, last // 2
    return b"" if last or others else node


def roots_by(leaves, sizes):
    """The root of the log at each of these sizes, as far as all its leaves are here."""
    peaks, size = [], 0
    while size in leaves:
        node, rest, size = leaves[size][1], size, size + 1
        while rest & 1:
            node, rest = parent(peaks.pop(), node), rest >> 1
        peaks.append(node)
        if size in sizes:
            yield size, reduce(lambda right, left: parent(left, right), reversed(peaks))


def examine_log(leaves, roots, anchors):
    """What the leaves and checkpoints of all records say together, and whether the anchors agree."""
    for index, (prev, _) in leaves.items():
        before = leaves.get(index - 1, (None, None))[1] if index else b""
        if before is not None and prev != (before.hex() or NOTHING):
            yield f"leaf {index} does not follow the one before it"
    newest = max(roots, default=0)
    for size, root in roots_by(leaves, {*roots, *anchors}):
        roots.setdefault(size, set()).add(root)
    if anchors and max(anchors) > newest:
        yield f"it is cut, or older than the anchor, which knows {max(anchors)} leaves: this log has {newest}"
    elif anchors and not anchors.keys() & roots.keys():
        yield "no anchor can be held against it: that takes all records, or an export with --anchor"
    for size in sorted(roots):
        if len(roots[size] | anchors.get(size, set())) > 1:
            yield f"its first {size} leaves are told in two ways"


def verify(lines, word, anchors):
    """Say every problem. True if there is none; ValueError for a file without a line, or with a wrong anchor."""
    log, counts, intact = {"leaves": {}, "roots": {}}, {"intact": 0, "redacted": 0, "not yet in a checkpoint": 0}, True
    number = 0
    for number, line in enumerate(lines, 1):
        name, found = f"Line {number}", []
        try:
            record = read(line.decode())
            name, word = f"Record {record['id']}", word or record["key"]
            found += [(0, "it is not written canonically")] if canonical(record) != line.decode().rstrip("\n") else []
            for problem in examine(record, word, log):
                found.append(problem)  # one by one: what was found stays when the rest cannot be read
            counts["redacted"] += not found and any(entry["kind"] == "redacted" for entry in record["entries"])
            counts["not yet in a checkpoint"] += not found and any(leaf["proof"] is None for leaf in record["leaves"])
        except FORGED as error:
            found.append((0, f"it cannot be verified ({type(error).__name__}: {error})"))
        for seq, text in found:
            say(f"{name}{f', entry {seq}' if seq else ''}: {text}")
        counts["intact"] += not found
        intact = intact and not found
    for text in examine_log(log["leaves"], log["roots"], anchors(word or "")):
        intact = say(f"The log: {text}")
    if (there := len(log["leaves"])) < (newest := max(log["roots"], default=0)):
        say(f"The log has {newest} leaves, this file {there} of them: nothing is said of the others.")
    say(f"{counts['intact']} records intact, " + ", ".join(f"{counts[n]} {n}" for n in list(counts)[1:]))
    if not number:
        raise ValueError("there is no record in it")
    return bool(intact)


def anchors_of(text, word):
    found = {}
    for note in NOTE.finditer(text):
        size, root = checkpoint(note[0], word)
        found.setdefault(size, set()).add(root)
    if text and (not found or len(list(NOTE.finditer(text))) != text.count("\n\n\u2014 ")):
        raise ValueError("not every checkpoint of the anchor can be read")
    return found


def refusal(text, content, options):
    """Why a receipt is not accepted, in a sentence; empty where it is."""
    try:
        receipt = read(text)
        (name, _, key), bare = key_of(options.key), {n: v for n, v in receipt.items() if n != "signature"}
        known = all(re.fullmatch(form, canonical(receipt.get(name, []))) for name, form in RECEIPT.items())
        if not known or receipt.keys() != RECEIPT.keys():
            return "This is not a receipt of the form that is known here."
        issued, expires = (datetime.fromisoformat(receipt[n].replace("Z", "+00:00")) for n in ("issued", "expires"))
        signed = is_signed(key, canonical(bare).encode(), base64.b64decode(receipt["signature"]))
    except FORGED as error:
        return f"This is no receipt ({error})."
    now = datetime.fromisoformat(options.now.replace("Z", "+00:00")) if options.now else datetime.now(timezone.utc)
    wrong = {
        "It is not signed with this key: it was changed, or another log made it.": not signed or receipt["log"] != name,
        "It is for another content.": receipt["content_sha256"] != hashlib.sha256(content).hexdigest(),
        "What it is for was not approved.": receipt["verdict"] != "approved",
        "It was approved by a rehearsal: no model was asked.": receipt["rehearsal"] and not options.allow_rehearsal,
        "It is for another audience.": receipt["audience"] != options.audience,
        "It is of another council.": options.council is not None and receipt["council"] != options.council,
        "It expires before it is issued.": expires <= issued,
        "It was issued in the future.": issued > now + timedelta(seconds=60),
        "It has expired.": expires <= now,
    }
    found = next((sentence for sentence, true in wrong.items() if true), "")
    return found or ("It was used already." if options.seen and is_used(receipt["id"], options.seen) else "")


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


def say(text):
    """In ASCII: what is in a forged file must do nothing to a terminal."""
    print(text.encode("unicode_escape").decode())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", nargs="?", help="a record, or a bundle with a record on each line")
    for name in ("key", "anchor", "receipt", "content", "audience", "council", "seen", "now"):
        parser.add_argument(f"--{name}", metavar=name.upper())
    parser.add_argument("--allow-rehearsal", action="store_true")
    options = parser.parse_args()
    if bool(options.file) == bool(options.receipt) or (options.receipt and not (options.content and options.key)):
        parser.error("name a FILE, or --receipt with --content and --key")
    try:
        if options.key:
            key_of(options.key)
        if options.receipt:
            with open(options.receipt, "rb") as receipt, open(options.content, "rb") as content:
                found = refusal(receipt.read().decode(), content.read(), options)
            say(f"Refused. {found}" if found else "Accepted: exactly this content was approved.")
            return 1 if found else 0
        if not options.key:
            say("Nobody vouches for the key: it is the file's own. Get it elsewhere and name it with --key.")
        with open(options.file, "rb") as file, open(options.anchor or os.devnull, encoding="utf-8") as anchor:
            text = anchor.read()
            return 0 if verify(file, options.key, lambda word: anchors_of(text, word)) else 1
    except (OSError, *FORGED) as error:
        say(f"It cannot be read: {error}")
        return 2


if __name__ == "__main__":
    raise SystemExit(main())
