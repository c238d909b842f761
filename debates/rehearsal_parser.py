"""Parses a request of a debate back into what its recipient was sent."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from . import xml_messages
from .rules.state import ABSTAIN
from .xml_messages import XmlMessage, inner_text, unescape_scaffold

_MESSAGE = re.compile(r"<Message id=.*?</Message>", re.DOTALL)
_FLOOR = re.compile(r"<Floor .*?</Floor>")
_FIELD = re.compile(r'^"(\w+)": ', re.MULTILINE)


@dataclass(frozen=True)
class ParsedLine:
    """A numbered line of a document."""

    document: str
    number: int
    text: str


@dataclass(frozen=True)
class PromptMaterial:
    question: str
    meanings: Mapping[str, str]
    lines: Sequence[ParsedLine]


@dataclass(frozen=True)
class ParsedPrompt:
    """Content of a request. `me` is empty if the request does not say which of the `names` is asked. `own`: the
    member's earlier answers in full. `fresh`: messages since it last stated a verdict, as far as they are in
    full."""

    names: Sequence[str]
    options: Sequence[str]
    fields: Sequence[str]
    me: str
    who: str
    material: PromptMaterial
    own: Sequence[dict[str, Any]]
    told: Sequence[XmlMessage]
    fresh: Sequence[XmlMessage]
    minutes: str
    floor: Element

    @property
    def number(self) -> int:
        """Number of the requested message; 0 before the first."""
        return int(self.floor.get("message", "-0").rpartition("-")[2])

    @property
    def why(self) -> str:
        return self.floor.get("why", "")

    @cached_property
    def position(self) -> str:
        """The member's verdict so far."""
        text = unescape_scaffold(self.floor.text or "")
        if text.startswith("You abstain."):
            return ABSTAIN
        return max(
            (option for option in self.options if text.startswith(f"You stand by {option}. ")), key=len, default=""
        )

    @cached_property
    def spoken(self) -> int:
        """How often the member has spoken; estimated from the number of messages if the request does not name the
        member."""
        if not self.me:
            return self.number // (len(self.names) + 1)
        return len(self.own) + len(
            re.findall(rf"^\d+ {re.escape(inner_text(self.me)[:20])}", self.minutes, re.MULTILINE)
        )

    @cached_property
    def others(self) -> Sequence[XmlMessage]:
        return [message for message in self.told if message.speaker in self.names and message.speaker != self.me]

    @cached_property
    def positions(self) -> Mapping[str, str]:
        """Verdicts of all members, as far as the request shows them."""
        return {message.speaker: message.verdict for message in self.others} | (
            {self.me: self.position} if self.me else {}
        )


def parse_prompt(messages: Sequence[dict[str, str]]) -> ParsedPrompt:
    """Parse a request. Raises ValueError if it does not have the form of `prompts.perspective` or `prompts.first`."""
    system = messages[0]["content"]
    names, at = _strings(system, "members of a panel: ", 0)
    options, at = _strings(system, "A verdict is one of ", at)
    at = _after(system, "with these fields in this order:\n\n", at)
    fields = _FIELD.findall(system, at, system.index("\n\n", at))
    me, _ = (
        _strings(system, "# Who you are\n\nYou are ", at) if "# Who you are\n\nYou are " in system[at:] else ([""], 0)
    )
    own = [_answer(one["content"]) if one["role"] == "assistant" else {} for one in messages]
    opening, told, minutes, floor = _user(messages)
    boundary = opening.partition("\n")[0].removeprefix("BEGIN MATERIAL ")
    return ParsedPrompt(
        names=names,
        options=options,
        fields=fields,
        me=me[0],
        who=_who(system, boundary),
        material=_material(opening.partition("\n")[2]),
        own=[answer for answer in own if answer],
        told=told,
        fresh=_messages(messages[_stating(own) :]) if me[0] else told[-2 * len(names) :],
        minutes=minutes,
        floor=floor,
    )


def _answer(text: str) -> dict[str, Any]:
    """Return the answer as an object; empty if it is none, such as an unusable answer before its retry message."""
    try:
        said = json.loads(text)
    except ValueError:
        return {}
    return said if isinstance(said, dict) else {}


def _after(text: str, mark: str, at: int) -> int:
    return text.index(mark, at) + len(mark)


def _strings(text: str, mark: str, at: int) -> tuple[list[str], int]:
    """Return the comma-separated JSON strings after a mark."""
    at, found = _after(text, mark, at), []
    while text.startswith('"', at):
        one, at = json.JSONDecoder().raw_decode(text, at)
        found.append(one)
        at += 2 if text.startswith(', "', at) else 0
    return found, at


def _who(system: str, boundary: str) -> str:
    begins = system.rfind(f"\nWHO {boundary}\n")
    return system[begins:].partition("\n")[2].partition("\n")[2].rpartition(f"\nEND WHO {boundary}")[0]


def _user(messages: Sequence[dict[str, str]]) -> tuple[str, list[XmlMessage], str, Element]:
    said = [one["content"] for one in messages if one["role"] == "user"]
    end = said[0].index("</Material>\nEND MATERIAL ")
    opening, said[0] = said[0][:end], said[0][end:]
    return f"{opening}</Material>", _messages(messages), "\n".join(_minutes(said)), _floor(said)


def _stating(own: Sequence[dict[str, Any]]) -> int:
    """Return the place of the last own message that stated a verdict."""
    return max((place for place, answer in enumerate(own) if answer.get("verdict")), default=0)


def _messages(messages: Sequence[dict[str, str]]) -> list[XmlMessage]:
    said = "\n".join(one["content"] for one in messages if one["role"] == "user")
    return [_message(found) for found in _MESSAGE.findall(said)]


@lru_cache(500)
def _message(text: str) -> XmlMessage:
    message = xml_messages.read_messages(text)
    if not isinstance(message, XmlMessage):
        raise ValueError("a note where a message stands")
    return message


def _minutes(said: Sequence[str]) -> Iterator[str]:
    for text in said:
        yield from re.findall(r"<Minutes>\n(.*?)</Minutes>", text, re.DOTALL)


def _floor(said: Sequence[str]) -> Element:
    found = [one for text in said for one in _FLOOR.findall(text)]
    if not found:
        raise ValueError("not a request of a debate: nobody has the floor")
    return ElementTree.fromstring(found[-1])  # noqa: S314 - of our own making, without declarations


@lru_cache(20)
def _material(text: str) -> PromptMaterial:
    root = ElementTree.fromstring(text)  # noqa: S314 - the same
    meanings = {
        unescape_scaffold(one.attrib["word"]): unescape_scaffold(one.text or "") for one in root.findall("Option")
    }
    lines = [line for document in root.findall("Document") for line in _lines(document)]
    return PromptMaterial(unescape_scaffold(root.findtext("Question", "")), meanings, lines)


def _lines(document: Element) -> Iterator[ParsedLine]:
    for line in (document.text or "").strip("\n").split("\n"):
        number, _, text = line.partition(": ")
        yield ParsedLine(document.attrib["id"], int(number), unescape_scaffold(text))
