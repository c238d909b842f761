"""Which texts go round in circles, and which only look like it."""

import json
import random

from engine.llm.loops import LoopWatch, repetition

CIRCLES = {
    "words": "It serves the purpose. " + "the purpose of " * 300,
    "a sentence": "Yes. " + "I have to think about what the council would say to this proposal. " * 60,
    "lines of JSON": '{"points": ["' + 'a risk", "' * 400,
    "white space": '{"reason": "Well.",' + "\n" * 5000,
    "Japanese": "検討します。" * 700,
}
rows = "\n".join(f"| 2026-11-{day % 28 + 1:02} | {day * 37 % 91} | no |" for day in range(400))
HONEST = {
    "a table": rows,
    "a table that says little": "\n".join(
        f"| {'yes' if random.Random(n).random() < 0.2 else 'no'} | – |" for n in range(600)
    ),
    "a list": "\n".join(f"- step {n}: check the lock, then go on" for n in range(200)),
    "code": "\n".join(f"    if kind == {n}:\n        return handle_{n}(value)" for n in range(150)),
    "numbers": json.dumps([n % 7 for n in range(900)]),
    "a rule": "Result\n" + "-" * 3000,
    "prose": " ".join(random.Random(1).choices("we they say that this plan does not hold for long".split(), k=2000)),
    "laughter": "ha" * 400,
}


def grown(text, piece=7):
    watch = LoopWatch()
    found = [watch.add(text[at : at + piece]) for at in range(0, len(text), piece)]
    return next((at * piece for at, stretch in enumerate(found) if stretch), None)


def test_circles_are_found_soon_and_lists_tables_and_code_are_none():
    assert {name for name, text in CIRCLES.items() if not repetition(text)} == set()
    assert {name for name, text in CIRCLES.items() if not 0 < (grown(text) or 0) < 5200} == set()
    assert {name for name, text in HONEST.items() if grown(text) is not None} == set()


def test_what_repeats_is_named():
    assert repetition("the purpose of " * 300) in {("the purpose of " * 2)[at : at + 15] for at in range(15)}
