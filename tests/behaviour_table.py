"""Everything that endpoints do to us, each met by one agent of one judgement, all at once in one engine.

`python -m tests.behaviour_table` writes docs/behaviours.md from what happened; the suite compares it with that file.
"""

import argparse
import asyncio
import os
import re
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.endpoint import ScriptedEndpoint

DOCUMENT = Path(__file__).parent.parent / "docs" / "behaviours.md"
DEADLINE = 20.0  # more than the three torrents need, which share a part of the process
PATIENCE = 3.0  # seconds that a provider which is away is waited for
WAITED = -1  # requests, where the provider was waited for: as many as there is time for
KEY = "sk-canary-behaviours-1"


@dataclass(frozen=True)
class BehaviourCase:
    """A rule of the endpoint, or a provider that is none, and how it has to end: an error code, or a decision.

    Each has a provider of its own: one that is away holds up all who ask it.
    """

    name: str
    ends: str
    requests: int
    rule: dict[str, Any] = field(default_factory=dict)
    provider: str = ""

    @property
    def named(self) -> str:
        return self.provider or "case-" + re.sub("[^a-z0-9]+", "-", self.name.lower())[:40]


def says(name: str, ends: str, requests: int, **rule: Any) -> BehaviourCase:
    return BehaviourCase(name, ends, requests, {"behaviour": name.replace(" ", "_")} | rule)


def torrent(kind: str, ends: str, requests: int) -> BehaviourCase:
    rule = {"behaviour": "torrent", "torrent": [kind.replace(" ", "_")]}
    return BehaviourCase(f"{kind} without end", ends, requests, rule)


def status(number: int, ends: str, requests: int, name: str = "", **rule: Any) -> BehaviourCase:
    return BehaviourCase(name or str(number), ends, requests, {"behaviour": "status", "status": number} | rule)


def limited(header: str, ends: str, requests: int) -> BehaviourCase:
    rule = {"error": "rate_limit_exceeded", "headers": {"Retry-After": header}}
    return status(429, ends, requests, f"429, Retry-After: {header}", **rule)


def refuses_format(said: str) -> BehaviourCase:
    """With these words, whatever the schema; without one it answers."""
    return BehaviourCase(
        f"picky: {said}",
        DECIDES,
        2 + GOES_ON,
        {"behaviour": "picky", "accepts": [""], "reason": REASON, "content": said},
    )


REASON = "The proposal meets the criteria. Its risks are known and small."
DECIDES = "decides"
GOES_ON = 3  # one request in each round
ENVELOPES = ("byte order mark", "pings", "comments between", "ids and names", "both line ends", "bare returns")
ENVELOPES += ("single line ends", "many data lines", "empty errors", "choices null first", "no done")
CASES = (
    # the model's words
    says("good", DECIDES, GOES_ON),
    says("good unstreamed", DECIDES, GOES_ON),
    says("wrong type", DECIDES, GOES_ON),
    says("binary type", DECIDES, GOES_ON),
    says("gzipped", DECIDES, GOES_ON),
    says("other model", DECIDES, GOES_ON),
    says("no index", DECIDES, GOES_ON),
    says("answers twice", DECIDES, GOES_ON),
    says("odd usage", DECIDES, GOES_ON, usage={"prompt_tokens": "many", "completion_tokens": -5}),
    says("drops the front", "unusable_answer", 4, window=100),
    says("reason with nul", DECIDES, GOES_ON),
    says("thinking first", DECIDES, GOES_ON),
    says("thinking closed alone", DECIDES, GOES_ON),
    says("thinking in brackets", DECIDES, GOES_ON),
    says("thinking in a field", DECIDES, GOES_ON),
    says("words before", DECIDES, GOES_ON),
    says("thinking without end", "unusable_answer", 4),
    says("object in thinking alone", "unusable_answer", 4),
    says("object before thinking ends", "unusable_answer", 4),
    says("brackets beside", "unusable_answer", 4),
    says("prose", "unusable_answer", 4),
    says("fenced", DECIDES, GOES_ON),
    says("two objects", "unusable_answer", 4),
    says("trailing text", DECIDES, GOES_ON),
    says("duplicate keys", "unusable_answer", 4),
    says("wrong enum", "unusable_answer", 4),
    says("upper case", "unusable_answer", 4),
    says("boolean", "unusable_answer", 4),
    says("cyrillic", "unusable_answer", 4),
    says("list", "unusable_answer", 4),
    says("extra field", "unusable_answer", 4),
    says("empty reason", "unusable_answer", 4),
    says("one word reason", "unusable_answer", 4),
    says("missing reason", "unusable_answer", 4),
    says("null content", "unusable_answer", 4),
    says("spaces", "unusable_answer", 4),
    says("colon", "unusable_answer", 4),
    says("huge", "unusable_answer", 4, megabytes=60),
    says("two choices", "unusable_answer", 4),
    says("two choices unstreamed", "unusable_answer", 4),
    says("mixed choices", "unusable_answer", 4),
    says("odd index", "unusable_answer", 4),
    BehaviourCase("odd index, a text", "unusable_answer", 4, {"behaviour": "odd_index", "index": "0"}),
    says("finish length", "unusable_answer", 4),
    says("finish tool", "unusable_answer", 4),
    says("refusal", "unusable_answer", 4),
    says("finish filter", "content_filter", 1),
    says("finish end turn", DECIDES, GOES_ON),
    says("finish eos", DECIDES, GOES_ON),
    says("finish in capitals", DECIDES, GOES_ON),
    says("finish max tokens", "unusable_answer", 4),
    says("finish error", "server_error", 4),
    says("no finish", DECIDES, GOES_ON),
    says("no finish cut", "unreachable", 4),
    # the envelope
    *(says(name, DECIDES, GOES_ON) for name in ENVELOPES),
    says("error event", "server_error", 4),
    says("bad sample always", "unusable_answer", 4),
    # bodies that are wrong in themselves
    says("not json", "unusable_answer", 4),
    says("truncated json", "unusable_answer", 4),
    says("deep", "unusable_answer", 4),
    says("not utf8", "unusable_answer", 4),
    says("no choices", "unusable_answer", 4),
    says("choices null", "unusable_answer", 4),
    says("message missing", "unusable_answer", 4),
    says("content list", "unusable_answer", 4),
    says("null body", "unusable_answer", 4),
    says("list body", "unusable_answer", 4),
    says("number body", "unusable_answer", 4),
    says("string body", "unusable_answer", 4),
    says("html", "unusable_answer", 4),
    says("empty", "unusable_answer", 4),
    says("gzip bomb", "unusable_answer", 4, megabytes=500),
    says("gzip line breaks", "unusable_answer", 4, megabytes=1024),
    torrent("empty lines", "unusable_answer", 4),
    torrent("comments", "unusable_answer", 4),
    torrent("empty data", "unusable_answer", 4),
    says("error in 200", "server_error", 4),
    says("error in stream", "server_error", 4),
    # what some servers do not take
    says("picky", DECIDES, 1 + GOES_ON, accepts=["json_object"]),
    BehaviourCase("picky, takes no format", DECIDES, 2 + GOES_ON, {"behaviour": "picky", "accepts": [""]}),
    BehaviourCase("picky, with 500", DECIDES, 2 + GOES_ON, {"behaviour": "picky", "accepts": [""], "status": 500}),
    says("no stream options", DECIDES, 1 + GOES_ON),
    *(
        refuses_format(said)
        for said in (
            "guided_json is not supported with this backend",
            "Grammar is not supported",
            "structured outputs are unavailable for this model",
            "'minItems' is not permitted in the schema",
        )
    ),
    # status codes
    status(400, "refused", 1),
    status(400, "refused", 1, "400 context_length_exceeded", error="context_length_exceeded"),
    status(400, "content_filter", 1, "400 content_filter", error="content_filter"),
    status(400, "unauthorized", 1, "400, a refused key in a list", body=[{"error": {"message": "API key not valid."}}]),
    status(400, "refused", 1, "400, a plain text", body="The tenant is suspended."),
    status(400, "refused", 1, "400, a detail", body={"detail": "The adapter is not deployed."}),
    status(400, "refused", 1, "400, a prompt that is too long", body={"error": "prompt is too long: 9 > 8"}),
    status(400, "quota", 1, "400, no credit", body={"error": {"message": "Your credit balance is too low."}}),
    status(401, "unauthorized", 1),
    status(402, "quota", 1),
    status(403, "unauthorized", 1),
    status(404, "unknown_model", 1),
    status(408, "timeout", 3),
    status(409, "server_error", 4),
    status(413, "refused", 1),
    status(422, "refused", 1),
    status(429, "rate_limited", WAITED, "429", error="rate_limit_exceeded"),
    limited("1", "rate_limited", WAITED),
    limited("soon", "rate_limited", WAITED),
    limited("-5", "rate_limited", WAITED),
    limited("86400", "rate_limited", 1),
    limited("Wed, 21 Oct 2099 07:28:00 GMT", "rate_limited", 1),
    status(429, "quota", 1, "429 insufficient_quota", error="insufficient_quota"),
    status(500, "server_error", 4),
    status(502, "server_error", WAITED, "502, a web page"),
    status(503, "server_error", WAITED),
    status(504, "server_error", WAITED, "504, empty", body=""),
    status(529, "server_error", WAITED),
    BehaviourCase("301 to another host", "refused", 1, {"behaviour": "redirect", "status": 301}),
    BehaviourCase("302 to another host", "refused", 1, {"behaviour": "redirect", "status": 302}),
    BehaviourCase("307 to another host", "refused", 1, {"behaviour": "redirect", "status": 307}),
    # never an end
    says("hang", "timeout", 3),
    says("drip headers", "timeout", 3),
    says("drip body", "timeout", 3),
    says("endless", "timeout", 3),
    says("informational", "timeout", 3),
    # broken off
    says("close at once", "unreachable", WAITED),
    says("reset", "unreachable", WAITED),
    says("garbage", "unreachable", WAITED),
    says("bad status line", "unreachable", WAITED),
    says("half headers", "unreachable", WAITED),
    says("half chunk", "unreachable", 4),
    says("short body", "unreachable", 4),
    says("cut stream", "unreachable", 4),
    says("cut connection", "unreachable", 4),
    # no endpoint at all
    BehaviourCase("connection refused", "unreachable", WAITED, provider="refused"),
    BehaviourCase("no such host", "unreachable", WAITED, provider="nowhere"),
    BehaviourCase("TLS to a plain port", "unreachable", WAITED, provider="tls"),
    BehaviourCase("no such provider", "unknown_model", 1, provider="nobody"),
)


@dataclass(frozen=True)
class CaseOutcome:
    """What became of one case. `ends` and `requests` as in the case; `longest` is the longest attempt in seconds."""

    case: BehaviourCase
    ends: str
    requests: int
    attempts: int
    longest: float
    siblings: int


def providers(endpoint: ScriptedEndpoint) -> dict[str, dict[str, str]]:
    addresses = {
        **{case.named: endpoint.base_url for case in CASES},
        "well": endpoint.base_url,
        "refused": "http://127.0.0.1:9/v1",
        "nowhere": "http://no-such-host.invalid/v1",
        "tls": endpoint.base_url.replace("http:", "https:"),
    }
    del addresses["nobody"]
    return {name: {"base_url": address, "api_key": KEY} for name, address in addresses.items()}


def marker(case: BehaviourCase) -> str:
    return f"Meets <{case.name}>."


async def play(endpoint: ScriptedEndpoint, cases: tuple[BehaviourCase, ...] = CASES) -> list[CaseOutcome]:
    """All cases at once; then one judgement more, which shows that the engine is as well as before."""
    from asgiref.sync import sync_to_async

    from engine.llm.client import ModelClient
    from engine.models import Run
    from engine.queue.worker import Worker

    # a request for a case is told by its criteria; what a sibling is asked holds no marker
    endpoint.script(by_text=[[marker(case), case.rule] for case in cases if case.rule])
    runs = await sync_to_async(lambda: {case.name: _submit(case) for case in cases})()
    engine = Worker(models=ModelClient(DEADLINE))
    performing = asyncio.create_task(engine.run())
    try:
        async with asyncio.timeout(150):
            while await Run.objects.filter(status__in=["queued", "running"]).aexists():
                await asyncio.sleep(0.1)
            last = await sync_to_async(_submit)(BehaviourCase("afterwards", DECIDES, GOES_ON))
            while not (await Run.objects.aget(pk=last)).is_ended:
                await asyncio.sleep(0.05)
    finally:
        await engine.stop(grace=0)
        await performing
    seen = endpoint.requests()
    return await sync_to_async(lambda: [_outcome(case, runs[case.name], seen) for case in cases])()


def _submit(case: BehaviourCase) -> Any:
    from judgements.models import Judgement

    agents = [
        {"name": "Anna", "model": "well/model", "criteria": "Approve."},
        {"name": "Bert", "model": "well/model", "criteria": "Approve."},
        # a name for each: what a model refuses is remembered by its name
        {"name": "Cora", "model": f"{case.named}/for {case.name}"[:200], "criteria": marker(case)},
    ]
    return Judgement.objects.submit(owner=None, content="Go on.", agents=agents).pk


def _outcome(case: BehaviourCase, pk: Any, requests: list[dict[str, Any]]) -> CaseOutcome:
    from engine.llm.errors import AWAY
    from engine.models import ModelCall, Run
    from judgements.models import RoundDecision

    run = Run.objects.get(pk=pk)
    calls = list(ModelCall.objects.filter(run=pk, step__startswith="C"))
    asked = [r for r in requests if r["model"] == f"for {case.name}" and r["path"] != "/redirected"]
    siblings = RoundDecision.objects.filter(agent__judgement=pk, round=1).exclude(agent__seat="C").count()
    code = run.error["code"] if run.error else DECIDES
    waited = any(call.error_code == AWAY for call in calls)
    return CaseOutcome(
        case=case,
        ends=code if run.status in ("failed", "finished") else run.status,
        requests=WAITED if waited else len(calls) if case.provider else len(asked),
        attempts=WAITED if waited else len(calls),
        longest=max((call.seconds or 0.0 for call in calls), default=0.0),
        siblings=siblings,
    )


def document(outcomes: list[CaseOutcome]) -> str:
    rows = "\n".join(
        f"| {o.case.name} | `{o.ends}` | {'waited for' if o.requests == WAITED else o.requests} |" for o in outcomes
    )
    return f"""# What endpoints do, and how it ends

Each behaviour was met by one agent of one judgement, at a real endpoint in another process; all
{len(outcomes)} judgements ran at
once in one engine. The two other agents' decisions of the round were kept each time, every attempt ended within its
deadline and a second more, and the engine went on. `decides` means that the judgement went on to its verdict (one
request in each of three rounds, more where a format was refused first); anything else is the code of its error.
A provider that is away or asks to wait is waited for, here for {PATIENCE:g} seconds, and asked by one request now and
then; these count as no attempts.

`python -m tests.behaviour_table` writes this page; the suite plays it again and compares.

| behaviour | ends in | requests |
|---|---|---:|
{rows}
"""


async def write() -> None:
    from asgiref.sync import sync_to_async
    from django.conf import settings
    from django.core.management import call_command

    await sync_to_async(call_command)("migrate", verbosity=0)
    with ScriptedEndpoint() as endpoint:
        settings.PROVIDERS, settings.SERVER_PATIENCE = providers(endpoint), PATIENCE
        outcomes = await play(endpoint)
    for outcome in outcomes:
        met = (outcome.ends, outcome.requests) == (outcome.case.ends, outcome.case.requests)
        print(f"{'' if met else 'NOT AS EXPECTED ':16}{outcome}")
    DOCUMENT.write_text(document(outcomes))


if __name__ == "__main__":
    argparse.ArgumentParser(description="Write docs/behaviours.md from what happens.").parse_args()
    os.environ["DJANGO_SETTINGS_MODULE"] = "magi_site.settings"
    with tempfile.TemporaryDirectory() as folder:
        os.environ["MAGI_DATA_DIR"] = folder
        import django

        django.setup()
        asyncio.run(write())
