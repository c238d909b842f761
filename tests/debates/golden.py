"""Requests as they are sent, kept byte for byte. After a change that is meant: python -m tests.debates.golden"""

import json
from dataclasses import replace
from functools import cache
from pathlib import Path

from debates import prompts
from debates.prompt_context import PromptContext, PromptView
from debates.rules.state import NoteKind, TurnReason, TurnState

from .held import chaired, hold, next_turn, opened, text_of

FOLDER = Path(__file__).parent / "golden"
SIZES = [(members, messages) for members in (2, 5, 9) for messages in (1, 20, 21, 200)]
MEMBER = 2

ARTIFACTS = (
    {"title": "Her words", "kind": "text", "text": "She said:\n<b>no</b>", "columns": [], "rows": []},
    {
        "title": "Groups",
        "kind": "table",
        "text": "",
        "columns": ["Year", "People"],
        "rows": [["2024", "7"], ["2025", "9"]],
    },
    {"title": "Hours", "kind": "bars", "text": "", "columns": ["Year", "Hours"], "rows": [["2024", "31"]]},
)


def scripted(table: PromptContext, turn: TurnState, continues: int | None) -> str:
    """Answers with all that an answer can have, in turn; nobody withdraws, and nobody agrees for long."""
    course, number = table.course, table.course.newest + 1
    others = [name for seat, name in table.names.items() if seat != turn.seat]
    heard = [one for one in course.messages_said if one.seat != turn.seat]
    option = table.words_of_options[(turn.seat + number // 17) % len(table.options)]
    changes = number > 8 and option != course.verdict_of.get(turn.seat)
    answer = {
        "speaking_to": others[number % 2 : number % 2 + number % 3] or ["everyone"],
        "expects_answer": number % 7 == 0,
        "content": f"In message {number} I say “{number * number}” & more,\nas {turn.seat} who <thinks> of {option}.",
        "points": [_point(table, number, option)] * (number % 3 > 0),
        "artifact": ARTIFACTS[number % 3] if number % 8 == 0 else None,
        "verdict": option if changes else "",
        "verdict_reasoning": f"It is what message {number} is about." if changes else "",
        "moved_by": [heard[-1].number] if changes and heard else [],
        "withdrawn": False,
    }
    return json.dumps(answer)


def _point(table: PromptContext, number: int, option: str) -> dict[str, object]:
    source = {"document": "A1", "line": number % 24 + 1} if number % 2 else {"document": "", "line": 0}
    answers = next(reversed(table.points), "") if number % 5 == 0 else ""
    return {"claim": f"Claim {number} stands.", "option": option, "side": "for", **source, "answers": answers}


@cache
def debate(members: int, messages: int) -> PromptContext:
    """So many messages of a debate of so many, each made of the one before; the chair speaks after the twentieth."""
    before = max((fewer for many, fewer in SIZES if many == members and fewer < messages), default=0)
    table = debate(members, before) if before else opened(members)
    if before == 20:
        table = chaired(table, "What about <the letter>?", (1,), ask=True)
    return hold(table, scripted, messages)


def request(members: int, messages: int) -> str:
    table = debate(members, messages)
    if messages == 200:
        table = hold(table, scripted)
        return text_of(prompts.member_messages(table, TurnState(999, MEMBER, TurnReason.CLOSING, table.course.newest)))
    turn = next_turn(table)
    return text_of(
        prompts.member_messages(table, TurnState(turn.number, MEMBER, turn.why, turn.after, asked_by=turn.asked_by))
    )


def others() -> dict[str, str]:
    """Requests of other forms, and the other view."""
    table = debate(5, 21)
    facts = prompts.note_facts(table, minutes=12)
    minutes = replace(table, view=PromptView.MINUTES)
    return {
        "first": text_of(prompts.first_verdict_messages(table, MEMBER)),
        "timekeeper": text_of(prompts.timekeeper_messages(table, 0, NoteKind.REMINDER, facts)),
        "minutes": text_of(prompts.member_messages(minutes, TurnState(99, MEMBER, TurnReason.DRAW))),
    }


def all_requests() -> dict[str, str]:
    return {f"{members}x{messages}": request(members, messages) for members, messages in SIZES} | others()


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, text in all_requests().items():
        (FOLDER / f"{name}.txt").write_text(text)
