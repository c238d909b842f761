"""Everything that can go wrong with a model call, as one tree. `code` is the word of the API's error object.

CallFailed
├── tried again
│   ├── TimedOut         nothing, or not everything, within the deadline
│   ├── Unreachable      no connection, or one that broke before the answer was whole
│   ├── RateLimited      the endpoint asks to wait
│   ├── ServerError      5xx, or an error in place of an answer
│   ├── UnusableAnswer   an answer that cannot be read as one
│   └── FormatRefused    the endpoint takes no such response_format; asked in another way next time
└── final at once (permanent)
    ├── Unauthorized     the key was refused
    ├── UnknownModel     the endpoint or this site does not know the model
    ├── QuotaUsedUp      the account has no money left
    ├── ContentFiltered  the endpoint's filter stopped it
    └── Refused          the endpoint will not take such a request
"""

from ..text.invisible_chars import single_line

MAX_RETRY_AFTER = 60  # seconds to a next attempt at most, whatever a clock of before says
MAX_QUOTED = 300
TRUNCATED_CODE = "cut_off"  # the code of an attempt that brought a part of an answer, of which the rest was asked for
ADDRESS = "Check that the address is that of a chat completions endpoint."
LESS = "Shorten what the model has to read, or give it a larger context."
AWAY = "away"  # the code of a request that found the provider away, and after which it was waited for


def quote_provider(words: str) -> str:
    """Somebody else's, with a beginning and an end, so that nobody takes them for ours."""
    return f"“{words if len(words) <= MAX_QUOTED else f'{words[:MAX_QUOTED]}…'}”"


class RunFailed(Exception):
    """A run cannot go on. `detail` is what its procedure wants to keep beside the code and the sentence."""

    def __init__(self, code: str, sentence: str, **detail: object) -> None:
        super().__init__(sentence)
        self.code = code
        self.detail = detail


class CallFailed(RunFailed):
    """One attempt failed. The text is a sentence for people, on one line and with marks for what nobody would see in
    what it repeats; `raw` is what came back, as it came, as far as anything did."""

    code = "internal"
    permanent = False
    server_away = False  # not there, still loading, or with too much to do: it is waited for
    given_up = False  # it was waited for long enough
    retry_after: float | None = None  # seconds that the endpoint asks to wait
    advice = ""  # what helps, as a sentence
    tries = ""  # the attempts by what they failed of, in words, where that differs
    attempts = 0  # how many were made when this one was given up
    said = ""  # what the model had said until then
    input_tokens: int | None = None  # what the endpoint counted before it failed
    cached_tokens: int = 0  # beside them
    output_tokens: int | None = None

    def __init__(self, sentence: str, *, raw: str = "") -> None:
        Exception.__init__(self, single_line(sentence))
        self.problem = str(self)  # of the attempt alone
        self.detail = {}
        self.raw = raw

    def tell_of(self, who: str, what: str) -> None:
        """From now on its text is for people: who, for what, how often, what came last, and what to do."""
        self.args = (sentence_of(who, what, self.attempts, self.problem, self.tries, self.advice),)


def sentence_of(who: str, what: str, attempts: int, problem: str, tries: str = "", advice: str = "") -> str:
    number = "1 attempt" if attempts == 1 else f"{attempts} attempts"
    said = f"{who} gave no {what} after {number}{f' ({tries})' if tries else ''}"
    # of a redacted one what the problem was is lost
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
    """The endpoint's limit of length ended the answer. Where the question says how it goes on, that is no failed
    attempt: the rest is asked for."""

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
    """A failure as it was written down."""
    known: list[type[CallFailed]] = [ResponseFormatRejected, *CallFailed.__subclasses__()]
    return next((kind for kind in known if kind.code == code), CallFailed)(sentence)


class ResponseFormatRejected(RequestRejected):
    """`refused` is the part of the request that the endpoint does not take. It does not count as a failed attempt:
    the model has not been asked yet, and there are only five such steps."""

    code = "format_refused"
    permanent = False

    def __init__(self, sentence: str, *, raw: str = "", refused: str = "") -> None:
        super().__init__(sentence, raw=raw)
        self.refused = refused


NO_ATTEMPTS = (AWAY, TRUNCATED_CODE, ResponseFormatRejected.code)  # the codes of what counts as none
