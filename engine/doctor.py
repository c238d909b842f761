"""Whether everything that an engine needs is there and works, each problem with the sentence that helps."""

import asyncio
import math
import time
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial

from django.conf import settings
from django.db import Error as DBError
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.utils.module_loading import import_string

from engine.plurals import counted

from . import database_errors, mcp, pubsub, tables
from .db import reader
from .llm import errors
from .llm.client import ModelClient
from .llm.providers import Provider, UnknownProvider, configured_providers, resolve_model
from .llm.response_format import FORMAT_FALLBACKS, ResponseFormat
from .llm.tokens import tokens_of
from .models import McpTool, Run
from .text.invisible_chars import single_line

LONGEST_QUESTION = 300.0  # seconds for one question to one provider: a server of one's own may be slow
MAX_SHOWN = 5

OK_FORMAT = ResponseFormat(
    name="health",
    schema={
        "type": "object",
        "properties": {"well": {"type": "string", "enum": ["yes"]}},
        "required": ["well"],
        "additionalProperties": False,
    },
    read=str.strip,
    preview=str,
    complaint=str,
)
# about as long as what an agent of a judgement is asked in its first round
MATERIAL = " ".join(
    f"{number}. The release goes out on Friday at {number % 24} o'clock, and the way back was tried before that."
    for number in range(1, 41)
)
ASKED = 'Answer with exactly this JSON object and nothing else: {"well": "yes"}'
PROBE_QUESTION = [{"role": "user", "content": f"Read this, and say nothing about it.\n\n{MATERIAL}\n\n{ASKED}"}]
AGENTS, ROUNDS = 3, 3
DECISION_TOKENS = 120  # that an agent writes
LONG = 8  # times as much as here is read and written where it is much
STEPS = len(FORMAT_FALLBACKS) + 5  # ways to ask at most


@dataclass(frozen=True)
class DoctorFinding:
    subject: str
    well: bool
    sentence: str

    def __str__(self) -> str:
        return single_line(f"{'ok     ' if self.well else 'PROBLEM'}  {self.subject}: {self.sentence}")


async def run_checks(models_to_try: Iterable[str] = ()) -> list[DoctorFinding]:
    """Everything, the providers at once. `models_to_try` beside the default one, as provider/model."""
    models = ModelClient(LONGEST_QUESTION)
    try:
        by_provider = _models_by_provider([*models_to_try, settings.DEFAULT_MODEL])
        questions: list[Awaitable[DoctorFinding | None]] = [_database(), _channel_layer()]
        questions += [import_string(path)() for path in settings.DOCTOR_CHECKS]
        questions += [_server(server) for server in mcp.servers().values()]
        questions += [_provider(models, each, by_provider.get(name)) for name, each in configured_providers().items()]
        findings = await asyncio.gather(*questions)
    finally:
        await models.close()
    return [*filter(None, findings), *([] if configured_providers() else [NO_PROVIDER])]


NO_PROVIDER = DoctorFinding(
    "models", True, "No provider is configured; agents named rehearsal/… answer by a stated rule, no model is asked."
)


def _models_by_provider(names: Iterable[str]) -> dict[str, str]:
    """The first model named of each provider, as provider/model."""
    found: dict[str, str] = {}
    for name in names:
        try:
            found.setdefault(resolve_model(name)[0].name, name)
        except UnknownProvider:
            continue
    return found


async def _database() -> DoctorFinding:
    try:
        # on a thread of its own: to look at a large file takes long, and pages are read meanwhile
        if problem := await asyncio.to_thread(_look_for_trouble):
            return problem
        return await reader.read(_look_into_database)
    except DBError as error:
        found = database_errors.problem_of(error) or await reader.read(partial(tables.lacking, error))
        sentence = f"{found} {found.advice}" if found else f"It does not answer: {error}. Check DATABASE_URL."
        return DoctorFinding("database", False, sentence)


def _look_for_trouble() -> DoctorFinding | None:
    try:
        if found := database_errors.probe_database():
            return DoctorFinding("database", False, f"{found} {found.advice}")
        if damage := database_errors.check_integrity(thoroughly=True):
            return DoctorFinding(
                "database", False, f"{database_errors.DAMAGED} {database_errors.DAMAGED.advice} SQLite says: {damage}"
            )
    finally:
        connection.close()
    return None


def _look_into_database() -> DoctorFinding:
    executor = MigrationExecutor(connection)
    if missing := executor.migration_plan(executor.loader.graph.leaf_nodes()):
        return DoctorFinding(
            "database", False, f"{counted(len(missing), 'migration')} to be made. Run manage.py migrate."
        )
    queued, performed = Run.objects.queued().count(), Run.objects.in_progress().count()
    waiting = Run.objects.filter(status=Run.Status.WAITING).count()
    if Run.objects.neglected().exists():
        return DoctorFinding("engine", False, f"{queued} runs wait and no engine takes them. Start serve or runengine.")
    waits = f", {waiting} waiting for somebody" if waiting else ""
    return DoctorFinding(
        "database", True, f"{connection.vendor}, {performed} runs in progress, {queued} queued{waits}."
    )


async def _channel_layer() -> DoctorFinding:
    if not settings.ENVIRONMENT.REDIS_URL:
        return DoctorFinding("live updates", True, "In one process; other processes' pages follow within two seconds.")
    if problem := await pubsub.connection_problem():
        return DoctorFinding("live updates", False, f"Redis does not answer ({problem}). Check REDIS_URL.")
    return DoctorFinding("live updates", True, "Redis carries them.")


async def _server(server: mcp.McpServer) -> DoctorFinding:
    subject = f"MCP server {server.name}"
    try:
        listing = await mcp.fetch_tool_list(server)
    except mcp.ServerUnavailable as away:
        return DoctorFinding(subject, False, f"{away} Check its entry of MAGI_MCP_SERVERS, and that it runs by itself.")
    on, changed = await reader.read(partial(McpTool.objects.compared, server.name, listing))
    number = len(listing.tools)
    said = f"Reachable, {counted(number, 'tool')}, {on} of them on."
    if changed:
        said = f"{said} Described otherwise than they were classed, and off: {', '.join(changed)}."
    elif on < number:
        said = f"{said} Say what the others do in the admin, under MCP tools."
    left_out = "".join(f" Left out: {one}." for one in listing.left_out[:MAX_SHOWN])
    return DoctorFinding(subject, not changed, f"{said}{left_out}")


async def _provider(models: ModelClient, provider: Provider, model: str | None) -> DoctorFinding:
    subject = f"{provider.name} ({provider.host})"
    there = "Reachable, no key needed" if provider.api_key == "none" else "Reachable, key accepted"
    try:
        model = model or next((f"{provider.name}/{name}" for name in provider.models), None)
        listed = await _listed(models, provider, needed=model is None)
        if model is None:
            return DoctorFinding(subject, True, f"{there}, {listed}. No model was tried: --model names one.")
        return DoctorFinding(subject, True, f"{there}, {listed}; {await _answer(models, model)}")
    except errors.CallFailed as failure:
        return DoctorFinding(subject, False, f"{failure} {_advice(failure)}".strip())


def _advice(failure: errors.CallFailed) -> str:
    if failure.advice:
        return failure.advice
    if failure.server_away:
        return f"Runs wait for it, for {settings.SERVER_PATIENCE:g} s at most."
    return errors.ADDRESS if isinstance(failure, errors.RequestRejected) else ""


async def _listed(models: ModelClient, provider: Provider, *, needed: bool) -> str:
    """What the provider says of its models; where a question follows, it may as well say nothing."""
    try:
        names = await models.names(provider)
    except (errors.UnknownModel, errors.UnusableAnswer, errors.RequestRejected, errors.Unauthorized) as failure:
        if needed and isinstance(failure, errors.Unauthorized):
            raise
        return "its models are not listed"
    shown = ", ".join(names[:MAX_SHOWN]) + (" …" if len(names) > MAX_SHOWN else "")
    return f"{counted(len(names), 'model')} ({shown})" if names else "no models listed"


async def _answer(models: ModelClient, model: str) -> str:
    """Asks as an engine would, stepping down where a format is refused, and says how long a judgement takes."""
    way = replace(models.request_mode(model), streams=True)  # when the first piece comes shows how fast it reads
    for _ in range(STEPS):
        timing = _Timing()
        try:
            reply = await models.ask(model, PROBE_QUESTION, OK_FORMAT, timing.grow, way)
        except errors.ResponseFormatRejected as failure:
            refused, way = failure, way.without(failure.refused, OK_FORMAT)
            continue
        timing.end()
        kept = "kept to" if '"yes"' in reply.text else "did not keep to"
        counted = "" if reply.input_tokens is not None else ", tokens are not counted"
        said = f"{model} answers in {timing.whole:.1f} s and {kept} the form ({way.answer_format}){counted}"
        tokens = reply.output_tokens or tokens_of(reply.text)
        return f"{said}. {timing.in_words(tokens, resolve_model(model)[0].concurrency)}"
    raise refused


class _Timing:
    """Of one answer: how long it took to begin, and to end."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._first = 0.0
        self.whole = 0.0

    def grow(self, text: Callable[[], str]) -> None:
        self._first = self._first or time.monotonic() - self._began

    def end(self) -> None:
        self.whole = time.monotonic() - self._began
        self._first = self._first or self.whole

    def in_words(self, written: int, at_once: int) -> str:
        """What a judgement comes to at this speed, and whether an answer has time enough."""
        a_token = (self.whole - self._first) / max(written, 1)
        decision = self._first + a_token * DECISION_TOKENS
        minutes = ROUNDS * math.ceil(AGENTS / min(AGENTS, at_once)) * decision / 60
        takes = "less than a minute" if minutes < 1 else f"about {math.ceil(minutes)} minutes"
        short = [
            f"{name} ({limit:g} s) is short for that: raise it."
            for name, limit, need in (
                ("MAGI_CALL_FIRST", settings.CALL_FIRST, self._first * LONG),
                ("MAGI_CALL_TIMEOUT", settings.CALL_TIMEOUT, self._first * LONG + a_token * DECISION_TOKENS * LONG),
                ("MAGI_RUN_TIMEOUT", settings.RUN_TIMEOUT, minutes * 60 * 2),
            )
            if need > limit
        ]
        return " ".join([f"At this speed a judgement takes {takes}.", *short])
