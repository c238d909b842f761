"""What an error of the client library, of the wire or of an endpoint means: one failure of the tree."""

import re
import ssl
from typing import Any

import aiohttp
import httpx2
import openai

from . import failures, waits
from .answer import LARGEST_ANSWER, readable
from .providers import Provider


def classify(
    error: Exception, provider: Provider, model: str, asked: dict[str, Any], answers: bool = False
) -> failures.CallFailed:
    """`asked` is the body of the request; `answers`: something of an answer had come before it went wrong. The
    failure's texts are clean of the provider's key."""
    where = f"{provider.name} ({provider.host})"
    if isinstance(error, openai.APIStatusError):
        answer = _Refusal(error, provider)
        return _format_refused(answer, where, asked) or _by_status(answer, where, model)
    if isinstance(error, openai.APIConnectionError | httpx2.TransportError | aiohttp.ClientError | OSError):
        # also what the client calls a time-out: with none set for reading, only connecting can have one
        reason = provider.clean(str(error.__cause__ or error).replace(" ssl:default", "")) or type(error).__name__
        if answers:
            return failures.Unreachable(f"The answer of {where} broke off before its end: {reason[:200]}")
        failure = failures.Unreachable(f"{where} could not be reached: {reason[:200]}")
        failure.server_away = not _speaks_otherwise(error)
        return failure
    return failures.UnusableAnswer(f"The answer of {where} could not be read ({type(error).__name__}).")


def _speaks_otherwise(error: BaseException | None) -> bool:
    """Whether somebody is there, with whom no encrypted connection can be made: waiting changes nothing of that."""
    while error is not None:
        if isinstance(error, ssl.SSLError | ssl.CertificateError | aiohttp.ClientSSLError):
            return True
        error = error.__cause__ or error.__context__
    return False


class _Refusal:
    """An error status, as far as we read it. Whatever it repeats of the key is gone before anything is cut."""

    def __init__(self, error: openai.APIStatusError, provider: Provider) -> None:
        body = error.body if isinstance(error.body, dict) else {}
        self.status = error.status_code
        self.code = error.code if isinstance(error.code, str) else ""
        self.raw = provider.clean(readable(error.response.content[:LARGEST_ANSWER]))
        said = body.get("message")
        self.message = provider.clean(str(said)) if said else ""
        self.about = f"{self.message or self.raw} {body.get('param') or ''}"
        self.headers = error.response.headers

    @property
    def said(self) -> str:
        return f" It said: {failures.quoted(self.message)}." if self.message else ""


Meaning = tuple[type[failures.CallFailed], str]

BY_CODE: dict[str, Meaning] = {
    "insufficient_quota": (failures.QuotaUsedUp, "The quota at {where} is used up ({status})."),
    "content_filter": (failures.ContentFiltered, "The content filter of {where} stopped the request.{said}"),
    "model_not_found": (failures.UnknownModel, "{where} does not know the model “{model}” ({status}).{said}"),
}
TOO_LONG = (failures.Refused, "The content is too long for the model “{model}” at {where} ({status}).{said}")
BY_WORDS: tuple[tuple[re.Pattern[str], Meaning], ...] = (
    # gateways give no code of their own for what they pass on
    (re.compile(r"context.?(length|window)|too many tokens", re.IGNORECASE), TOO_LONG),
    (re.compile(r"credit balance", re.IGNORECASE), BY_CODE["insufficient_quota"]),
    (
        re.compile(r"(invalid|unknown|no such) model|model.{0,80}(not found|not exist)", re.I),
        BY_CODE["model_not_found"],
    ),
)
BY_STATUS: dict[int, Meaning] = {
    401: (failures.Unauthorized, "{where} refused the key (401)."),
    402: BY_CODE["insufficient_quota"],
    403: (failures.Unauthorized, "{where} refused the key (403)."),
    404: (failures.UnknownModel, "{where} does not know the model “{model}”, or is the wrong address (404).{said}"),
    408: (failures.TimedOut, "{where} gave up waiting for the request (408).{said}"),
    409: (failures.ServerError, "{where} answered 409.{said}"),
}
BY_HUNDRED: dict[int, Meaning] = {
    3: (failures.Refused, "{where} redirects to another address ({status}), which is not followed."),
    4: (failures.Refused, "{where} refused the request ({status}).{said}"),
}
OTHERWISE = (failures.ServerError, "{where} answered {status}.{said}")
AWAY = {502, 503, 504, *range(520, 525), 529, 530}  # what stands before a server says so of it, or the server itself
BUSY = re.compile(  # the same with 500
    r"overloaded|(?:model|server).{0,40}\bloading|loading.{0,20}model|connection (?:refused|reset|error)|ECONNREFUSED"
    r"|temporarily unavailable|at (?:full )?capacity|no healthy upstream|too many (?:pending|concurrent) requests",
    re.IGNORECASE,
)

NOT_TAKEN = re.compile(
    r"unsupported|not support|unknown|invalid|unexpected|not allowed|validation|failed to parse", re.I
)
SPEAKS_OF = {  # what an endpoint says when it does not take this part of a request
    "stream_options": re.compile(r"stream_options", re.IGNORECASE),
    "response_format": re.compile(
        r"response.?format|json.?schema|json.?object|structured.?output|\bgrammar\b", re.IGNORECASE
    ),
    "system": re.compile(r"\bsystem\b.{0,20}\b(role|message|prompt|instruction)|role.{0,20}\bsystem\b", re.IGNORECASE),
    "max_tokens": re.compile(r"max_(completion_|new_)?tokens", re.IGNORECASE),
    "stream": re.compile(r"\bstream", re.IGNORECASE),
}
ROOM = re.compile(r"max_(completion_|new_)?tokens|in the completion|completion tokens", re.IGNORECASE)


def _format_refused(answer: _Refusal, where: str, asked: dict[str, Any]) -> failures.FormatRefused | None:
    """Whether a part of the request was refused, by its name; not where the words stand in an error of another kind."""
    if (bound := _bound(asked)) and answer.status in (400, 413, 422) and _by_words(answer) == TOO_LONG:
        if ROOM.search(answer.about):  # some add what the answer may be to what is sent
            sentence = f"{where} has no room for {asked[bound]} tokens of an answer ({answer.status}); none are named."
            return failures.FormatRefused(sentence, raw=answer.raw, refused="room")
        return None
    if answer.status not in (400, 415, 422, 500, 501) or answer.code in BY_CODE or _by_words(answer):
        return None
    if answer.status >= 500 and not NOT_TAKEN.search(answer.about):
        return None
    for refused, words in SPEAKS_OF.items():
        if (part := _part(asked, refused)) and words.search(answer.about):
            kind = part.get("type", refused)
            sentence = f"{where} does not take {kind} ({answer.status}); it is asked in another way."
            return failures.FormatRefused(sentence, raw=answer.raw, refused=refused)
    return None


def _bound(asked: dict[str, Any]) -> str:
    """By which name the request says how long the answer may be."""
    return next((name for name in ("max_tokens", "max_completion_tokens") if name in asked), "")


def _part(asked: dict[str, Any], name: str) -> dict[str, Any]:
    """Of a request; empty where it has none."""
    if name == "max_tokens":
        return {"type": _bound(asked)} if _bound(asked) else {}
    if name == "stream":
        return {} if asked.get("stream") else {"type": "an answer in one piece"}
    if name != "system":
        return asked.get(name) or {}
    has = any(message["role"] == "system" for message in asked.get("messages", ()))
    return {"type": "a system message"} if has else {}


def _by_words(answer: _Refusal) -> Meaning | None:
    if answer.status not in (400, 413, 422):
        return None
    return next((meaning for words, meaning in BY_WORDS if words.search(answer.about)), None)


def _by_status(answer: _Refusal, where: str, model: str) -> failures.CallFailed:
    status = answer.status
    if status == 429 and not _out_of_money(answer):
        return _rate_limited(answer, where)
    meaning = BY_STATUS[402] if status == 429 else BY_CODE.get(answer.code) or _by_words(answer)
    kind, sentence = meaning or BY_STATUS.get(status) or BY_HUNDRED.get(status // 100) or OTHERWISE
    failure = kind(sentence.format(where=where, status=status, model=model, said=answer.said), raw=answer.raw)
    if kind is failures.ServerError:
        failure.retry_after = wait = _retry_after(answer)
        failure.server_away = status in AWAY or wait is not None or bool(BUSY.search(answer.raw[: waits.MOST_READ]))
    return failure


def _out_of_money(answer: _Refusal) -> bool:
    """Whether a 429 will not pass by waiting. Some say the same words of a limit by the minute, and when it ends."""
    if answer.code == "insufficient_quota":
        return True
    ends = waits.named(answer.headers, answer.raw) is not None or re.search(
        r"retry.?(delay|in|after)", answer.raw, re.IGNORECASE
    )
    return not ends and bool(re.search(r"exceeded your current quota|insufficient.?quota", answer.raw, re.IGNORECASE))


def _rate_limited(answer: _Refusal, where: str) -> failures.RateLimited:
    wait = _retry_after(answer)
    asked = f", and asks to wait {wait:.0f} s" if wait is not None else ""
    sentence = f"{where} limits the rate of requests (429){asked}."
    return failures.RateLimited(sentence, raw=answer.raw, retry_after=wait)


def _retry_after(answer: _Refusal) -> float | None:
    return waits.named(answer.headers, answer.raw, limited=answer.status == 429)
