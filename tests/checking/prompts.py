"""What the two are asked, and how their answers are read."""

import json

from .rules import CheckFinding

VERSION = "1"
SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}


def write(question: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": f"Answer in one sentence, as JSON with `text`: {question}"}]


def check(question: str, draft: str) -> list[dict[str, str]]:
    asked = f"Is this sound or doubtful? JSON with `text`: one of the two words.\n\n{question}\n\n{draft}"
    return [{"role": "user", "content": asked}]


def sum_up(draft: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": f"Sum this up in a few words, as JSON with `text`: {draft}"}]


def read_draft(answer: str) -> str:
    text = json.loads(answer)["text"]
    if not text:
        raise ValueError("The text is empty.")
    return text


def read_finding(answer: str) -> CheckFinding:
    return CheckFinding(read_draft(answer))
