"""How many tokens the requests of each procedure have, for the table in docs/tokens.md; a procedure adds its rows here.

By our own estimate, which says rather too many. "Read anew" is what a server reads that keeps the request before.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from os import path
from typing import NamedTuple

from debates import prompts as debating
from debates.rules.course import Turn, Why
from engine.llm.forms import Message
from engine.llm.tokens import ANSWER, prompt_tokens, tokens_of
from judgements import prompts as judging
from judgements.rules import Decision
from tests.debates.golden import debate

Requests = Sequence[Sequence[Message]]
CONTEXTS = (4_096, 8_192, 16_384)
RUN = "0b5e7a3c"  # a boundary
CONTENT = "The supplier keeps a register of what it delivers. " * 40  # 2,000 characters
CRITERIA = "Approve what is agreed with all whom it concerns and can be taken back. " * 4
REASON = "My criteria ask for an agreement, and the content names who has agreed and until when. " * 4


class Row(NamedTuple):
    """`requests`: those of one agent, one after the other."""

    name: str
    about: str
    requests: Requests


def judgement(version: str, boundaries: Sequence[str]) -> Requests:
    made = [judging.Earlier(n, seat, Decision.APPROVE, f"{seat}{n}: {REASON}") for n in (1, 2) for seat in "ABC"]
    cases = [judging.Case("A", CRITERIA, CONTENT, n, tuple(made[: 3 * n - 3])) for n in (1, 2, 3)]
    return [judging.messages(case, mark, version) for case, mark in zip(cases, boundaries, strict=True)]


def turns(*clocks: int) -> Requests:
    return [debating.perspective(debate(5, clock), Turn(999, 2, Why.DRAW)) for clock in clocks]


def rows() -> Iterator[Row]:
    yield Row("judgement", "three rounds, content of 2,000 characters", judgement(judging.VERSION, [RUN] * 3))
    old = [digit * 32 for digit in "1a7"]
    yield Row("judgement, prompts of version 1", "the same", judgement("1", old))
    yield Row("debate, before it", "five members", [debating.first(debate(5, 1), 2)])
    yield Row("debate", "a member's turns after 5, 10, 15 and 19 messages", turns(5, 10, 15, 19))
    yield Row("debate", "after 39 messages, before older ones become lines", turns(39))
    yield Row("debate", "after 200 messages, the most there are", turns(200))


def table() -> str:
    lines = [
        "| requests | of | largest, with answer | fits | sent in all | not cached |",
        "|---|---|---:|---:|---:|---:|",
    ]
    for row in rows():
        largest = max(map(prompt_tokens, row.requests)) + ANSWER
        sent, anew = sum(map(prompt_tokens, row.requests)), read_anew(row.requests)
        fits = next(context for context in CONTEXTS if largest <= context)
        lines.append(f"| {row.name} | {row.about} | {largest:,} | {fits:,} | {sent:,} | {anew:,} |")
    return "\n".join(lines)


def read_anew(requests: Requests) -> int:
    texts = ["\n".join(f"{one['role']}\n{one['content']}" for one in request) for request in requests]
    kept = [0, *(len(path.commonprefix(pair)) for pair in pairwise(texts))]  # noqa: RUF071 - no paths
    return sum(tokens_of(text[length:]) for text, length in zip(texts, kept, strict=True))
