"""The tree of errors of a model call. `code` is the code in the API's error object.

CallFailed
├── retried
│   ├── CallTimedOut            no answer, or no complete answer, before the deadline
│   ├── EndpointUnreachable     no connection, or one that broke before the answer was complete
│   ├── RateLimited             the endpoint asks to wait
│   ├── ServerError             5xx, or an error in place of an answer
│   ├── UnusableAnswer          an answer that cannot be parsed
│   │   └── AnswerTruncated     the endpoint's length limit ended the answer
│   └── ResponseFormatRejected  the endpoint does not support this response_format; the next request uses another
└── permanent, never retried
    ├── Unauthorized            the key was refused
    ├── UnknownModel            neither the endpoint nor this installation knows the model
    ├── QuotaExceeded           the account has no credit left
    ├── ContentFiltered         the endpoint's content filter stopped the call
    └── RequestRejected         the endpoint does not accept such a request
"""

from ..text.invisible_chars import single_line

MAX_RETRY_AFTER = 60  # seconds to the next attempt at most, even if an earlier clock was wrong
MAX_QUOTED = 300
TRUNCATED_CODE = "cut_off"  # code of an attempt with a part of an answer, whose rest was requested
ADDRESS = "Check that the address is that of a chat completions endpoint."
LESS = "Shorten what the model has to read, or give it a larger context."
AWAY = "away"  # code of a request that found the provider away and was followed by a wait


def quote_provider(words: str) -> str:
    """Quote a provider's words, at most MAX_QUOTED characters, so that readers do not take them for ours."""
    return f"“{words if len(words) <= MAX_QUOTED else f'{words[:MAX_QUOTED]}…'}”"


class RunFailed(Exception):
    """A run cannot continue. `detail` is what its procedure stores next to the code and the message."""

    def __init__(self, code: str, sentence: str, **detail: object) -> None:
        super().__init__(sentence)
        self.code = code
        self.detail = detail


class CallFailed(RunFailed):
    """One failed attempt.

    The message is for people: one line, with invisible characters made visible. `raw` is the response as received,
    or empty if none was.
    """

    code = "internal"
    permanent = False
    server_away = False  # unreachable, loading or overloaded: wait for it
    given_up = False  # the wait has ended without an answer
    retry_after: float | None = None  # seconds that the endpoint asks to wait
    advice = ""  # what helps, as a sentence
    tries = ""  # number of attempts by kind of failure, in words, if the kinds differ
    attempts = 0  # number of attempts when the call was given up
    said = ""  # the model's text until then
    input_tokens: int | None = None  # counted by the endpoint before the failure
    cached_tokens: int = 0  # not included in input_tokens
    output_tokens: int | None = None

    def __init__(self, sentence: str, *, raw: str = "") -> None:
        Exception.__init__(self, single_line(sentence))
        self.problem = str(self)  # of this attempt only
        self.detail = {}
        self.raw = raw

    def tell_of(self, who: str, what: str) -> None:
        """Extend the message for people: who failed at what, the number of attempts, the last problem and the
        advice.
        """
        self.args = (sentence_of(who, what, self.attempts, self.problem, self.tries, self.advice),)


def sentence_of(who: str, what: str, attempts: int, problem: str, tries: str = "", advice: str = "") -> str:
    number = "1 attempt" if attempts == 1 else f"{attempts} attempts"
    said = f"{who} gave no {what} after {number}{f' ({tries})' if tries else ''}"
    # the problem of a redacted attempt is erased
    return f"{said}: {problem} {advice}".strip() if problem else f"{said}."


class CallTimedOut(CallFailed):
    code = "timeout"
    advice = "Where the model is slow, raise MAGI_CALL_FIRST, MAGI_CALL_SILENCE or MAGI_CALL_TIMEOUT, and try again."


class EndpointUnreachable(CallFailed):
    code = "unreachable"
    advice = "Check the address, and that the server runs and can be reached from here."


class RateLimited(CallFailed):
    code = "rate_limited"
    advice = "Wait, or ask the provider for a higher limit."

    def __init__(self, sentence: str, *, raw: str = "", retry_after: float | None = None) -> None:
        super().__init__(sentence, raw=raw)
        self.retry_after, self.server_away = retry_after, True


class ServerError(CallFailed):
    code = "server_error"


class UnusableAnswer(CallFailed):
    code = "unusable_answer"
    advice = "Try again, or name a model that keeps to the form of the answer."


class AnswerTruncated(UnusableAnswer):
    """The endpoint's length limit ended the answer.

    If the prompt can be continued, this is no failed attempt: the rest is requested.
    """

    continued = False


class Unauthorized(CallFailed):
    code = "unauthorized"
    advice = "Check the key of this provider in the environment."
    permanent = True


class UnknownModel(CallFailed):
    code = "unknown_model"
    advice = "Name a model that the endpoint has, and check that its address ends as its documents say."
    permanent = True


class QuotaExceeded(CallFailed):
    code = "quota"
    advice = "Add credit at the provider."
    permanent = True


class ContentFiltered(CallFailed):
    code = "content_filter"
    permanent = True


class RequestRejected(CallFailed):
    code = "refused"
    permanent = True


def failure_from_code(code: str, sentence: str) -> CallFailed:
    """Return the failure with this code; a plain CallFailed for an unknown code."""
    known: list[type[CallFailed]] = [ResponseFormatRejected, *CallFailed.__subclasses__()]
    return next((kind for kind in known if kind.code == code), CallFailed)(sentence)


class ResponseFormatRejected(RequestRejected):
    """The endpoint does not accept a part of the request, named in `refused`.

    It does not count as a failed attempt: the model has not been called yet, and there are only five such steps.
    """

    code = "format_refused"
    permanent = False

    def __init__(self, sentence: str, *, raw: str = "", refused: str = "") -> None:
        super().__init__(sentence, raw=raw)
        self.refused = refused


NO_ATTEMPTS = (AWAY, TRUNCATED_CODE, ResponseFormatRejected.code)  # codes that do not count as attempts
