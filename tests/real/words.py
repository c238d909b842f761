"""Which texts of an answer are words of the prompt. It shares no code with the product, for it measures that."""

import json
import re
from collections.abc import Iterator
from typing import Any

SHORTEST = 4  # words: below, a text may be one by chance
RUN = 4  # words in a row that stand in the instructions, too
SHARE = 0.8
MATERIAL = re.compile(r"^(?:BEGIN )?([A-Z]+ \S+)$.*?^END \1$", re.MULTILINE | re.DOTALL)


def of_the_prompt(answer: str, prompt: list[dict[str, str]]) -> list[str]:
    """The texts of this answer that are, all but, words of the instructions, or of a complaint."""
    known = _runs(_words("\n".join(MATERIAL.sub(" ", one["content"]) for one in prompt if one["role"] != "assistant")))
    return [text for text in _texts(answer) if _is_of(_words(text), known)]


def _is_of(words: list[str], known: set[tuple[str, ...]]) -> bool:
    covered = [False] * len(words)
    for at in range(len(words) - RUN + 1):
        if tuple(words[at : at + RUN]) in known:
            covered[at : at + RUN] = [True] * RUN
    return len(words) >= SHORTEST and sum(covered) >= SHARE * len(words)


def _runs(words: list[str]) -> set[tuple[str, ...]]:
    return {tuple(words[at : at + RUN]) for at in range(len(words) - RUN + 1)}


def _words(text: str) -> list[str]:
    return re.findall(r"[^\W_]+", text.casefold())


def _texts(answer: str) -> Iterator[str]:
    try:
        yield from _leaves(json.loads(answer))
    except ValueError:
        yield answer


def _leaves(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | dict):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _leaves(one)
