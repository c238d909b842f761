"""Researcher and expert: one move at a time, with a tool or with the work that is handed in."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from pydantic import BaseModel

from toolbox.moves import arguments_of, growing

from ..rules.limits import CLAIMS, QUOTES, RESULT_LENGTH, TOGETHER
from .common import TEXT, Answer, Messages, list_of, object_of, read_as, request, said

RESEARCHER = """\
# Your role

You work on one step of research, "step" in the material. With each answer you make one move: you use one tool, or you \
hand in what you have found.

What a search shows is a hint where to read, and no source yet. Where sources contradict each other, say so and cite \
both. Prefer whoever made, measured or decided a thing to whoever repeats it. That something cannot be found is a good \
result: hand in "found": false and say where you have looked.

Each claim quotes the place where it stands: word for word, at least three words and at most 300 characters, by the \
number of its source. A program looks for each quote in that source; what does not stand there comes back to you."""
EXPERT = """\
# Your role

You answer the question from the results of research, "results" in the material, by the steps in "expert_steps", in \
their order. With each answer you make one move: you use one tool, or you hand in the answer. Work out numbers with a \
tool, never in your head.

Use every result, or name it in "results_not_needed" with the reason. Each claim of the answer is reasoned from claims \
of the results, by their numbers, or quotes a source itself, word for word. Where the results do not carry an answer, \
hand in "answerable": false and name in "answer" what is missing: that is a good result, too."""
TOOLS = """

# Your tools

{tools}

You have {left} left."""
TWO_SITES = """

Where a claim rests on sites alone, it quotes two of them at least, of different hosts: one that rests on one site \
comes back to you, too."""
NO_TOOLS = "You have none now: hand in what there is."
MOVE = """\
{"thought": "one sentence that everybody may read", "tool": "...", "arguments": "{\\"words\\": ...}", "also": [], \
"done": null}"""
ALSO = """\
"arguments" is the JSON of the tool's arguments, in a string. In "also" may stand what is used at once with it, up to \
{also} more, each {{"tool": "...", "arguments": "..."}}: so several pages are read with one move. """
RESEARCH_DONE = """\
To hand in, leave "tool" and "arguments" empty, and give \
as "done" {{"found": true, "result": "what was found, in a few sentences", "claims": [{{"text": "one statement", \
"quotes": [{{"source": 1, "quote": "words of that source"}}]}}]}}. At most {claims} claims."""
EXPERT_DONE = """\
To hand in, leave "tool" and "arguments" empty, and give \
as "done" {{"answerable": true, "answer": "the answer", "reasoning": "how it follows", "claims": [{{"text": "one \
statement", "reasoned_from": [1], "quotes": []}}], "results_not_needed": [{{"step": 1, "why": "..."}}]}}. At most \
{claims} claims."""

__all__ = ["growing"]

_QUOTE = object_of(source={"type": "integer"}, quote=TEXT)
_NUMBERS = list_of({"type": "integer"})
_RESEARCH_CLAIM = object_of(text=TEXT, quotes=list_of(_QUOTE))
_CLAIM = object_of(text=TEXT, quotes=list_of(_QUOTE), reasoned_from=_NUMBERS)
_FOUND = object_of(found={"type": "boolean"}, result=TEXT, claims=list_of(_RESEARCH_CLAIM))
_ANSWERED = object_of(
    answerable={"type": "boolean"},
    answer=TEXT,
    reasoning=TEXT,
    claims=list_of(_CLAIM),
    results_not_needed=list_of(object_of(step={"type": "integer"}, why=TEXT)),
)


def _schema(done: dict[str, Any]) -> dict[str, Any]:
    also = list_of(object_of(tool=TEXT, arguments=TEXT))
    return object_of(thought=TEXT, tool=TEXT, arguments=TEXT, also=also, done={"anyOf": [done, {"type": "null"}]})


RESEARCH_SCHEMA, EXPERT_SCHEMA = _schema(_FOUND), _schema(_ANSWERED)


@dataclass(frozen=True)
class Usable:
    """A tool as its schema describes it. `strange`: strangers wrote that, so that it is material."""

    name: str
    description: str
    arguments: dict[str, Any]
    strange: bool = False


@dataclass(frozen=True)
class Made:
    """A move of this step that was made, with what came of it."""

    number: int
    thought: str
    tool: str
    arguments: str
    result: str


@dataclass(frozen=True)
class Quoted:
    source: int
    quote: str


@dataclass(frozen=True)
class Claimed:
    """`reasoned_from`: numbers of claims. The claims that are shown have one, those that are handed in get it."""

    text: str
    quotes: Sequence[Quoted] = ()
    reasoned_from: Sequence[int] = ()
    number: int = 0


@dataclass(frozen=True)
class Result:
    """Of a research step, as its critic let it pass."""

    step: int
    text: str
    result: str
    claims: Sequence[Claimed] = ()


@dataclass(frozen=True)
class Research:
    """What the researcher is given, in this order."""

    question: str
    plan: Sequence[str]
    step: dict[str, Any]
    found_so_far: Sequence[Result]
    feedback: Sequence[dict[str, str]]
    hints: Sequence[dict[str, str]]
    sources: Sequence[dict[str, Any]]
    moves: Sequence[Made]
    left: dict[str, int]
    today: str


@dataclass(frozen=True)
class Expertise:
    """What the expert is given, in this order."""

    question: str
    expert_steps: Sequence[str]
    results: Sequence[Result]
    left_out: Sequence[str]
    feedback: Sequence[dict[str, str]]
    hints: Sequence[dict[str, str]]
    sources: Sequence[dict[str, Any]]
    moves: Sequence[Made]
    left: dict[str, int]
    today: str


@dataclass(frozen=True)
class HandIn:
    """Work that is handed in. `found`: whether there is something, or, of an answer, whether there can be one."""

    found: bool
    text: str
    reasoning: str = ""
    claims: Sequence[Claimed] = ()
    not_needed: Mapping[int, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Move:
    """`also`: other tools that are used at once, each with its arguments."""

    thought: str
    tool: str = ""
    arguments: dict[str, Any] = field(default_factory=dict)
    done: HandIn | None = None
    also: Sequence[tuple[str, dict[str, Any]]] = ()


class _Quote(Answer):
    source: int
    quote: str


class _Claim(Answer):
    text: str
    quotes: list[_Quote] = []
    reasoned_from: list[int] = []


class _Found(Answer):
    found: bool
    result: str
    claims: list[_Claim] = []


class _NotNeeded(Answer):
    step: int
    why: str


class _Answered(Answer):
    answerable: bool
    answer: str
    reasoning: str = ""
    claims: list[_Claim] = []
    results_not_needed: list[_NotNeeded] = []


class _Use(Answer):
    tool: str | None = None
    arguments: str | dict[str, Any] | None = None


class _Said(_Use):
    thought: str = ""
    also: list[_Use] = []


class _Researched(_Said):
    done: _Found | None = None


class _Expert(_Said):
    done: _Answered | None = None


# ---- asking -----------------------------------------------------------------------------------------------


def research(work: Research, tools: Sequence[Usable], mark: str | None = None, *, sites: int = 1) -> Messages:
    """`sites`: on how many a claim has to rest that rests on sites alone."""
    return _asked(RESEARCHER + (TWO_SITES if sites > 1 else ""), RESEARCH_DONE, work, tools, mark)


def answer(work: Expertise, tools: Sequence[Usable], mark: str | None = None, *, sites: int = 1) -> Messages:
    return _asked(EXPERT + (TWO_SITES if sites > 1 else ""), EXPERT_DONE, work, tools, mark)


def _asked(role: str, done: str, work: Any, tools: Sequence[Usable], mark: str | None) -> Messages:
    moves = work.left["moves"]
    described = "\n\n".join(map(_described, tools)) or NO_TOOLS
    role += TOOLS.format(tools=described, left="one move" if moves == 1 else f"{moves} moves")
    strange = [{"name": one.name, "description": one.description} for one in tools if one.strange]
    material = asdict(work) | ({"tools": strange} if strange else {})
    form = ALSO.format(also=TOGETHER - 1) + done.format(claims=CLAIMS)
    return request(role, f"{MOVE}\n\n{form}", material, mark)


def _described(tool: Usable) -> str:
    description = 'what it does stands in the material, in "tools".' if tool.strange else tool.description
    return f"{tool.name}: {description}\nArguments: {json.dumps(tool.arguments, ensure_ascii=False)}"


# ---- reading ----------------------------------------------------------------------------------------------


def read_research(text: str, tools: Mapping[str, type[BaseModel]]) -> Move:
    said_ = read_as(_Researched, text)
    if said_.done is None:
        return _call(said_, tools)
    done = said_.done
    handed = HandIn(done.found, said(done.result, "result", RESULT_LENGTH), claims=_claims(done.claims))
    if done.found and not handed.claims:
        raise ValueError("What was found has no claim. Each has a quote of the source where it stands.")
    if bare := [one for one in handed.claims if not one.quotes]:
        raise ValueError(f"The claim “{bare[0].text[:80]}” quotes no source.")
    return _handed_in(said_, handed)


def read_answer(text: str, tools: Mapping[str, type[BaseModel]]) -> Move:
    said_ = read_as(_Expert, text)
    if said_.done is None:
        return _call(said_, tools)
    done = said_.done
    words = said(done.answer, "answer", RESULT_LENGTH), done.reasoning.strip()[:RESULT_LENGTH]
    not_needed = {one.step: one.why.strip() for one in done.results_not_needed}
    handed = HandIn(done.answerable, *words, claims=_claims(done.claims), not_needed=not_needed)
    if done.answerable and not done.reasoning.strip():
        raise ValueError("“reasoning” is empty: say how the answer follows.")
    if done.answerable and (bare := [one for one in handed.claims if not (one.quotes or one.reasoned_from)]):
        raise ValueError(f"The claim “{bare[0].text[:80]}” is reasoned from no claim, and quotes no source.")
    return _handed_in(said_, handed)


def _call(said_: _Said, tools: Mapping[str, type[BaseModel]]) -> Move:
    if not said_.tool:
        raise ValueError("A move uses a tool, or hands in the work as “done”. This does neither.")
    if len(said_.also) >= TOGETHER:
        raise ValueError(f"“also” has {len(said_.also)} uses of tools, and {TOGETHER - 1} are taken.")
    arguments = arguments_of(said_.tool, said_.arguments, tools)
    also = [(one.tool or "", arguments_of(one.tool or "", one.arguments, tools)) for one in said_.also]
    return Move(said_.thought.strip(), said_.tool, arguments, also=also)


def _handed_in(said_: _Said, done: HandIn) -> Move:
    if said_.tool or said_.also:
        raise ValueError("A move uses a tool, or hands in the work as “done”. This does both.")
    return Move(said_.thought.strip(), done=done)


def _claims(claims: Sequence[_Claim]) -> list[Claimed]:
    if len(claims) > CLAIMS:
        raise ValueError(f"There are {len(claims)} claims, and {CLAIMS} are taken.")
    if many := [one for one in claims if len(one.quotes) > QUOTES]:
        raise ValueError(f"A claim has {len(many[0].quotes)} quotes, and {QUOTES} are taken.")
    return [
        Claimed(said(one.text, "text", 1_000), [Quoted(q.source, q.quote) for q in one.quotes], one.reasoned_from)
        for one in claims
    ]
