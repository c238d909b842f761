"""Runs, asked for and answered as a language model is: whatever can call one can call these.

Why so: docs/decisions.md, Other doors.
"""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from functools import partial
from typing import Any
from uuid import UUID

from asgiref.sync import sync_to_async
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from ninja import Router
from ninja.errors import AuthenticationError

from engine.hidden import visible_json
from engine.models import Run
from engine.reader import read
from runs.api import inside
from runs.api.answers import address_of, json_answer, stream_answer
from runs.api.events import Found, follow, read_in_turn, until_ended
from runs.api.refusals import Refusal, wrong_fields
from runs.api.scopes import credential
from runs.api.submitting import OnceKey
from runs.as_model import AsModel
from runs.face import Face, face_of, faces, snapshot_of

from . import forms, schemas, told

router = Router()
LONGEST = 570.0  # seconds: the usual client gives up after 600
OWNER = "magi"
SLOW = "It is not over after {:.0f} seconds and goes on: {}"


@dataclass(frozen=True)
class Asked:
    """What was asked, as it was begun, and how it is to be answered."""

    pk: UUID
    kind: AsModel
    model: str
    names: Sequence[str] | None
    with_usage: bool


def as_models() -> list[tuple[Face[Any, Any], AsModel]]:
    return [(face, face.as_model) for face in faces().values() if face.as_model]


# ---- lists ------------------------------------------------------------------------------------------------


@router.get("/models", response=schemas.Models, summary="What can be asked")
def models(request: HttpRequest) -> HttpResponse:
    return json_answer({"object": "list", "data": [_model(one) for one in _all_names()]})


@router.get(
    "/models/{path:name}",
    response=schemas.Model,
    openapi_extra=schemas.refused(404),
    summary="One of what can be asked",
)
def model(request: HttpRequest, name: str) -> HttpResponse:
    _, kind, own = _chosen(name)
    return json_answer(_model(f"{kind.prefix}/{own}"))


def _all_names() -> list[str]:
    return [f"{kind.prefix}/{name}" for _, kind in as_models() for name in kind.names()]


def _model(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": 0, "owned_by": OWNER}


def _chosen(model: str) -> tuple[Face[Any, Any], AsModel, str]:
    """By the name of a model: the kind, and which of its saved ones."""
    prefix, _, name = model.partition("/")
    for face, kind in as_models():
        found = next((one for one in kind.names() if one.lower() == name.lower()), None)
        if kind.prefix == prefix and found:
            return face, kind, found
    known = ", ".join(_all_names()[:20])
    raise told.NoAnswer(
        404, f"There is no model “{model}” here. There are: {known}.", "model_not_found", [("model", "")]
    )


# ---- asking -----------------------------------------------------------------------------------------------


REFUSED = schemas.refused(400, 402, 403, 404, 409, 413, 415, 429, 502, 503, 504)
REFUSED["responses"][200] = schemas.streamed()


@router.post(
    "/chat/completions",
    response=schemas.Answer,
    openapi_extra=REFUSED,
    summary="Ask, as a language model is asked",
)
async def complete(request: HttpRequest, asked: schemas.Completion, key: OnceKey = None) -> HttpResponseBase:
    """What the last message of a user says is begun. What came of it is the answer, a text that begins with the outcome
    or what `response_format` wants. Scopes, limits and keys are those of the API."""
    face, kind, name = await sync_to_async(_chosen)(asked.model)
    names, said = _names(asked, kind), _last_words(asked)
    try:
        begun = await inside.call(request, "POST", face.nouns, kind.body(name, said))
    except Refusal as refusal:
        raise _in_its_words(refusal) from refusal
    usage = bool(asked.stream_options and asked.stream_options.include_usage)
    this = Asked(UUID(begun["id"]), kind, f"{kind.prefix}/{name}", names, usage)
    if asked.stream:
        pieces = _pieces(request, this)
        await anext(pieces)
        return stream_answer(pieces)
    await until_ended(this.pk, credential(request).owner, LONGEST)
    # by the one reading thread: many waits end at once
    return await read(partial(_answer, request, this))


def _names(asked: schemas.Completion, kind: AsModel) -> list[str] | None:
    if asked.n not in (None, 1):
        raise wrong_fields([("n", "There is one answer.")])
    if asked.tool_choice not in (None, "none", "auto"):
        raise wrong_fields([("tool_choice", "No tool is used here, so none can be demanded.")])
    try:
        return forms.names_wanted(asked.response_format, kind.known)
    except forms.Unfit as error:
        raise wrong_fields([("response_format", str(error))]) from error


def _last_words(asked: schemas.Completion) -> str:
    last = next((one for one in reversed(asked.messages) if one.role == "user"), None)
    parts = last.content if last and last.content else ""
    if isinstance(parts, str):
        return parts
    if any(part.type != "text" for part in parts):
        raise wrong_fields([("messages", "Texts alone are read here, no pictures, sounds or files.")])
    return "\n".join(part.text for part in parts)


def _in_its_words(refusal: Refusal) -> Refusal:
    """Which field of the API's it was says nothing to whoever sent a message."""
    said = " ".join(message for _, message in refusal.errors)
    return Refusal(
        refusal.status, f"{refusal.detail} {said}".strip(), [("messages", "")] if said else (), refusal.headers
    )


# ---- answering --------------------------------------------------------------------------------------------


def _answer(request: HttpRequest, this: Asked) -> HttpResponse:
    run, seen = _seen(request, this)
    if not run.over:
        raise _too_slow(run, seen)
    return json_answer(told.completion(run, seen, this.model, told.answer_of(this.kind, run, seen, this.names)))


def _seen(request: HttpRequest, this: Asked) -> tuple[Run, dict[str, Any]]:
    """After a wait: the token may have ended meanwhile, and its owner may do less than before."""
    holder = credential(request).holder()
    if holder is None:
        raise AuthenticationError
    return told.look(holder, this.pk, address_of(request))


def _too_slow(run: Run, seen: dict[str, Any]) -> told.NoAnswer:
    return told.NoAnswer(504, SLOW.format(LONGEST, seen["url"]), "timeout")


async def _pieces(request: HttpRequest, this: Asked) -> AsyncGenerator[str, None]:
    """What happens, as what a model thinks; then the answer, line by line. An error stands in the stream."""
    heard, ended = "", False

    async def looked() -> Found:
        nonlocal heard, ended
        run, seen, news = await read_in_turn(partial(_news, request, this))
        if run.over:
            ended = True
            return Found(_ending(run, seen, this), last=True)
        fresh, heard = ("" if news == heard else news), news
        return Found([_event(told.chunk(run, this.model, {"reasoning_content": f"{fresh}\n"}))] if fresh else [])

    async with aclosing(follow(credential(request).owner, looked, this.pk)) as pieces:
        yield await anext(pieces)  # a place, or a refusal
        try:
            async for piece in pieces:
                yield piece
        except AuthenticationError:
            yield _error("The token holds no longer.", "invalid_api_key")
        except Refusal as refusal:
            yield _error(refusal.detail, getattr(refusal, "code", None))
        else:
            if not ended:
                yield _error("Others needed the place more. It goes on.", "server_error")


def _news(request: HttpRequest, this: Asked) -> tuple[Run, dict[str, Any], str]:
    run, seen = _seen(request, this)
    return run, seen, "" if run.over else _announced(run)


def _announced(run: Run) -> str:
    return str(face_of(run).display(snapshot_of(run)).announcement)


def _ending(run: Run, seen: dict[str, Any], this: Asked) -> list[str]:
    try:
        text = told.answer_of(this.kind, run, seen, this.names)
    except told.NoAnswer as error:
        return [_error(error.detail, error.code)]
    said = [{"role": "assistant", "content": ""}, *({"content": line} for line in text.splitlines(keepends=True))]
    events = [told.chunk(run, this.model, delta) for delta in said]
    events.append(told.chunk(run, this.model, {}, last=True))
    events += [told.usage_chunk(run, seen, this.model)] if this.with_usage else []
    return [*map(_event, events), "data: [DONE]\n\n"]


def _event(content: Any) -> str:
    return f"data: {visible_json(content)}\n\n"


def _error(message: str, code: str | None) -> str:
    return _event({"error": {"message": message, "type": "server_error", "param": None, "code": code}})
