"""Interpretation of errors that an endpoint sends in place of an answer, with a status or within a stream.

Servers and gateways put messages, codes and waits in different places. All of them are parsed here.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from . import errors, waits
from .providers import Provider, clean_storable_text

DEEPEST = 6  # of an error within an error: a gateway passes on what a gateway passed on
MOST_ITEMS = 5  # of a list of errors
LONGEST_SAID = 2000
# where words stand, in the order in which they are read; some gateways give two of them, the short one first
WORDS = "error errors message msg detail details error_description description title reason metadata raw".split()
WORDS += "fault faultstring exception error_message errormsg error_msg".split()
CODES = ("code", "type", "status", "error_type", "reason", "__type", "error_code")
NO_CODE = {"", "error", "none", "null"}


class Refusal:
    """A parsed error. The provider's key is masked before any text is cut."""

    def __init__(self, status: int, sent: bytes, headers: Mapping[str, str], provider: Provider, where: str) -> None:
        self.raw, self.headers, self.where = provider.clean(readable(sent)), headers, where
        body = parsed(provider.clean(sent.decode(errors="replace")))
        self.codes = set(codes(body))
        self.status = status or _status_of(body, self.codes)
        said = "" if is_page(self.raw) else words(self.raw if body is None else body)
        self.message = provider.clean(said)[:LONGEST_SAID]
        self.about = " ".join((self.message or self.raw, str(_named(body, "param") or ""), *sorted(self.codes)))
        self.sample_failed = bool(self.codes & BAD_SAMPLES) or _named(body, "failed_generation") is not None

    @property
    def said(self) -> str:
        if not self.message:
            return ""
        end = "" if self.message.endswith((".", "!", "?", "…")) else "."
        return f" It said: {errors.quote_provider(self.message)}{end}"

    def failure(self, model: str, asked: Mapping[str, Any]) -> errors.CallFailed:
        """Return the failure for this error. `asked` is the body of the request."""
        if self.sample_failed and self.status in (0, 400, 422, 500):
            sentence = f"The model made no answer of the form that was asked for.{self.said}"
            return errors.UnusableAnswer(sentence, raw=self.raw)
        return self._format_refused(asked) or self._by_status(model)

    def _format_refused(self, asked: Mapping[str, Any]) -> errors.ResponseFormatRejected | None:
        """Return the failure if a part of the request is not supported; None if the words are in an error of another
        kind.
        """
        if (bound := _bound(asked)) and self.status in (0, 400, 413, 422) and self._by_words() is TOO_LONG:
            if ROOM.search(self.about):  # some add what the answer may be to what is sent
                sentence = (
                    f"{self.where} has no room for {asked[bound]} tokens of an answer{self._number}; none are named."
                )
                return errors.ResponseFormatRejected(sentence, raw=self.raw, refused="room")
            return None
        if self.status not in (0, 400, 404, 415, 422, 424, 500, 501) or self._by_code() or self._by_words():
            return None
        if self.status not in (400, 415, 422) and not NOT_TAKEN.search(self.about):
            return None
        for refused, said in SPEAKS_OF.items():
            if (part := _part(asked, refused)) and said.search(self.about):
                kind = part.get("type", refused)
                sentence = f"{self.where} does not take {kind}{self._number}; it is asked in another way."
                return errors.ResponseFormatRejected(sentence, raw=self.raw, refused=refused)
        return None

    @property
    def _number(self) -> str:
        return f" ({self.status})" if self.status else ""

    def _by_code(self) -> "Meaning | None":
        return next((meaning for code, meaning in BY_CODE.items() if code in self.codes), None)

    def _by_words(self) -> "Meaning | None":
        by_words = BY_WORDS if self.status in (0, 400, 401, 403, 404, 413, 422, 424) else STRONG_WORDS
        if self.status in (429, 503, 529):
            return TOO_LONG if TOO_LARGE.search(self.about) and self.status == 429 else None
        return next((meaning for said, meaning in by_words if said.search(self.about)), None)

    def _by_status(self, model: str) -> errors.CallFailed:
        status = self.status
        too_large = status == 429 and TOO_LARGE.search(self.about)
        if (status == 429 or (status in (0, 403) and LIMITED.search(self.about))) and not too_large:
            if not self._out_of_money():
                return self._rate_limited()
            meaning: Meaning | None = BY_STATUS[402]
        else:
            meaning = self._by_code() or self._by_words()
        if status == 403 and not meaning and self.message:
            meaning = NOT_ALLOWED
        kind, sentence = meaning or BY_STATUS.get(status) or BY_HUNDRED.get(status // 100) or OTHERWISE
        if not status and not meaning:
            sentence = IN_STREAM
        said = {"where": self.where, "status": self._number, "model": model, "said": self.said}
        failure = kind(sentence.format(**said), raw=self.raw)
        if kind is errors.ServerError:
            self._look_for_a_wait(failure)
        if meaning is TOO_LONG:
            failure.advice = errors.LESS
        return failure

    def _look_for_a_wait(self, failure: errors.CallFailed) -> None:
        wait = self._wait()
        failure.retry_after = wait
        failure.server_away = self.status in AWAY or wait is not None or bool(BUSY.search(self.raw[: waits.MOST_READ]))

    def _out_of_money(self) -> bool:
        """Whether waiting does not help. Some endpoints use the same words for a limit per minute, but say when it
        ends.
        """
        if "insufficient_quota" in self.codes:
            return True
        ends = waits.named(self.headers, self.raw) is not None or re.search(r"(?i)retry.?(delay|in|after)", self.raw)
        return not ends and bool(re.search(r"(?i)exceeded your current quota|insufficient.?quota", self.raw))

    def _rate_limited(self) -> errors.RateLimited:
        wait = self._wait()
        asked = f", and asks to wait {wait:.0f} s" if wait is not None else ""
        sentence = f"{self.where} limits the rate of requests{self._number}{asked}."
        return errors.RateLimited(sentence, raw=self.raw, retry_after=wait)

    def _wait(self) -> float | None:
        return waits.named(self.headers, self.raw, limited=self.status == 429)


def readable(data: bytes) -> str:
    """Return bytes as text that every database accepts."""
    return clean_storable_text(data.decode(errors="backslashreplace"))


# ---- what the body says ----------------------------------------------------------------------------------


def parsed(raw: str) -> Any:
    """Return the JSON value; None if the text is not JSON."""
    try:
        return json.loads(raw.lstrip("\ufeff"))
    except (ValueError, RecursionError):
        return None


def is_page(raw: str) -> bool:
    return raw.lstrip("\ufeff \t\r\n")[:1] == "<"


def words(value: Any, deep: int = 0) -> str:
    """Return the messages for people in an error, at any depth up to DEEPEST."""
    if deep > DEEPEST:
        return ""
    if isinstance(value, str):
        within = parsed(value) if value.lstrip()[:1] in ("{", "[") else None
        return (words(within, deep + 1) if isinstance(within, dict | list) else "") or (value if value.strip() else "")
    if isinstance(value, list):
        return "; ".join(_distinct(words(one, deep + 1) for one in value[:MOST_ITEMS]))
    if not isinstance(value, dict):
        return ""
    by_name = {str(name).lower(): one for name, one in value.items()}
    said = ": ".join(_distinct(words(by_name.get(name), deep + 1) for name in WORDS))
    place = by_name.get("loc")  # of a field, as FastAPI gives it
    return f"{'.'.join(map(str, place))}: {said}" if said and isinstance(place, list) else said


def _distinct(found: Iterator[str]) -> list[str]:
    kept: list[str] = []
    for one in found:
        if one and not any(one in other for other in kept):
            kept.append(one)
    return kept


def codes(value: Any, deep: int = 0) -> Iterator[str]:
    """Yield the codes for programs."""
    if deep > DEEPEST or not isinstance(value, dict | list):
        return
    if isinstance(value, list):
        for one in value[:MOST_ITEMS]:
            yield from codes(one, deep + 1)
        return
    for name, one in value.items():
        if name in CODES and isinstance(one, str) and one.lower() not in NO_CODE:
            yield one[:100]
        elif isinstance(one, dict | list):
            yield from codes(one, deep + 1)


def _named(value: Any, name: str, deep: int = 0) -> Any:
    """Return the first value with this name, up to the depth DEEPEST."""
    if deep > DEEPEST or not isinstance(value, dict | list):
        return None
    inside = value[:MOST_ITEMS] if isinstance(value, list) else [value.get(name), *value.values()]
    if isinstance(value, dict) and inside[0] is not None:
        return inside[0]
    return next((found for one in inside if (found := _named(one, name, deep + 1)) is not None), None)


def _status_of(body: Any, named: set[str]) -> int:
    """Return the status that an error without one names; 0 if it names none."""
    for name in ("code", "http_status_code", "status_code", "status"):
        number = _named(body, name)
        number = int(number) if isinstance(number, str) and number.isascii() and number.isdigit() else number
        if isinstance(number, int) and not isinstance(number, bool) and 400 <= number < 600:
            return number
    return next((status for code, status in STATUSES.items() if code in named), 0)


# ---- what it means ----------------------------------------------------------------------------------------

Meaning = tuple[type[errors.CallFailed], str]

BAD_SAMPLES = {"json_validate_failed", "tool_use_failed", "output_parse_failed"}
STATUSES = {  # of errors that are named by a word alone
    "overloaded_error": 529,
    "server_overloaded": 503,
    "service_unavailable": 503,
    "unavailable_error": 503,
    "UNAVAILABLE": 503,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "RESOURCE_EXHAUSTED": 429,
    "timeout_error": 504,
    "authentication_error": 401,
    "UNAUTHENTICATED": 401,
}
UNAUTHORIZED = (errors.Unauthorized, "{where} refused the key{status}.{said}")
NOT_ALLOWED = (errors.Unauthorized, "{where} does not allow this request{status}.{said}")
BY_CODE: dict[str, Meaning] = {
    "insufficient_quota": (errors.QuotaExceeded, "The quota at {where} is used up{status}.{said}"),
    "content_filter": (errors.ContentFiltered, "The content filter of {where} stopped the request.{said}"),
    "model_not_found": (errors.UnknownModel, "{where} does not know the model “{model}”{status}.{said}"),
    "API_KEY_INVALID": UNAUTHORIZED,
    "invalid_api_key": UNAUTHORIZED,
}
TOO_LONG: Meaning = (
    errors.RequestRejected,
    "The content is too long for the model “{model}” at {where}{status}.{said}",
)
# a request that is larger than the limit per minute: waiting does not help
TOO_LARGE = re.compile(r"(?i)request too large|must be reduced in order|reduce (?:your message size|the length)")
PROMPT_TOO_LONG = re.compile(
    r"""(?xi)
    context.?(?:length|window|size|limit) | context_length_exceeded | exceed_context | tokens_limit_reached
    | \bcontext\b.{0,30}\b(?:overflow|exceed|full\b)
    | (?:prompt|input|content|query|messages?|request).{0,25}\b(?:is|are)\ too\ (?:long|large)
    | too\ many\ (?:input\ |prompt\ )?tokens | input\ token\ count | token\ limit
    | maximum\ (?:allowed\ )?(?:context|prompt|input|sequence|model\ length|number\ of\ (?:input\ )?tokens)
    | (?:prompt|input|request).{0,60}\bexceed.{0,60}(?:length|tokens?|limit|maximum)
    | input.{0,25}\blonger\ than | `?inputs`?\ (?:tokens|must\ have\ less\ than) | range\ of\ input\ length
    | request\ too\ large | reduce\ (?:the\ length|your\ message\ size) | (?:prompt|input)\ length
    """
)
BAD_KEY = re.compile(
    r"""(?xi)
    (?:invalid|incorrect|wrong|missing|expired|revoked|bad|no|provide[sd]?|without)\b.{0,30}?
        \b(?:api.?keys?|credentials?|(?:auth\w*|access|bearer)\ tokens?|x-api-key)\b
    | \b(?:api.?key|credentials?|(?:auth\w*|access|bearer)\ token)\b.{0,40}?
        \b(?:invalid|not\ valid|incorrect|expired|missing|required|not\ found|not\ provided|revoked|disabled|wrong)
    | \bunauthenticated\b | not\ authenticated | authentication\ (?:failed|error|required|fails)
    """
)
STRONG_WORDS: tuple[tuple[re.Pattern[str], Meaning], ...] = ((PROMPT_TOO_LONG, TOO_LONG),)
BY_WORDS: tuple[tuple[re.Pattern[str], Meaning], ...] = (
    # gateways have no code of their own for errors that they pass on
    *STRONG_WORDS,
    (BAD_KEY, UNAUTHORIZED),
    (
        re.compile(r"(?i)credit balance|insufficient (?:balance|credits?|funds)|(?:out of|no|more) credits?\b|billing"),
        BY_CODE["insufficient_quota"],
    ),
    (
        re.compile(r"(?i)(invalid|unknown|no such) model|model.{0,80}(not found|not exist)"),
        BY_CODE["model_not_found"],
    ),
)
LIMITED = re.compile(r"(?i)rate.?limit|too many requests")
BY_STATUS: dict[int, Meaning] = {
    401: UNAUTHORIZED,
    402: BY_CODE["insufficient_quota"],
    403: UNAUTHORIZED,
    404: (errors.UnknownModel, "{where} does not know the model “{model}”, or is the wrong address{status}.{said}"),
    408: (errors.CallTimedOut, "{where} gave up waiting for the request{status}.{said}"),
    409: (errors.ServerError, "{where} answered 409.{said}"),
}
BY_HUNDRED: dict[int, Meaning] = {
    3: (errors.RequestRejected, "{where} redirects to another address{status}, which is not followed."),
    4: (errors.RequestRejected, "{where} refused the request{status}.{said}"),
}
OTHERWISE: Meaning = (errors.ServerError, "{where} answered with an error{status}.{said}")
IN_STREAM = "The endpoint sent an error in place of an answer.{said}"
AWAY = {502, 503, 504, *range(520, 525), 529, 530}  # sent by a proxy or the server itself
BUSY = re.compile(  # the same with 500, or within a stream
    r"overloaded|(?:model|server).{0,40}\bloading|loading.{0,20}model|connection (?:refused|reset|error)|ECONNREFUSED"
    r"|temporarily unavailable|at (?:full )?capacity|no healthy upstream|too many (?:pending|concurrent) requests"
    r"|server (?:is )?busy|no available (?:server|worker|instance)",
    re.IGNORECASE,
)

NOT_TAKEN = re.compile(
    r"unsupported|not (?:yet )?support|unknown|invalid|unexpected|not allowed|not permitted|validation|unavailable|"
    r"fail(?:ed|s) to|could not|can(?:no|')t|unrecogni[sz]ed|no endpoints found|only supports?|error",
    re.IGNORECASE,
)
SPEAKS_OF = {  # what an endpoint says when it does not take this part of a request
    "stream_options": re.compile(r"stream_options", re.IGNORECASE),
    "response_format": re.compile(
        r"""(?xi)
        response.?(?:format|schema|mime) | json.?(?:schema|object|mode) | structured.?(?:outputs?|generation|decoding)
        | guided.?(?:json|decoding|grammar|generation|choice) | output.?(?:format|config|schema) | \bgrammars?\b
        | \bschemas?\b | additionalProperties | \b(?:min|max)(?:Items|Length)\b | \buniqueItems\b
        | \b(?:any|one|all)Of\b | \$(?:defs|ref)\b | \bxgrammar\b | \boutlines\b | \bllguidance\b
        | requested\ parameters | the\ word\ .{0,3}json
        | (?:\bformat\b|["'`]strict["'`]).{0,40}(?:not\ support|unsupported|unknown|invalid|permitted|unrecogni)
        | (?:unknown|invalid|unsupported|unrecogni[sz]ed|unexpected).{0,40}(?:\bformat\b|["'`]strict["'`])
        """
    ),
    "system": re.compile(r"\bsystem\b.{0,20}\b(role|message|prompt|instruction)|role.{0,20}\bsystem\b", re.IGNORECASE),
    "max_tokens": re.compile(r"max_(completion_|new_)?tokens", re.IGNORECASE),
    "stream": re.compile(r"\bstream", re.IGNORECASE),
}
ROOM = re.compile(r"max_(completion_|new_)?tokens|in the completion|completion tokens", re.IGNORECASE)


def _bound(asked: Mapping[str, Any]) -> str:
    """Return the name of the request's length limit; empty if it has none."""
    return next((name for name in ("max_tokens", "max_completion_tokens") if name in asked), "")


def _part(asked: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return a part of the request; empty if it is absent."""
    if name == "max_tokens":
        return {"type": _bound(asked)} if _bound(asked) else {}
    if name == "stream":
        return {} if asked.get("stream", True) else {"type": "an answer in one piece"}
    if name != "system":
        return asked.get(name) or {}
    has = any(message["role"] == "system" for message in asked.get("messages", ()))
    return {"type": "a system message"} if has else {}
