"""Verifies records of MAGI offline, as docs/audit.md says.

Exit status 0: intact, 1: not, 2: bad usage or a file that cannot be read, 3: consistent, and nobody vouches for it.
"""

import argparse
import base64
import hmac
import json
import re
import unicodedata
from collections import Counter, defaultdict
from datetime import datetime, timedelta
from functools import cache, reduce
from hashlib import sha256, sha512
from math import inf
from pathlib import Path

P, L = 2**255 - 19, 2**252 + 27742317777372353535851937790883648493  # of Ed25519, RFC 8032
D, SQRT_M1 = -121665 * pow(121666, -1, P) % P, pow(2, (P - 1) // 4, P)
WEIGHTS, EFFECTS = {1: 1, 2: 4, 3: 5}, "reads writes reaches_out"  # of rounds, in tenths; of tools, upwards
NOTE = re.compile(r"((\S+)\n([1-9]\d{0,17})\n([A-Za-z0-9+/]{43}=)\n)\n— (\S+) ([A-Za-z0-9+/]{90}[AEIMQUYcgkosw048]=)\n")
PART = re.compile(r"^[> ]*(magi/[0-9a-f]*|[A-Za-z0-9+/]{43}=)\s*$|\n\n— |^ma?g?i?\s*\Z", re.M)  # of a damaged NOTE
PLAN_WORDS = {"at": "time", "texts asked by": "name of who asked", "texts cancelled by": "name of who cancelled"}
LOG, MEMORIES = "00000000-0000-0000-0000-000000000000", "6d616769-0000-4000-8000-6d656d6f7279"  # records of no run
PROMPT_VERSIONS = {  # by version: signs of a boundary; SHA-256 of the start, a complaint and each round
    "1": "32 be6aa23e01ff327965a0bc28 f3188361b6fa8679f36caa7c f844b751ce122d952c3fef25 d49aefc0f1c5bb4deaf81bda",
    "2": "8 be6aa23e01ff327965a0bc28 bb4a67ff213d39ce643007a8 c0088080908c6de3991a35c0 2324c01cfdc6698515896d1e",
    "3": "8 be6aa23e01ff327965a0bc28 21e262dc9cd9ad16550062aa bb6c2d2c6ac7cb4837941bda f7713cce04bd0e1625f29940",
}
HIDDEN = re.compile(r"[\0-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")  # what a reason may not have
LATER_KINDS = re.compile(r"attempt|gate|decided|tool|.*\..*", re.S)  # kinds sealed with what comes after them
THOUGHT = re.compile(  # where it ends
    r"</(?:think|thinking|thoughts?|reasoning|analysis|reflection|scratchpad|seed:think)>|\[/THINK\]|◁/think▷"
    r"|<\|(?:END_THINKING|end_of_thought)\|>|<\|channel\|>final\b[^<{]{0,40}(?:<\|constrain\|>[^<{]{0,40})?<\|message\|>",
    re.I,
)
NotSigned = type("NotSigned", (ValueError,), {})  # with this key
NOT_GENUINE = (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError)  # what odd files lead to
STEPS = {  # what happens to a step of a plan, how it stood, how it stands then; first of one that has not begun
    *((event, was, now) for event, now in (("changed", "planned"), ("drop", "superseded"), ("skip", "rejected"))
      for was in "planned awaiting_feedback approved".split()),
    *(tuple(line.split()) for line in """passed planned approved, asked planned awaiting_feedback,
    approve awaiting_feedback approved, reject awaiting_feedback rejected, begin approved action_requested,
    reply action_requested completed, give_up action_requested failed, again failed action_requested,
    skip action_requested failed, skip failed failed""".split(",")),
}  # fmt: skip
ORDERED = {"step": "agent", "input": "terminal", "message": "", "terminal": "", "recalled": "agent memory version"}
LEAVES = {"run_with_network": "network", "publish_commit": "publish"}  # a mission, by what its policy says of
COUNTED = {"mission.step": "steps of missions", "mission.recalled": "changes of their memories", "gate": "gates"}
canonical = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False).encode


def add(one, other):  # points are x/z and y/z: to divide takes ten times as long as all else
    (x, y, z), (u, v, w) = one, other
    xu, yv, zw = x * u % P, y * v % P, z * w % P
    less, more = zw * zw - D * xu * yv, zw * zw + D * xu * yv
    return (x * v + u * y) * zw * less % P, (yv + xu) * zw * more % P, less * more % P


def point_of(data):
    y, sign = int.from_bytes(data, "little") & (1 << 255) - 1, data[31] >> 7
    square = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    x = pow(square, (P + 3) // 8, P)
    x = x if x * x % P == square else x * SQRT_M1 % P
    if y >= P or x * x % P != square or (sign and not x):
        raise ValueError("the key is no point of the curve")
    return x if x & 1 == sign else P - x, y, 1


def is_signed(word, message, signature):
    name, number, key = (*word.split("+", 2), "", "")[:3]  # a verifier key
    key = base64.b64decode(key, validate=True)
    if len(key) != 33 or key[0] != 1 or sha256(f"{name}\n".encode() + key).hexdigest()[:8] != number:
        raise ValueError("this is no verifier key")
    k = int.from_bytes(sha512(signature[:32] + key[1:] + message).digest(), "little") % L
    s, (x, y, z), base = int.from_bytes(signature[32:], "little"), point_of(key[1:]), point_of(b"\x58" + b"\x66" * 31)
    found, steps = (0, 1, 1), [(0, 1, 1), base, (-x, y, z), add(base, (-x, y, z))]
    for bit in range(252, -1, -1):  # s times the base point, less k times the key
        found = add(add(found, found), steps[(s >> bit & 1) + 2 * (k >> bit & 1)])
    x, y = (n * pow(found[2], -1, P) % P for n in found[:2])
    return len(signature) == 64 and s < L and (y | (x & 1) << 255).to_bytes(32, "little") == signature[:32]


@cache
def checkpoint(note, word):  # the size and the root of the log by it
    found = NOTE.fullmatch(note)
    text, log, size, root, by, signature = found.groups() if found else [""] * 6
    signed, (name, number, _) = base64.b64decode(signature), word.split("+", 2)
    if {log, by} != {name} or signed[:4].hex() != number or not is_signed(word, text.encode(), signed[4:]):
        raise NotSigned("a checkpoint of the anchor is not signed with this key")
    return int(size), base64.b64decode(root)


def differences(found, expected, where=""):
    if isinstance(found, dict) and isinstance(expected, dict):
        for name in sorted({*found, *expected}):
            yield from differences(found.get(name, "missing"), expected.get(name, "missing"), f"{where}{name} ")
    elif found is not expected and canonical(found) != canonical(expected):
        yield f"{where}is {canonical(found):.99}, expected {canonical(expected):.99}"


def changed(difference, entry, leaves):  # a sentence about one between an entry and what it tells of
    path, step = difference.split(" is ")[0], (entry["facts"] or {}).get("step")
    name = PLAN_WORDS.get(path) or re.sub("^(facts|texts) ", "", path).replace("_", " ")
    known = path in PLAN_WORDS or name != path
    at = next((datetime.fromisoformat(leaf["at"][:19]) for leaf in leaves if leaf["seq"] >= entry["seq"]), None)
    since = f"{at.day} {at:%B %Y, %H:%M} UTC" if at else "it was sealed"
    what = f"The {name}" + (f" of attempt {step}" if step else "") if known else "What is sealed, or what it tells of,"
    verb = "were" if re.search("agents|documents|tokens|scores|retries", name) else "was"
    return f"{what} {verb} changed after {since}."


def check_record(record, word, logged, roots):  # faults and their places; adds to logged and roots
    entries, leaves, votes, prev, last = record["entries"], record["leaves"], {}, "0" * 64, {"index": -1, "seq": 0}
    said = {name: record[name] for name in ("id", "entries", "leaves", "checkpoint")}
    head = entries[-1]["hash"] if entries else "that of an entry"
    said.update(form="magi-record/1", log=word.split("+")[0], key=word, record_hash=head)
    yield from (("The head of the record was changed.", f": {how}") for how in differences(record, said))
    for seq, entry in enumerate(entries, 1):
        where, later, texts = f", entry {seq}", {other["kind"] for other in entries[seq:]}, entry["texts"]
        if entry["line"] is None:
            yield "It has what no entry tells of, or an entry was deleted.", f"{where}: {entry['kind']}"
            continue
        key = bytes.fromhex(next((leaf["salt"] for leaf in leaves if leaf["seq"] >= seq), None) or "")
        line = json.loads(entry["line"])
        untold = "redacted" in later or (entry["kind"] == "ended" and "retried" in later)
        if untold and (texts or ("redacted" in later and key)):
            yield "A later entry took its texts away, and they or their key are still there.", where
        digests = {n: hmac.new(key, f"{seq} {n}\n{text}".encode(), "sha256").hexdigest() for n, text in texts.items()}
        row = {**entry, "form": "magi-entry/1", "run": record["id"], "place": seq, "prev": prev, "maker": line["maker"]}
        row["texts"] = line["texts"] if untold and texts == {} else digests
        hashed = {"hash": sha256(entry["line"].encode()).hexdigest(), "line": canonical(line), "place": line["seq"]}
        found = differences(row, {**line, **hashed})
        yield from ((changed(how, entry, leaves), f"{where}: {how}") for how in found)
        yield from ((f"{why}.", where + how) for why, how in check_judgement_rule(entry, entries[: seq - 1], votes))
        prev = entry["hash"]
    yield from check_ends(entries)
    size, root = checkpoint(record["checkpoint"], word) if record["checkpoint"] is not None else (0, b"")
    roots.add((size, root))
    for leaf in leaves:
        index, seq, where = leaf["index"], leaf["seq"], f", entry {leaf['seq']}: leaf {leaf['index']} "
        said = {name: leaf[name] for name in ("index", "seq", "head", "at", "prev")}
        node = sha256(b"\0" + canonical({**said, "form": "magi-leaf/1", "run": record["id"]}).encode()).digest()
        said.update(head=entries[seq - 1]["hash"], hash=node.hex(), salt=leaf["salt"] or None)
        said["proof"] = (leaf["proof"] or []) if index < size else None
        yield from (("Its place in the log was changed.", where + how) for how in differences(leaf, said))
        proven = index >= size or by_proof(node, index, size, leaf["proof"]) == root
        written = re.fullmatch("[0-9a-f]*", (leaf["salt"] or "") + "".join(leaf["proof"] or ()))
        if not (proven and written and last["index"] < index and last["seq"] < seq) or index in logged:
            odd = "Its place in the log is not what the checkpoint vouches for, goes backwards or is there twice."
            yield odd, where
        last, logged[index] = leaf, (leaf["prev"], node, datetime.fromisoformat(leaf["at"][:19]), record["id"], size)
    if not {len(entries), *(e["seq"] for e in entries if e["kind"] == "retried")} <= {leaf["seq"] for leaf in leaves}:
        yield "Entries were cut off or added: the log ends elsewhere than they do.", ""
    yield from RULES[procedure(entries)](entries) if procedure(entries) in RULES else ()


def check_ends(entries):  # what has ended ends again only if it failed and was tried again
    over = None  # unknown: it may have been tried again before there was a log
    for seq, entry in enumerate(entries, 1):
        if entry["kind"] == "retried" and over not in (None, "failed"):
            yield "It was tried again and had not failed.", f", entry {seq}"
        if entry["kind"] == "ended" and over:
            yield "It ended once more, and was over already.", f", entry {seq}"
        over = (entry["facts"] or {}).get("status", "") if entry["kind"] in ("retried", "ended") else over


def check_seals(record):  # what is wrong if the log had begun before a leaf: its index, infinite for what always is
    kinds, leaves = [entry["kind"] for entry in record["entries"]], record["leaves"]
    if record["id"] == LOG and kinds != ["adopted"]:
        yield inf, "The log begins more than once.", ""
    if "submitted" in kinds[1:]:
        yield inf, "It does not begin with what was asked.", ""
    if leaves and kinds[:1] == ["submitted"]:
        if leaves[0]["seq"] != 1:
            yield leaves[0]["index"], "What was asked was not sealed when it was submitted.", ""
        if "adopted" in kinds:
            yield leaves[0]["index"], "It says that it is older than the log, and came later.", ""
    yield from check_times(record["entries"], leaves) if leaves else ()


def check_times(entries, leaves):  # an entry is as old as its leaf, or no older than what was asked
    day, asked = timedelta(days=1), datetime.fromisoformat(entries[0]["at"][:19])
    for seq, entry in enumerate(entries, 1):
        leaf = next((leaf for leaf in leaves if leaf["seq"] >= seq), leaves[-1])
        at, logged = (datetime.fromisoformat(one["at"][:19]) for one in (entry, leaf))
        if not (asked if LATER_KINDS.fullmatch(entry["kind"]) else logged) - day <= at <= logged + day:
            said = f"It says that it is of {at.day} {at:%B %Y}, and was sealed on {logged.day} {logged:%B %Y}."
            yield leaf["index"] if entries[0]["kind"] == "submitted" else inf, said, f", entry {seq}"


def check_judgement_rule(entry, before, votes):  # a decision against its answer, an end against all before it
    facts, texts = entry["facts"] or {}, entry["texts"]
    if made := facts.get("decision"):
        step, place = f"{made['seat']}{made['round']}", (made["round"], made["seat"])
        if step != facts["step"] or place in votes or not re.fullmatch("[ABC][123]", step):
            yield "A decision was not asked for there, or is there twice", f": {step}"
        if before and before[0]["kind"] == "submitted" and not is_asked(entry, before, votes):
            yield "It was asked something else than was submitted and decided, or in other words", f": {step}"
        votes[place] = made["decision"], texts.get("reason")
        if "answer" in texts:
            answer = spoken(texts["answer"])
            reason = HIDDEN.sub(lambda found: json.dumps(found[0])[1:-1], answer["reason"].strip())
            answer["reason"] = reason if len(reason) <= 4000 else f"{reason[:4000]} …"
            for how in differences({"decision": made["decision"], "reason": texts.get("reason")}, answer, ": "):
                yield "The decision or its reason is not what the model answered", how
    if entry["kind"] == "ended" and procedure(before or [entry]) == "judgement":
        won = {seat: sum(WEIGHTS[n] for n in WEIGHTS if votes.get((n, seat), [""])[0] == "approve") for seat in "ABC"}
        verdict = "approved" if sum(score >= 5 for score in won.values()) >= 2 else "rejected"
        ruled = None if facts["status"] != "finished" else verdict if len(votes) == 9 else "none without nine decisions"
        scores = {seat: f"{score // 10}.{score % 10}" for seat, score in won.items()}
        for how in differences(facts, {**facts, "scores": scores, "verdict": ruled}, ": "):
            yield "The verdict or the scores do not follow from the decisions", how


def spoken(answer):  # the one object of an answer, after what was thought aloud, within a fence or a few words
    try:
        return json.loads(answer, strict=False)
    except ValueError:
        said = answer[max((tag.end() for tag in THOUGHT.finditer(answer)), default=0) :]
        return json.JSONDecoder(strict=False).raw_decode(said, said.index("{"))[0]


def check_debate(entries):  # seed, draws, clock and end of a debate; why else somebody had the floor is believed
    facts = [(entry["kind"], entry["facts"]) for entry in entries]
    asked, end = facts[0][1], next((one for kind, one in facts[::-1] if kind == "ended"), {"status": ""})
    turns, acts = ([one for kind, one in facts if kind == f"debate.{name}"] for name in ("turn", "steered"))
    said = sorted((one for _, one in facts if "clock" in one), key=lambda one: one["number"])
    seed, word = bytes.fromhex(end.get("seed", "")), entries[0]["texts"].get("word")
    made = sha256(bytes.fromhex(end.get("seed_random", "")) + word.encode()).digest() if word else seed
    if "seed" in end and [sha256(seed).hexdigest(), seed] != [asked["seed_sha256"], made]:
        yield "The seed is not the one that was fixed when the debate was submitted.", ""
    for turn in turns:
        heard = [one.get("seat") for one in said if one["clock"] and one["number"] <= turn["after"]]
        weights = [[seat, max(1, 10 - heard.count(seat))] for seat, _ in turn["weights"]]
        walk = [seat for seat, share in weights for _ in range(share)]
        ticket = ticket_of(seed, turn["number"], len(walk)) if walk and seed else turn["ticket"]
        if walk and [weights, ticket, walk[ticket]] != [turn["weights"], turn["ticket"], turn["seat"]]:
            yield "A draw is not what the seed and the messages before it give", f": turn {turn['number']}"
    yield from check_clock(said)
    own = [turn["number"] for turn in turns if turn["why"] != "challenge"]  # which is nobody's opinion
    stated = [one for one in [*said, *acts] if "act" in one or one.get("turn") in own or one.get("kind") == "leaving"]
    stated.sort(key=lambda one: one["after"] if "act" in one else one["number"])
    stood = {one["seat"]: one["verdict"] or "ABSTAIN" for one in stated if one["verdict"] or one["abstained"]}
    verdicts = [stood.get(member["seat"], "") for member in asked["members"] if member["kind"] == "member"]
    due = outcome_of(asked["rule"], [one["word"] for one in asked["options"]], verdicts)
    for how in differences(end, {**end, **due}, ": ") if end["status"] == "finished" else ():
        yield "The outcome or the tally does not follow from the verdicts", how


def ticket_of(seed, number, total, k=0):
    drawn = int.from_bytes(hmac.new(seed, f"{number}.{k}".encode(), "sha256").digest()[:8], "big")
    return drawn % total if drawn < 2**64 - 2**64 % total else ticket_of(seed, number, total, k + 1)


def check_clock(said):  # members' messages count, and after each fourth of them stands a note
    clock, noted = 0, None
    for one in said:
        where, counts = f": message {one['number']}", one.get("kind") == "said" and one["continues"] is None
        if "note" in one:
            due = "opening" if noted is None else "reminder" if clock % 20 else "deadline"
            if [one["note"], one["after"]] != [due, clock] or clock % 4 or noted == clock:
                yield "A note was not due", where
            noted = clock
        elif one.get("kind") in ("said", "closing") and (noted is None or (clock % 4 == 0 and noted != clock)):
            yield "A note is missing before it", where
        clock += counts
        if one["clock"] != (clock if counts else None):
            yield "The clock is wrong", where


def outcome_of(rule, options, verdicts):
    count, all_, none = [verdicts.count(option) for option in options], len(verdicts), verdicts.count("ABSTAIN")
    needed = {"majority": all_ // 2 + 1, "two_thirds": -(-2 * all_ // 3), "unanimous": max(2, all_ - none)}
    first = [option for option, n in zip(options, count) if n == max(count)]
    if rule == "median":
        in_order = [option for option, n in zip(options, count) for _ in range(n)]
        first = sorted({*in_order[(len(in_order) - 1) // 2 : len(in_order) // 2 + 1]})
    code = "no_rule" if rule == "none" else "quorum" if 2 * sum(count) <= all_ else "tie" if len(first) > 1 else ""
    code = code or ("too_few" if max(count) < needed.get(rule, 1 + (rule == "plurality")) else "")
    told = {"tally": [list(one) for one in zip(options, count)], "abstained": none, "missing": verdicts.count("")}
    return {**told, "base": all_, "no_decision": code, "outcome": "no_decision" if code else first[0]}


def gates_of(entries):  # what they are, with facts and texts; and gates by place and number, with text and decisions
    said = [(entry["kind"], entry["facts"], entry["texts"]) for entry in entries]
    gates = {(one["step"], one["number"]): (one, texts.get("text"), []) for kind, one, texts in said if kind == "gate"}
    for _, facts, _ in (one for one in said if one[0] == "decided"):
        gates[facts["step"], facts["number"]][2].append(facts)
    return said, gates


def check_plan(entries):  # steps by their table, what began or was used by its gate, and the end by both
    (said, gates), policy, steps, acts = gates_of(entries), entries[0]["facts"]["policy"], {}, defaultdict(list)
    for _, facts, texts in (one for one in said if one[0] == "plan.step"):
        was, held, action = steps.get(facts["step"], ("", {}, None))
        held, action = (facts["held"], texts.get("action")) if "held" in facts else (held, action)
        steps[facts["step"]] = facts["status"], held, action
        yield from ((why, f": step {facts['step']}") for why in check_step(facts, was, held, action, gates, policy))
    for _, facts, texts in (one for one in said if one[0] == "tool" and one[1]["status"] == "done"):
        found = examine_use(facts, texts.get("arguments"), gates, policy["calls"], "writes")
        acts[facts["step"].split("-")[1]].append(EFFECTS.index(facts["effect"]))
        yield from ((why, f": {facts['tool']} in {facts['step']}") for why in found)
    (kind, end, _), standing = said[-1], [status for status, _, _ in steps.values()]
    stopped = any(one.get("choice") == "end" for _, _, decided in gates.values() for one in decided)
    own = [(str(n), held) for n, (now, held, _) in steps.items() if now == "completed" and held["owner"] != "Person"]
    claimed = any(EFFECTS.index(held["effect"]) > max(acts[n], default=0) for n, held in own)  # by no tool call
    worked = ["done"] * (not claimed or entries[0]["facts"]["prompt_version"] in ("1", "2")) + ["claimed"] * claimed
    due = ["rejected"] if stopped else worked if "completed" in standing else ["failed", "rejected"]
    if kind == "ended" and end["status"] == "finished" and end["outcome"] not in due:
        yield "The outcome does not follow from the steps", f": {end['outcome']}, not {' or '.join(due)}"


def check_inquiry(entries):  # each order by the rules of its course, the end by all of them, quotes where they stand
    asked, course = entries[0], PlanReplay(entries[0]["facts"]["retry_limit"])
    for number, entry in enumerate((one for one in entries if one["kind"] == "inquiry.order"), 1):
        if entry["facts"]["number"] != number or not course.takes(**entry["facts"]):
            yield "An order is not what came next by the rules", f": order {number}"
    end, due = entries[-1]["facts"], "nothing" if course.now != "over" else course.ended or "answered"
    if entries[-1]["kind"] == "ended" and end["status"] == "finished" and end["outcome"] != due:
        yield "The outcome does not follow from the orders", f": {end['outcome']}, not {due}"
    if due == "answered" and not is_approved(entries, asked["facts"]["prompt_version"]):
        yield "The answer is not the one that was approved", ""
    read = {one["facts"]["number"]: one["texts"].get("text") for one in entries if one["kind"] == "inquiry.source"}
    for claim in (one for one in entries if one["kind"] == "inquiry.claim"):
        for number, quote in enumerate(claim["facts"]["quotes"], 1):
            words, source = claim["texts"].get(f"quote {number}"), quote["source"]
            text = asked["texts"].get(f"text of A{source}", read.get(source))
            if None not in (words, text) and not quote_found(words, text, quote["parts"]):
                yield "A quote does not stand where it is said to", f": claim {claim['facts']['number']}"


def is_approved(entries, version):  # the answer, with the places of its claims; until version 2 a model worded it
    work = [one for one in entries if one["kind"] == "inquiry.order" and one["facts"]["kind"] == "work"][-1]
    said, reply, number = entries[-1]["texts"].get("answer"), work["texts"].get("reply"), work["facts"]["number"]
    claims = [one["facts"] for one in entries if one["kind"] == "inquiry.claim"]
    places = "".join(f" [claim:{one['number']}]" for one in claims if one["order"] == number)
    return version in ("1", "2") or not (said and reply) or said == json.loads(reply)["text"] + places


def check_mission(entries):  # all that is in order without a gap, what left by its gate, done by its check
    (said, gates), asked, end, counts = gates_of(entries), entries[0]["facts"], entries[-1]["facts"], Counter()
    for kind, one, _ in (one for one in said if one[0][8:] in ORDERED):
        place, now = (kind, *map(one.get, ORDERED[kind[8:]].split())), one.get("number", one.get("on"))
        if now != (not counts[place] if "on" in one else counts[place] + 1):  # a memory is in use, and then no longer
            yield "It is not what is next of its kind, or one is missing", f": {kind} {now}"
        counts[place] = now
    for _, one, texts in (one for one in said if one[0] == "tool" and one[1]["status"] == "done"):
        found = examine_use(one, texts.get("arguments"), gates, asked["policy"], LEAVES.get(one["tool"]))
        yield from ((why, f": {one['tool']} in {one['step']}") for why in found)
    tools = {(one["agent"], one["number"]): one["tool"] for kind, one, _ in said if kind == "mission.step"}
    good = [(one["agent"], one["number"]) for kind, one, _ in said if kind == "mission.result" and one["ok"]]
    check = next((one["exit_code"] for kind, one, _ in said if kind == "mission.check"), asked["check_wanted"])
    passed = check == 0 or end.get("outcome") != "done"  # False is 0: not wanted
    follows = "finish" in map(tools.get, good) and passed
    if entries[-1]["kind"] == "ended" and end["status"] == "finished" and not follows:
        yield "The outcome does not follow from the check", f": {end['outcome']}"


class PlanReplay:  # where an inquiry stands after each of its orders; ended: how, once nothing but the last is left
    def __init__(self, limit):
        self.limit, self.now, self.index, self.steps, self.back, self.errors = limit, "planner", 0, 0, 0, 0
        self.ended, self.broke, self.stopping, self.answered, self.answerable, self.anew = "", "", False, False, True, 0

    def takes(self, kind, station, counts, review, category, **_):
        if kind == "retry":
            fits, self.now, self.ended = self.ended == "failed", self.broke, ""
            self.back, self.errors = self.back - self.errors, 0
            return fits
        if kind in ("hint", "final") or self.now in ("finalizer", "over"):
            was, self.now = self.now, "over" if kind == "final" else self.now
            return kind == "hint" or (kind == "final" and was == "finalizer")
        if kind in ("stop", "replan", "exhausted"):
            return self.word(kind, counts)
        return station == self.now and self.work(kind, station, counts, review, category)

    def work(self, kind, station, counts, review, category):
        if kind == "work" and not station.startswith("critic_"):
            self.now = f"critic_{station}"
            self.steps = counts["research"] if station == "planner" else self.steps
            if station == "expert":
                self.answered, self.answerable = True, counts["found"]
            return True
        if kind == "error":
            recovers = category in ("network", "validation", "tool", "content_filter")
            self.back, self.errors = self.back + recovers, self.errors + recovers
            self.now = "expert" if self.stopping and station == "researcher" else self.now
            if not recovers or self.back >= self.limit:
                self.now, self.ended, self.broke = "finalizer", "failed", station
            return True
        passed, of = review == "approve", station[len("critic_") :]
        if kind != "review" or not station.startswith("critic_") or review not in ("approve", "reject"):
            return False
        if passed:
            self.index = self.steps if self.stopping else 0 if of == "planner" else self.index + 1
        self.answered = self.answered and not (passed and of == "planner")
        onward = "finalizer" if of == "expert" else "researcher" if self.index < self.steps else "expert"
        self.back, self.now = self.back + (not passed), onward if passed else "expert" if self.stopping else of
        self.stopping = False
        if (self.back >= self.limit and not passed) or (passed and of == "expert" and not self.answerable):
            self.now, self.ended = "finalizer", "unanswered"
        return True

    def word(self, kind, counts):
        once = kind == "stop" and self.now == "researcher" and bool(counts.get("begun")) and not self.stopping
        self.anew += kind == "replan"
        stops = self.now == "researcher" or (self.now == "expert" and self.answered) or kind != "stop"
        fits, ends = stops and self.anew <= 3, kind == "exhausted" or (kind == "stop" and self.now == "expert")
        onward = "finalizer" if ends else "planner" if kind == "replan" else "expert"
        self.now, self.ended, self.stopping = self.now if once else onward, "unanswered" if ends else "", once
        return fits


def quote_found(words, text, parts):  # whether these pieces of a text are the quote, or its parts between ellipses
    found = [plain(text[start:end]) for start, end in parts]
    split = [plain(part) for part in re.split(r"\s*(?:\[\s*(?:\.\.\.|\u2026)\s*\]|\u2026|\.\.\.)\s*", words)]
    return found in ([plain(words)], [part for part in split if part])


def plain(text):  # as docs/audit.md says of quotes
    text = re.sub("[\u00ad\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff]", "", text)
    text = unicodedata.normalize("NFKC", text)
    text = re.sub('["`\u00ab\u00b4\u00bb\u2018-\u201f\u2032\u2033\u2039\u203a\u300c-\u300f\u301d-\u301f]', "'", text)
    return " ".join(re.sub("[\u2010-\u2015\u2043\u2212\ufe58\ufe63\uff0d]", "-", text).split())


def check_step(facts, was, held, action, gates, policy):
    event, place = facts["event"], f"step-{facts['step']}"
    if (event, was, facts["status"]) not in STEPS | {("", "", "planned")}:
        yield "A step did not come to stand so by the rules"
    asked = [gate[1] for (step, _), gate in gates.items() if (event, step) == ("approve", place) and is_allowed(gate)]
    said, tools = "".join(f"    {one}" for one in (action or "").splitlines(keepends=True)), asked and held["tools"]
    due = [*([] if action is None else [f"Action:\n{said}"]), *(f"\nTool: {tool}, " for tool in tools)]
    if event == "approve" and not any(text is None or all(one in text for one in due) for text in asked):
        yield "Nobody has approved a step as it was to be carried out"
    if event == "passed" and held["owner"] != "Person" and policy["steps"][held["effect"]]["who"] != "open":
        yield "Nobody was asked about a step that somebody has to approve"


def examine_use(facts, arguments, gates, policy, what):  # of a tool. Once more of what was allowed is nothing new
    gate, due = gates.get((facts["step"], facts.get("gate"))), policy.get(what, {"who": "person"})
    free = facts["effect"] == "reads" or facts["contained"] or facts["number"] > 1
    if not (gate or "gate" in facts or free or (facts["effect"] == "writes" and due["who"] == "open")):
        yield "A tool was used, and nobody was asked"
    erased = gate and None in (gate[1], arguments)
    if (gate or "gate" in facts) and not (gate and is_allowed(gate) and (erased or shows(gate[1], facts, arguments))):
        yield "Nobody has approved the use of a tool as it was done"
    asked = gate[0] if gate and gate[0]["kind"] == "tool" else {"policy": due}
    if facts["tool"] in LEAVES and (due == "never" or asked["policy"]["who"] not in (due["who"], "both")):
        yield "It left a mission that was not to let it out so"


def is_allowed(gate):  # whether what was said there comes to a yes by its policy, or somebody said what became of it
    facts, _, decided = gate
    persons, words = [one for one in decided if "judged_by" not in one], {one["said"] for one in decided}
    if facts["kind"] == "uncertain":
        return any(one.get("choice") in ("do", "happened") for one in decided)
    if words & {"expire", "fail"} or any(one["said"] == "reject" for one in persons):
        return False
    who, yes = facts["policy"]["who"], [one for one in persons if one["said"] in ("approve", "override")]
    enough = len({one["by"] for one in yes if one["by"] not in one.get("authors", ())}) >= facts["policy"]["persons"]
    council = any("judged_by" in one and one["said"] == "approve" for one in decided) or "override" in words
    alone = who == "council" and "turn" not in words and "whole" not in facts  # a text that was cut no council opens
    return council if alone else enough and (who not in ("both", "council") or council or "turn" in words)


def shows(text, use, arguments):  # whether the text of a gate is about this: laid out, or each argument in a line
    read, head, end = json.loads(arguments), f"{use['tool']}, which ", f"\nDefinition of the tool: {use['definition']}"
    last = next(one for one in ("difference", "text", "command") if one in (*read, "command"))  # with all its lines
    told = [f"{name}: {json.dumps(value, ensure_ascii=False)}" for name, value in read.items() if name != last]
    body = text.partition(head)[2].partition("\n")[2].removeprefix("Text of strangers was read before.\n")
    lines = body.split("\n")[: len(told)]
    in_lines = sorted(lines) == sorted(told) and body == "\n".join([*lines, f"{last}:", str(read.get(last))]) + end
    return in_lines or (head in text and f"{json.dumps(read, ensure_ascii=False, indent=2)}{end}" in text)


def procedure(entries):  # whose rule an end has to follow; all kinds of today are in this file
    return (entries[0]["facts"] or {}).get("procedure", "judgement") if entries else "judgement"


def is_asked(attempt, before, votes):  # whether a model was asked for its decision about what was submitted, no more
    asked, facts, prompt = before[0], attempt["facts"], attempt["texts"].get("prompt")
    if not (prompt and asked["texts"].get("content")) or asked["facts"]["prompt_version"] not in PROMPT_VERSIONS:
        return True
    signs, *forms = PROMPT_VERSIONS[asked["facts"]["prompt_version"]].split()
    seat, number = facts["decision"]["seat"], facts["decision"]["round"]
    system, user, *more = texts = [message["content"] for message in json.loads(prompt)]
    block = f"BEGIN MATERIAL ([0-9a-f]{{{signs}}})\n(.*)\nEND MATERIAL \\1(?:\n\n(.*))?"
    boundary, material, situation = re.fullmatch(block, user).groups()
    follows = {agent["seat"]: agent["criteria"] for agent in asked["facts"]["agents"]}[seat]
    parts = system.split(f"\nCRITERIA {boundary}\n{follows}\nEND CRITERIA {boundary}\n")
    form = [[part.split(f"gent {seat} ") for part in text.split(boundary)] for text in parts]
    unusable = [one for one in before if one["facts"].get("error_code") == "unusable_answer"]
    last = {one["facts"]["step"]: one["texts"] for one in unusable}.get(facts["step"], {})
    answered = more[:-1]  # the last answer, of which it complains
    repeated = not answered or (situation is not None and answered == [begun(last.get("answer", ""))])
    told = [(n, f"Agent {who}" + " (you)" * (who == seat), *votes[n, who]) for n, who in sorted(votes) if n < number]
    told = [dict(zip(("round", "agent", "decision", "reason"), one)) for one in told]
    shown = re.sub("[^ -~]", lambda found: json.dumps(found[0])[1:-1], material)  # what is escaped may be more or less
    roles = ["system", "user", *["assistant"] * len(answered), "user"]
    written = json.dumps([{"role": role, "content": text} for role, text in zip(roles, texts)], ensure_ascii=False)
    known = [form if situation is None else [*form, situation]]
    known += [text.split(last.get("error") or "?") for text in more[-1:]]
    digests = [sha256(canonical(one).encode()).hexdigest()[:24] for one in known]
    before = {"earlier_decisions": told} if told or asked["facts"]["prompt_version"] in ("1", "2") else {}
    asks = shown == json.dumps({"content": asked["texts"]["content"], **before})
    return digests == [forms[number], *forms[: len(more[-1:])]] and asks and repeated and prompt == written


def begun(answer):  # as it stands in front of a complaint
    return answer if len(answer) <= 2000 else f"{answer[:2000]} …"


def by_proof(node, index, size, path):  # the root that it leads to, as in RFC 6962
    if not path:
        return node if size == 1 else b""
    left, other = 1 << (size - 1).bit_length() - 1, bytes.fromhex(path[-1])
    if index < left:
        return sha256(b"\1" + by_proof(node, index, left, path[:-1]) + other).digest()
    return sha256(b"\1" + other + by_proof(node, index - left, size - left, path[:-1])).digest()


def examine_log(leaves, roots, anchors):  # the last two: sizes of the log, each with its root
    told, peaks = {}, []
    for index, (prev, node, at, run, _) in sorted(leaves.items()):
        before = leaves.get(index - 1)
        if before and (prev != before[1].hex() or before[2] - at > timedelta(days=1)):
            yield f"The log was changed: a leaf does not follow the one before or is a day older. (leaf {index}, {run})"
        if index == len(told):  # all leaves so far are here
            while index & 1:
                node, index = sha256(b"\1" + peaks.pop() + node).digest(), index >> 1
            peaks.append(node)
            told[len(told) + 1] = reduce(lambda right, left: sha256(b"\1" + left + right).digest(), reversed(peaks))
    known, named = {*told, *dict(roots)}, {*dict(anchors)}
    if named and max(named) not in known:  # an older one says nothing of what came after it
        yield f"The log is cut, or not all of it is here: export all, or with --anchor. (the anchor at {max(named)})"
    yield from examine_proofs(leaves, {*dict(roots), *named}, len(told))
    twice = [size for size, root in sorted(roots | anchors) if told.setdefault(size, root) != root]
    if twice:
        yield f"The log was changed after a checkpoint was signed. (its first {twice[0]} leaves are told in two ways)"


def examine_proofs(leaves, signed, told):  # what a checkpoint covers has a proof, or all leaves that it covers are here
    vouched = max((size for size in signed if size <= told), default=0)
    for index, (_, _, _, run, size) in sorted(leaves.items()):
        if max(size, vouched) <= index < max(signed):
            yield f"It has no proof, and a checkpoint is newer: forged, or export it anew. (record {run}, leaf {index})"


def claims(name, record, here):  # what it says of others, and what is wrong where one is here and says otherwise
    for entry in record["entries"]:
        kind, facts, texts = entry["kind"], entry["facts"] or {}, entry["texts"]
        here[record["id"]] |= {("hash", entry["hash"]), (kind, texts.get("content")), (str(facts.get("verdict"))[:6],)}
        if kind == "child":
            yield name, str(facts["run"]), ("hash", str(facts["hash"])), "What it has made is not as it ended"
        if origin := facts.get("forked"):
            yield name, str(origin["run"]), ("hash", str(origin["hash"])), "It was forked from something else"
        if kind == "gate" and texts.get("text"):
            yield name, str(facts.get("council")), ("submitted", texts["text"]), "A council judged another text"
        version = "accepted", facts.get("memory"), facts.get("version")
        here[record["id"]] |= {version} if facts.get("accepted") else set()
        if kind == "mission.recalled" and facts["on"]:
            yield name, MEMORIES, version, "A memory was used that nobody had accepted"
        if "judged_by" in facts:
            yield name, str(facts["judged_by"]), (facts["said"][:6],), "A council has not decided so"


def verify(lines, word, anchor, counts):  # every problem in a sentence; counts learns how many records are what
    leaves, roots, strangers, seals, found, claimed, here = {}, {(0, b"")}, [], [], 0, [], defaultdict(set)
    for number, line in enumerate(lines, 1):
        name, counts["records"] = f"line {number}", number
        try:
            record = json.loads(line)
            name, word = f"record {record['id']}", word or record["key"]
            found += 1
            if record["key"] != word or not (record["checkpoint"] is None or checkpoint(record["checkpoint"], word)):
                raise NotSigned
            for how in differences(line.decode().rstrip("\n"), canonical(record)):
                yield f"The line is not written as records are. ({name}: it {how})"
            yield from (f"{problem} ({name}{where})" for problem, where in check_record(record, word, leaves, roots))
            seals += [(index, f"{problem} ({name}{where})") for index, problem, where in check_seals(record)]
            claimed += claims(name, record, here)
            tally(record, counts)
        except NotSigned:
            strangers.append(name)
        except NOT_GENUINE as error:
            yield f"It cannot be read. ({name}: {type(error).__name__}: {error})"
    if strangers:
        some = f"{len(strangers)} of {counts['records']} records are not signed with this key"
        yield f"{some}: it is the wrong key, or they are forged. (first {strangers[0]})"
    if not found:
        raise ValueError("there is no record in the file")
    anchors = {checkpoint(found[0], word) for found in NOTE.finditer(anchor)}
    yield from examine_log(leaves, roots, anchors)
    wrong = (one for one in claimed if one[1] in here and not here[one[1]] & {one[2], (one[2][0], None)})
    yield from (f"{problem}. ({name}: record {other})" for name, other, _, problem in wrong)
    counts.update("forked from what is not in it" for one in claimed if "forked" in one[3] and one[1] not in here)
    begun = min((index for index, (_, _, _, run, _) in leaves.items() if run == LOG), default=max(leaves, default=0))
    yield from (problem for index, problem in seals if index > begun)
    counts["leaves of the log are not in it"] = max(max(roots)[0] - len(leaves), 0)


RULES = {"debate": check_debate, "plan": check_plan, "inquiry": check_inquiry, "mission": check_mission}


def tally(record, counts):
    kinds, known = {entry["kind"] for entry in record["entries"]}, ("judgement", *RULES)
    counts["redacted"] += "redacted" in kinds
    counts["not yet in a checkpoint"] += any(leaf["proof"] is None for leaf in record["leaves"])
    counts.update(COUNTED[entry["kind"]] for entry in record["entries"] if entry["kind"] in COUNTED)
    counts.update(["of a kind whose rule is not in this file"] * (procedure(record["entries"]) not in known))
    late = "adopted" in kinds and record["id"] != LOG
    counts.update(["sealed when the log began, later than they happened"] * late)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", help="a record, or a bundle with a record on each line")
    parser.add_argument("--key", help="the verifier key of the log; get it from somebody you trust")
    parser.add_argument("--anchor", help="a file with checkpoints that were kept elsewhere")
    options = parser.parse_args()
    counts = Counter(dict.fromkeys(("records", "redacted", "not yet in a checkpoint"), 0))
    try:
        if options.key is not None:
            is_signed(options.key, b"", bytes(64))  # a key that is none is bad usage
        anchor = "" if options.anchor is None else Path(options.anchor).read_text(encoding="utf-8") + "\n"
        if options.anchor is not None and (not NOTE.search(anchor) or PART.search(NOTE.sub("", anchor))):
            raise ValueError("there is no checkpoint in the anchor, or one is cut or damaged")
        with open(options.file, "rb") as file:
            problems = list(verify(file, options.key, anchor, counts))
    except (OSError, *NOT_GENUINE) as error:
        parser.exit(2, f"Nothing was verified: {error}\n".encode("ascii", "backslashreplace").decode())
    for problem in problems:  # in ASCII: what is in a forged file must do nothing to a terminal
        print(problem.encode("unicode_escape").decode())
    said = "Intact" if options.key else "Consistent with itself, nobody vouches for it (name the key with --key)"
    print(f"{'Not intact' if problems else said}:", ", ".join(f"{n} {what}" for what, n in counts.items()))
    raise SystemExit(1 if problems else 0 if options.key else 3)
