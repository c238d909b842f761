"""Messages as XML elements: members read these, and so does the export.

Everything that is written can be read back exactly. What could end an element, break a line or hide is escaped, so
that no text reaches beyond its own element. The reader accepts only what the writer produces.
"""

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from engine.text.invisible_chars import CATEGORIES

from .prompt_context import EVERYONE, AnswerShape, PromptArtifact, PromptDocument, PromptOption, PromptPoint
from .rules.state import SeatState


@dataclass(frozen=True)
class XmlMessage:
    """A message. `run`: the first eight characters of its debate's id. `to`: names, empty for everyone. `verdict`:
    what its speaker supports now; `stated`: this message says so.

    Only in the export: `kind`, if it is not a member's message in its turn; `by`, the account that spoke as the
    chair; and `cut`: it is incomplete.
    """

    run: str
    number: int
    at: datetime
    speaker: str
    content: str = ""
    to: tuple[str, ...] = ()
    wants_answer: bool = False
    points: tuple[PromptPoint, ...] = ()
    artifact: PromptArtifact | None = None
    verdict: str = ""
    stated: bool = False
    moved_by: tuple[int, ...] = ()
    reasoning: str = ""
    withdrawn: bool = False
    continues: int | None = None
    kind: str = ""
    by: str = ""
    cut: bool = False


@dataclass(frozen=True)
class XmlNote:
    """A note of the timekeeper. `after`: the number of the message before it, by the clock."""

    run: str
    number: int
    at: datetime
    speaker: str
    kind: str
    after: int
    content: str = ""


@dataclass(frozen=True)
class XmlFirstVerdict:
    """A member's verdict before the debate; `confidence` in percent, None if it was not given."""

    seat: int
    verdict: str
    reasoning: str = ""
    confidence: int | None = None


@dataclass(frozen=True)
class Act:
    """An act from outside after message `after`, as `rules.SteeringKind` lists them, with the account and the
    member that it concerns. Acts are numbered separately from messages. In older debates a withdrawal out of
    turn is an act with a verdict."""

    number: int
    after: int
    at: datetime
    kind: str
    by: str
    member: str = ""
    amount: int = 0
    verdict: str = ""
    reasoning: str = ""


@dataclass(frozen=True)
class XmlDebate:
    """A whole debate as exported.

    `digests`: SHA-256 of each document, by its id. `redacted`: when its texts were erased. `rule`, `because` and
    `code`: the rule of its outcome, why it ended, and why there was none. `advises`: people decide, not its outcome.
    `called`: what members call one another, if not by name.
    """

    run: str
    title: str
    question: str
    options: Sequence[PromptOption]
    members: Sequence[SeatState]
    documents: Sequence[PromptDocument]
    digests: dict[str, str]
    messages: Sequence[XmlMessage | XmlNote]
    acts: Sequence[Act] = ()
    outcome: str = ""
    alone: Sequence[XmlFirstVerdict] = ()
    rule: str = ""
    because: str = ""
    code: str = ""
    advises: bool = False
    called: Mapping[int, str] = field(default_factory=dict)
    redacted: datetime | None = None


# ---- texts ------------------------------------------------------------------------------------------------

_SHORT = {"\\": r"\\", "\n": r"\n", "\r": r"\r", "\t": r"\t"}
_LONG = {short: char for char, short in _SHORT.items()}
_ESCAPE = re.compile(r"\\(?:u[0-9a-f]{4}|U[0-9a-f]{8}|.)")


def escape_invisible(text: str) -> str:
    """Escape a text to one line, with a backslash before what would break it or hide."""
    if text.isprintable() and "\\" not in text:
        return text
    return "".join(_SHORT.get(char) or (_numbered(char) if _hides(char) else char) for char in text)


def _hides(char: str) -> bool:
    return unicodedata.category(char) in CATEGORIES


def _numbered(char: str) -> str:
    """Escape one character. Above four digits it is not a surrogate pair, which would read the same as two
    surrogates in the text."""
    return f"\\u{ord(char):04x}" if ord(char) < 0x10000 else f"\\U{ord(char):08x}"


def unescape_scaffold(text: str) -> str:
    return _ESCAPE.sub(lambda found: _LONG.get(found[0]) or chr(int(found[0][2:], 16)), text)


def inner_text(text: str) -> str:
    """Escape a text for an element or a quoted attribute."""
    shown = escape_invisible(text)
    return shown.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")


def element(name: str, text: str = "", **attributes: object) -> str:
    return wrapped(name, inner_text(text), **attributes)


def wrapped(name: str, content: str, **attributes: object) -> str:
    """Wrap written XML in an element. Attributes without a value are left out."""
    known = "".join(
        f' {key}="{inner_text(str(value))}"' for key, value in attributes.items() if value not in ("", None)
    )
    return f"<{name}{known}>{content}</{name}>"


# ---- writing ----------------------------------------------------------------------------------------------


def write_message(message: XmlMessage | XmlNote) -> str:
    return _write_note(message) if isinstance(message, XmlNote) else _write_message(message)


def _write_note(note: XmlNote) -> str:
    inner = element("Speaker", note.speaker) + element("Content", note.content)
    return wrapped("Note", inner, **_identity(note), kind=note.kind, after=note.after)


def _identity(message: XmlMessage | XmlNote) -> dict[str, str]:
    return {"id": f"{message.run}-{message.number}", "timestamp": _moment(message.at)}


def _moment(at: datetime) -> str:
    return at.astimezone(UTC).isoformat().replace("+00:00", "Z")


def _write_message(message: XmlMessage) -> str:
    wanted = "wanted" if message.wants_answer else ""
    inner = [
        element("Speaker", message.speaker),
        *(element("SpeakingTo", name, answer=wanted) for name in message.to or [EVERYONE]),
        wrapped("Artifacts", _artifacts(message)),
        _write_verdict(message),
        element("VerdictReasoning", message.reasoning),
        element("Withdrawn", "true" if message.withdrawn else "false"),
        element("Content", message.content),
    ]
    special = {"kind": message.kind, "by": message.by, "continues": message.continues}
    return wrapped("Message", _lines(inner), **_identity(message), **special, cut="true" if message.cut else "")


def _lines(inner: Sequence[str]) -> str:
    return "\n" + "".join(f"{line}\n" for line in inner) if inner else ""


def _artifacts(message: XmlMessage) -> str:
    points = [_write_point(point, number_of(message.number, place)) for place, point in enumerate(message.points, 1)]
    return _lines([*points, *([_write_artifact(message.artifact)] if message.artifact else [])])


def number_of(message: int, place: int) -> str:
    """Return the number of a point, by which others can answer it."""
    return f"{message}.{place}"


def _write_point(point: PromptPoint, number: str) -> str:
    source = {"document": point.document, "line": point.line or "", "answers": point.answers}
    return element("Point", point.claim, number=number, option=point.option, side=point.side, **source)


def _write_artifact(artifact: PromptArtifact) -> str:
    if artifact.kind == AnswerShape.TEXT:
        return wrapped("Text", inner_text(artifact.text), title=artifact.title)
    rows = [
        wrapped("Row", "".join(element("Cell", cell) for cell in row)) for row in (artifact.columns, *artifact.rows)
    ]
    show = AnswerShape.BARS if artifact.kind == AnswerShape.BARS else ""
    return wrapped("Table", "".join(rows), title=artifact.title, show=show)


def _write_verdict(message: XmlMessage) -> str:
    stated = "now" if message.stated else ""
    return element("Verdict", message.verdict, stated=stated, moved_by=" ".join(map(str, message.moved_by)))


def _came_about(debate: XmlDebate) -> dict[str, str]:
    told = {"rule": debate.rule, "because": debate.because, "code": debate.code}
    return {**told, "advises": "people decide" if debate.advises else ""}


def write_debate(debate: XmlDebate) -> str:
    """Return the export file with all messages."""
    options = [element("Option", one.meaning, word=one.word, direction=one.direction) for one in debate.options]
    members = [
        element("Member", one.name, seat=one.seat, kind=one.kind, called=debate.called.get(one.seat))
        for one in debate.members
    ]
    documents = [
        element("Document", one.title, id=one.id, lines=len(one.lines), sha256=debate.digests.get(one.id))
        for one in debate.documents
    ]
    inner = [
        element("Title", debate.title),
        element("Question", debate.question),
        wrapped("Options", _lines(options)),
        wrapped("Members", _lines(members)),
        wrapped("Documents", _lines(documents)),
        wrapped("Alone", _lines([_write_alone(one) for one in debate.alone])),
        wrapped("Messages", _lines([write_message(message) for message in debate.messages])),
        wrapped("Acts", _lines([write_act(one) for one in debate.acts])),
        element("Outcome", debate.outcome, **_came_about(debate)),
    ]
    redacted = _moment(debate.redacted) if debate.redacted else ""
    whole = wrapped("Debate", _lines(inner), id=debate.run, redacted=redacted)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{whole}\n'


def write_act(one: Act) -> str:
    about = {"by": one.by, "member": one.member, "amount": one.amount or "", "verdict": one.verdict}
    known = {"number": one.number, "after": one.after, "timestamp": _moment(one.at), "kind": one.kind}
    return element("Act", one.reasoning, **known, **about)


def _write_alone(one: XmlFirstVerdict) -> str:
    return element("Verdict", one.reasoning, seat=one.seat, verdict=one.verdict, confidence=one.confidence)


# ---- reading ----------------------------------------------------------------------------------------------


def read_messages(text: str) -> XmlMessage | XmlNote:
    """Parse a message; the inverse of `write_message`. Raises ValueError for anything that it does not write;
    declarations are ignored."""
    root = _root(text)
    try:
        return _READERS[root.tag](root)
    except (KeyError, IndexError) as error:
        raise ValueError(f"not a message: {error}") from error


def read_act(text: str) -> Act:
    """Parse an act of the export. Raises ValueError as `read_messages` does."""
    root = _root(text)
    try:
        return Act(
            number=int(root.attrib["number"]),
            after=int(root.attrib["after"]),
            at=datetime.fromisoformat(root.attrib["timestamp"]),
            amount=int(root.attrib.get("amount", "0")),
            reasoning=_text(root),
            **{name: _attribute(root, name) for name in ("kind", "by", "member", "verdict")},
        )
    except KeyError as error:
        raise ValueError(f"not an act: {error}") from error


def _root(text: str) -> Element:
    if "<!" in text or "<?" in text:
        raise ValueError("not one of these elements: it declares something")
    try:
        return ElementTree.fromstring(text)  # noqa: S314 - without declarations there is nothing to expand
    except ElementTree.ParseError as error:
        raise ValueError(f"not one of these elements: {error}") from error


def _read_note(root: Element) -> XmlNote:
    speaker, content = _in_order(root, ["Speaker", "Content"])
    kind, after = _attribute(root, "kind"), int(root.attrib["after"])
    return XmlNote(**_read_identity(root), speaker=_text(speaker), kind=kind, after=after, content=_text(content))


def _read_message(root: Element) -> XmlMessage:
    to = root.findall("SpeakingTo")
    names = ["Speaker", *["SpeakingTo"] * len(to), *"Artifacts Verdict VerdictReasoning Withdrawn Content".split()]
    speaker, *_, artifacts, verdict, reasoning, withdrawn, content = _in_order(root, names)
    *points, artifact = [*artifacts, None] if _has_points_alone(artifacts) else list(artifacts)
    continues = root.attrib.get("continues")
    addressed = tuple(_text(one) for one in to)
    return XmlMessage(
        **_read_identity(root),
        speaker=_text(speaker),
        content=_text(content),
        to=() if addressed == (EVERYONE,) else addressed,
        wants_answer=to[0].attrib.get("answer") == "wanted",
        points=tuple(_read_point(one) for one in points if one is not None),
        artifact=None if artifact is None else _read_artifact(artifact),
        verdict=_text(verdict),
        stated="stated" in verdict.attrib,
        moved_by=tuple(int(number) for number in verdict.attrib.get("moved_by", "").split()),
        reasoning=_text(reasoning),
        withdrawn=_text(withdrawn) == "true",
        continues=int(continues) if continues else None,
        kind=_attribute(root, "kind"),
        by=_attribute(root, "by"),
        cut=_attribute(root, "cut") == "true",
    )


def _in_order(root: Element, names: list[str]) -> list[Element]:
    children = list(root)
    if [child.tag for child in children] != names:
        raise ValueError("not a message: its elements are not those of the form")
    return children


def _read_identity(root: Element) -> dict:
    run, _, number = root.attrib["id"].rpartition("-")
    at = datetime.fromisoformat(root.attrib["timestamp"])
    return {"run": unescape_scaffold(run), "number": int(number), "at": at}


def _text(child: Element) -> str:
    return unescape_scaffold(child.text or "")


def _attribute(child: Element, name: str) -> str:
    return unescape_scaffold(child.attrib.get(name, ""))


def _has_points_alone(artifacts: Element) -> bool:
    return all(one.tag == "Point" for one in artifacts)


def _read_point(point: Element) -> PromptPoint:
    option, side = _attribute(point, "option"), _attribute(point, "side")
    line = int(point.attrib.get("line", "0"))
    return PromptPoint(_text(point), option, side, _attribute(point, "document"), line, _attribute(point, "answers"))


def _read_artifact(artifact: Element) -> PromptArtifact:
    title = _attribute(artifact, "title")
    if artifact.tag == "Text":
        return PromptArtifact(title, AnswerShape.TEXT, _text(artifact))
    columns, *rows = _read_rows(artifact)
    return PromptArtifact(
        title, AnswerShape.BARS if "show" in artifact.attrib else AnswerShape.TABLE, columns=columns, rows=tuple(rows)
    )


def _read_rows(table: Element) -> Iterator[tuple[str, ...]]:
    return (tuple(_text(cell) for cell in row) for row in table)


_READERS: dict[str, Callable[[Element], XmlMessage | XmlNote]] = {"Message": _read_message, "Note": _read_note}
