"""Verifies records of MAGI offline, as docs/audit.md says. Exit status 0: intact, 1: not, 2: nothing readable."""

import argparse
import base64
import hmac
import json
import os
import re
from datetime import datetime, timedelta
from functools import cache, reduce
from hashlib import sha256, sha512

P, L = 2**255 - 19, 2**252 + 27742317777372353535851937790883648493  # of Ed25519, RFC 8032
D, SQRT_M1 = -121665 * pow(121666, -1, P) % P, pow(2, (P - 1) // 4, P)
WEIGHTS = {"1": 1, "2": 4, "3": 5}  # of the rounds, in tenths
NOTE = re.compile(r"((\S+)\n([1-9]\d{0,17})\n([A-Za-z0-9+/]{43}=)\n)\n— (\S+) ([A-Za-z0-9+/]{90}[AEIMQUYcgkosw048]=)\n")
HIDDEN = re.compile(r"[\0-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")  # what a reason may not have
FORGED = (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError)  # what odd files lead to
canonical = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False).encode


def add(one, other):
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


def is_signed(word, message, signature):
    name, number, key = word.split("+", 2)  # a verifier key
    key = base64.b64decode(key, validate=True)
    if len(key) != 33 or key[0] != 1 or sha256(f"{name}\n".encode() + key).hexdigest()[:8] != number:
        raise ValueError("this is no verifier key")
    k = int.from_bytes(sha512(signature[:32] + key[1:] + message).digest(), "little") % L
    s, (x, y), base = int.from_bytes(signature[32:], "little"), point_of(key[1:]), point_of(b"\x58" + b"\x66" * 31)
    found, steps = (0, 1), [(0, 1), base, (-x, y), add(base, (-x, y))]
    for bit in range(252, -1, -1):  # s times the base point, less k times the key
        found = add(add(found, found), steps[(s >> bit & 1) + 2 * (k >> bit & 1)])
    written = (found[1] | (found[0] & 1) << 255).to_bytes(32, "little")
    return len(signature) == 64 and s < L and written == signature[:32]


@cache
def checkpoint(note, word):  # the size and the root of the log by it
    found = NOTE.fullmatch(note)
    text, log, size, root, by, signature = found.groups() if found else [""] * 6
    signed, (name, number, _) = base64.b64decode(signature), word.split("+", 2)
    if {log, by} != {name} or signed[:4].hex() != number or not is_signed(word, text.encode(), signed[4:]):
        raise ValueError("the checkpoint is not signed by this log")
    return int(size), base64.b64decode(root)


def differences(found, expected, where):
    if isinstance(found, dict) and isinstance(expected, dict):
        for name in sorted({*found, *expected}):
            yield from differences(found.get(name, "missing"), expected.get(name, "missing"), f"{where}{name} ")
    elif found is not expected and canonical(found) != canonical(expected):
        yield f"{where}is {canonical(found):.99}, expected {canonical(expected):.99}"


def examine(record, word, logged, roots):
    """What is wrong with a record, each with its place in it. What it tells of the log is added to logged and roots."""
    entries, leaves, votes, prev = record["entries"], record["leaves"], {}, "0" * 64
    said = {name: record[name] for name in ("id", "entries", "leaves", "checkpoint")}
    head = entries[-1]["hash"] if entries else "that of an entry"
    said.update(form="magi-record/1", log=word.split("+")[0], key=word, record_hash=head)
    yield from differences(record, said, ": ")
    for seq, entry in enumerate(entries, 1):
        where, later, texts = f", entry {seq}: ", {other["kind"] for other in entries[seq:]}, entry["texts"]
        if entry["line"] is None:
            yield f"{where}{entry['kind']} is in no entry"
            continue
        key = bytes.fromhex(next((leaf["salt"] for leaf in leaves if leaf["seq"] >= seq), None) or "")
        line = json.loads(entry["line"])
        untold = "redacted" in later or (entry["kind"] == "ended" and "retried" in later)
        if untold and (texts or ("redacted" in later and key)):
            yield f"{where}a later entry took its texts away, and they or their key are still there"
        digests = {n: hmac.new(key, f"{seq} {n}\n{text}".encode(), "sha256").hexdigest() for n, text in texts.items()}
        row = {**entry, "form": "magi-entry/1", "run": record["id"], "place": seq, "prev": prev, "maker": line["maker"]}
        row["texts"] = line["texts"] if untold and texts == {} else digests
        hashed = {"hash": sha256(entry["line"].encode()).hexdigest(), "line": canonical(line), "place": line["seq"]}
        yield from differences(row, {**line, **hashed}, where)
        yield from examine_rule(entry, entry["facts"] or {}, texts, votes, f"{where}by the rule ")
        ends = [one["facts"]["status"] for one in entries[: seq - 1] if one["kind"] == "ended"]
        if entry["kind"] == "retried" and ends[-1:] not in ([], ["failed"]):
            yield f"{where}only what failed is tried again"
        prev = entry["hash"]
    size, root = checkpoint(record["checkpoint"], word) if record["checkpoint"] is not None else (0, b"")
    roots.add((size, root))
    last = {"index": -1, "seq": 0}
    for leaf in leaves:
        index, seq, where = leaf["index"], leaf["seq"], f", entry {leaf['seq']}: leaf {leaf['index']} "
        said = {name: leaf[name] for name in ("index", "seq", "head", "at", "prev")}
        node = sha256(b"\0" + canonical({**said, "form": "magi-leaf/1", "run": record["id"]}).encode()).digest()
        said.update(head=entries[seq - 1]["hash"], hash=node.hex(), salt=leaf["salt"] or None)
        said["proof"] = (leaf["proof"] or []) if index < size else None
        yield from differences(leaf, said, where)
        proven = index >= size or by_proof(node, index, size, leaf["proof"]) == root
        written = re.fullmatch("[0-9a-f]*", (leaf["salt"] or "") + "".join(leaf["proof"] or ()))
        if not (proven and written and last["index"] < index and last["seq"] < seq) or index in logged:
            yield f"{where}does not lead to the checkpoint, goes backwards or is there twice"
        last, logged[index] = leaf, (leaf["prev"], node, datetime.fromisoformat(leaf["at"][:19]), record["id"])
    if last["seq"] != len(entries):
        yield ": the log ends elsewhere than its entries do"


def examine_rule(entry, facts, texts, votes, where):
    """A decision against its answer, an end against the votes so far, which are kept as in {"A1": "approve"}."""
    if made := facts.get("decision"):
        step = f"{made['seat']}{made['round']}"
        if step != facts["step"] or step in votes or not re.fullmatch("[ABC][123]", step):
            yield f"{where}{step} was not asked for there, or is there twice"
        votes[step] = made["decision"]
        if "answer" in texts:
            answer = json.loads(texts["answer"])
            reason = HIDDEN.sub(lambda found: json.dumps(found[0])[1:-1], answer["reason"].strip())
            answer["reason"] = reason if len(reason) <= 4000 else f"{reason[:4000]} …"
            yield from differences({"decision": made["decision"], "reason": texts.get("reason")}, answer, where)
    if entry["kind"] == "ended":
        won = {seat: sum(WEIGHTS[n] for n in WEIGHTS if votes.get(seat + n) == "approve") for seat in "ABC"}
        verdict = "approved" if sum(score >= 5 for score in won.values()) >= 2 else "rejected"
        ruled = None if facts["status"] != "finished" else verdict if len(votes) == 9 else "none without nine decisions"
        scores = {seat: f"{score // 10}.{score % 10}" for seat, score in won.items()}
        yield from differences(facts, {**facts, "scores": scores, "verdict": ruled}, where)


def by_proof(node, index, size, path):  # the root that it leads to, as in RFC 6962
    if not path:
        return node if size == 1 else b""
    left, other = 1 << (size - 1).bit_length() - 1, bytes.fromhex(path[-1])
    if index < left:
        return sha256(b"\1" + by_proof(node, index, left, path[:-1]) + other).digest()
    return sha256(b"\1" + other + by_proof(node, index - left, size - left, path[:-1])).digest()


def examine_log(leaves, roots, anchors):  # the last two: sizes of the log, each with its root
    told, peaks = {}, []
    for index, (prev, node, at, run) in sorted(leaves.items()):
        before = leaves.get(index - 1)
        if before and (prev != before[1].hex() or before[2] - at > timedelta(days=1)):
            yield f"leaf {index}, of record {run}, does not follow the one before it, or is a day older"
        if index == len(told):  # all leaves so far are here
            while index & 1:
                node, index = sha256(b"\1" + peaks.pop() + node).digest(), index >> 1
            peaks.append(node)
            told[len(told) + 1] = reduce(lambda right, left: sha256(b"\1" + left + right).digest(), reversed(peaks))
    known, named = {*told, *dict(roots)}, {*dict(anchors)}
    if named and (max(named) > max(known) or not known & named):
        yield f"the anchor at {max(named)} cannot be held against it: it is cut, or export all, or with --anchor"
    twice = (size for size, root in sorted(roots | anchors) if told.setdefault(size, root) != root)
    yield from (f"its first {size} leaves are told in two ways" for size in twice)


def verify(lines, word, anchor, counts):  # every problem in a sentence; counts learns how many records are what
    leaves, roots = {}, {(0, b"")}
    for number, line in enumerate(lines, 1):
        name, counts["records"] = f"Line {number}", number
        try:
            record = json.loads(line)
            name, word = f"Record {record['id']}", word or record["key"]
            yield from differences(line.decode().rstrip("\n"), canonical(record), f"{name}: its line ")
            yield from (name + problem for problem in examine(record, word, leaves, roots))
            counts["redacted"] += any(entry["kind"] == "redacted" for entry in record["entries"])
            counts["not yet in a checkpoint"] += any(leaf["proof"] is None for leaf in record["leaves"])
        except FORGED as error:
            yield f"{name}: it cannot be verified ({type(error).__name__}: {error})"
    anchors = {checkpoint(found[0], word) for found in NOTE.finditer(anchor)}
    if not counts["records"] or len(NOTE.findall(anchor)) != anchor.count("\n\n— ") or (anchor and not anchors):
        raise ValueError("there is no record in it, or not every checkpoint of the anchor can be read")
    yield from (f"The log: {problem}" for problem in examine_log(leaves, roots, anchors))
    counts["leaves of the log are not in it"] = max(max(roots)[0] - len(leaves), 0)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", help="a record, or a bundle with a record on each line")
    parser.add_argument("--key", help="the verifier key of the log; get it from somebody you trust")
    parser.add_argument("--anchor", help="a file with checkpoints that were kept elsewhere")
    options, counts = parser.parse_args(), dict.fromkeys(("records", "redacted", "not yet in a checkpoint"), 0)
    try:
        with open(options.file, "rb") as file, open(options.anchor or os.devnull, encoding="utf-8") as anchor:
            problems = list(verify(file, options.key, anchor.read(), counts))
    except (OSError, *FORGED) as error:
        parser.exit(2, f"It cannot be read: {error}\n")
    for problem in problems:  # in ASCII: what is in a forged file must do nothing to a terminal
        print(problem.encode("unicode_escape").decode())
    vouched = "" if options.key else "; nobody vouches for the key, which is the file's own: name one with --key"
    print("Not intact:" if problems else "Intact:", ", ".join(f"{n} {what}" for what, n in counts.items()) + vouched)
    raise SystemExit(bool(problems))
