"""Rehearsal of inquiries: rules in place of models, so that an inquiry can be tried without a provider's key.

1. The planner plans one step of research: what the sources say about the question; and one of the expert.
2. The researcher searches the sources once by the longer words of the question. It quotes the two sentences that share
   most of them, if they share at least half; otherwise, or if the question has only short words, nothing was found.
3. The expert answers in the words of these quotes; without any the question is not answerable.
4. Critics approve everything.
5. The finalizer puts the markers of the claims after the answer, and adds no words.

The rules are deterministic: the same question and sources give the same answer.
"""

import json
import re
from collections.abc import Iterator
from typing import Any

from engine.llm.prompt_blocks import read_fence

Messages = list[dict[str, str]]

FROM = re.compile(r"^\[(\d+)\] .*, from character \d+:$")
QUOTES, SHORTEST, LONGEST = 2, 25, 300
COMMON = set("what when where which does have with that this from they then than there their would could about".split())
APPROVED_TEXT = "Approved: critics of a rehearsal approve everything."


def rehearse_planner(messages: Messages) -> str:
    given = _given(messages)
    question = " ".join(given["question"].split())
    again = f" (again, attempt {len(given['former_plans']) + 1})" if given["former_plans"] else ""
    steps = [f"Find what the sources say about this{again}: {question}"[:400]]
    return _json(thought="Rehearsal. One look is enough.", research_steps=steps, expert_steps=["Say what was found."])


def rehearse_researcher(messages: Messages) -> str:
    given = _given(messages)
    sought = stems(given["question"])
    if not given["moves"]:
        words = " ".join(word for word in re.findall(r"\w+", given["question"]) if stem(word) in sought)
        return _move("Rehearsal. The longer words of the question.", tool="sources.search", words=words[:400] or "of")
    found = sorted(_sentences(given["moves"][0]["result"]), key=lambda one: -len(stems(one[1]) & sought))
    good = [one for one in found if sought and 2 * len(stems(one[1]) & sought) >= len(sought)][:QUOTES]
    claims = [{"text": _plain(text), "quotes": [{"source": source, "quote": text}]} for source, text in good]
    result = " ".join(claim["text"] for claim in claims) or "Rehearsal. No sentence has half of the words."  # type: ignore[misc]
    return _done("Rehearsal. What shares most words.", found=bool(claims), result=result, claims=claims)


def rehearse_expert(messages: Messages) -> str:
    results = _given(messages)["results"]
    claims = [one for result in results for one in result["claims"]]
    if not claims:
        missing = "No source says anything of it in the words of the question."
        said = {"answerable": False, "answer": missing, "reasoning": "", "claims": [], "results_not_needed": []}
        return _done("Rehearsal. Nothing was found.", **said)
    not_needed = [{"step": one["step"], "why": "Nothing was found."} for one in results if not one["claims"]]
    return _done(
        "Rehearsal. In the words of the sources.",
        answerable=True,
        answer=" ".join(one["text"] for one in claims),
        reasoning="It is what the sources say.",
        claims=[{"text": one["text"], "quotes": [], "reasoned_from": [one["number"]]} for one in claims],
        results_not_needed=not_needed,
    )


def rehearse_critic(messages: Messages) -> str:
    return _json(feedback=APPROVED_TEXT, decision="approve")


def rehearse_finalizer(messages: Messages) -> str:
    places = "".join(f" [claim:{one['number']}]" for one in _given(messages)["claims"])
    return _json(final_answer=f"[answer]{places}", final_reasoning_trace="Rehearsal: no model tells how it was done.")


def _given(messages: Messages) -> Any:
    return read_fence(messages[1]["content"])


def _json(**values: Any) -> str:
    return json.dumps(values, ensure_ascii=False)


def _move(thought: str, tool: str, **arguments: Any) -> str:
    return _json(thought=thought, tool=tool, arguments=_json(**arguments), done=None)


def _done(thought: str, **work: Any) -> str:
    return _json(thought=thought, tool="", arguments="", done=work)


def stem(word: str) -> str:
    return word.casefold()[:5]


def stems(text: str) -> set[str]:
    words = [word.casefold() for word in re.findall(r"[^\W_]{4,}", text)]
    return {stem(word) for word in words if word not in COMMON}


def _sentences(result: str) -> Iterator[tuple[int, str]]:
    """Yield sentences in the result of a search, with the number of their source; the tool's own words are skipped."""
    source, lines = 0, list[str]()
    for line in [*result.split("\n"), "[0] , from character 0:"]:
        if found := FROM.match(line):
            yield from ((source, one) for one in _split("\n".join(lines)) if source)
            source, lines = int(found[1]), []
        else:
            lines.append(line)


def _split(text: str) -> Iterator[str]:
    """Yield sentences; paragraphs and list items end a sentence."""
    for block in re.split(r"\n\s*\n|\n(?=\s*(?:[-*#|]|\d+\.)\s)", text):
        line = re.sub(r"^\s*(?:[-*#|]+|\d+\.)\s+", "", " ".join(block.split()))
        for sentence in re.findall(r"[^.!?]+(?:[.!?](?!\s|$)[^.!?]*)*[.!?](?=\s|$)", line):
            if SHORTEST <= len(sentence.strip()) <= LONGEST and len(sentence.split()) > 3 and "|" not in sentence:
                yield sentence.strip()


def _plain(text: str) -> str:
    """Remove Markdown markup."""
    return re.sub(r"\*\*|`|\[([^\]]*)\]\([^)]*\)", r"\1", text)
