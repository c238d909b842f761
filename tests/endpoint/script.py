"""What is answered next: rules, the script that they stand in, and the weather over it."""

import random
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from tests.endpoint.behaviours import BEHAVIOURS, TORRENTS
from tests.endpoint.wire import ERRORS, opposite

MODELS = ("gpt-5-mini", "gpt-5", "o4-mini")


@dataclass
class ScriptRule:
    """One answer. Unknown names are refused, so that a slip in a test does not become a good answer."""

    behaviour: str = "good"
    decision: str = "approve"
    # {number} in it becomes the request's, so that an answer can be found again in a row
    reason: str = "The proposal meets the criteria. Its risks are known and small."
    content: str = ""  # raw: all of it
    delay: float | None = None  # seconds before anything is answered; None is the script's
    chunks: int = 12  # a streamed content comes in so many pieces
    chunk_delay: float = 0.0
    cut_after: int = 3  # cut_stream, cut_connection, stall: so many pieces come first
    megabytes: int = 60  # huge, gzip_bomb, gzip_line_breaks
    error: str = ""  # a name out of ERRORS; for status it brings the number too
    status: int | None = None  # status, redirect
    body: Any = None  # status: a string as it is, all else as JSON
    headers: dict[str, str] = field(default_factory=dict)  # status, redirect
    accepts: tuple[str, ...] = ()  # picky: the response formats that are not refused; "" is none at all
    window: int = 0  # drops_the_front: so many tokens are read, as the count says
    usage: Any = None  # odd_usage: in place of the count
    later: float = 0.02  # answers_twice: seconds until the second answer
    index: Any = 1  # odd_index
    torrent: tuple[str, ...] = ()  # torrent: of which kinds, out of TORRENTS; all of them where none is named
    times: int = -1  # by_text: used up after so many; counting down from -1 never gets to 0

    def __post_init__(self) -> None:
        if self.behaviour not in BEHAVIOURS or self.error not in ("", *ERRORS) or {*self.torrent} - {*TORRENTS}:
            raise ValueError(f"no such behaviour, error or torrent: {self.behaviour} {self.error} {self.torrent}")


TROUBLE = (
    {"behaviour": "status", "error": "server_error"},
    {"behaviour": "cut_stream"},
    {"behaviour": "prose"},
    {"behaviour": "duplicate_keys"},
)


@dataclass
class Weather:
    """Chance, the same again for the same seed and number of a request: late answers, some objections, some trouble."""

    seed: int = 0
    trouble: float = 0.0  # the share of requests that is answered out of TROUBLE
    objections: float = 0.0  # the share that is answered with the opposite decision
    shortest_delay: float = 0.0
    longest_delay: float = 0.0
    slow: float = 0.0  # the share that is answered only after `slowness` seconds
    slowness: float = 0.0

    def over(self, rule: ScriptRule, number: int) -> ScriptRule:
        dice = random.Random(f"{self.seed} {number}")
        delay, trouble = dice.uniform(self.shortest_delay, self.longest_delay), dice.choice(TROUBLE)
        decision = opposite(rule.decision) if dice.random() < self.objections else rule.decision
        unlucky = trouble if dice.random() < self.trouble else {}
        delay = self.slowness if dice.random() < self.slow else delay
        return replace(rule, delay=delay, decision=decision, **unlucky)


@dataclass
class Tier:
    """So many calls in so many seconds; each one more is told to `wait`."""

    calls: int
    seconds: float
    wait: float
    taken: list[float] = field(default_factory=list)

    def refusal(self, at: float) -> ScriptRule | None:
        self.taken = [one for one in self.taken if one > at - self.seconds]
        if len(self.taken) >= self.calls:
            return ScriptRule("status", error="rate_limit_exceeded", headers={"Retry-After": f"{self.wait:g}"})
        self.taken.append(at)
        return None


class EndpointScript:
    """What is answered next: the first of `by_text` found in the messages, else the queue, else the default.

    A rule stands there beside a text, or beside several that must all be found.

    The weather is over the default alone. With a `ledger`, the path of a file, a request becomes one line there in
    place of a record here, so that the memory stays flat however many come.
    """

    def __init__(
        self,
        default: dict | None = None,
        queue: Iterable[dict] = (),
        by_text: Iterable[tuple[str | list[str], dict]] = (),
        delay: float = 0.0,
        weather: dict | None = None,
        ledger: str = "",
        models: Iterable[str] = MODELS,
        tier: dict | None = None,
    ) -> None:
        self.default = ScriptRule(**default or {})
        self.queue = [ScriptRule(**rule) for rule in queue]
        self.by_text = [([parts] if isinstance(parts, str) else parts, ScriptRule(**rule)) for parts, rule in by_text]
        self.delay = delay
        self.models = list(models)
        self.tier = Tier(**tier) if tier else None
        self.weather = Weather(**weather) if weather is not None else None
        self.ledger = open(ledger, "a", buffering=1) if ledger else None  # noqa: SIM115

    def close(self) -> None:
        if self.ledger:
            self.ledger.close()

    def choose(self, text: str, number: int) -> ScriptRule:
        for parts, rule in self.by_text:
            if rule.times != 0 and all(part in text for part in parts):
                rule.times -= 1
                return rule
        if self.queue:
            return self.queue.pop(0)
        return self.weather.over(self.default, number) if self.weather else self.default
