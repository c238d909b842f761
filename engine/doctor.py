"""Whether everything that an engine needs is there and works, each problem with the sentence that helps."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from functools import partial

from django.conf import settings
from django.db import Error as DBError
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.utils.module_loading import import_string

from engine.plurals import counted

from . import live, mcp, reader, tables, trouble
from .hidden import in_one_line
from .llm import failures
from .llm.client import ModelClient
from .llm.forms import FORMATS, AnswerForm
from .llm.providers import Provider, UnknownProvider, configured, resolve
from .models import McpTool, Run

LONGEST_QUESTION = 20.0  # seconds for one question to one provider
SHOWN = 5

HINTS: dict[type[failures.CallFailed], str] = {
    failures.Unauthorized: "Check the key of this provider in the environment.",
    failures.UnknownModel: "Name a model that the endpoint has, and check that its address ends as its documents say.",
    failures.Unreachable: "Check the address, and that the server runs and can be reached from here.",
    failures.TimedOut: "A local server may still be loading the model; try again, or raise MAGI_CALL_TIMEOUT.",
    failures.QuotaUsedUp: "Add credit at the provider.",
    failures.RateLimited: "Wait, or ask the provider for a higher limit.",
    failures.UnusableAnswer: "The model does not keep to the form of the answer; a stronger one will.",
    failures.Refused: "Check that the address is that of a chat completions endpoint.",
}

WELL = AnswerForm(
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
QUESTION = [{"role": "user", "content": 'Answer with exactly this JSON object and nothing else: {"well": "yes"}'}]


@dataclass(frozen=True)
class Finding:
    subject: str
    well: bool
    sentence: str

    def __str__(self) -> str:
        return in_one_line(f"{'ok     ' if self.well else 'PROBLEM'}  {self.subject}: {self.sentence}")


async def examine(models_to_try: Iterable[str] = ()) -> list[Finding]:
    """Everything, the providers at once. `models_to_try` beside the default one, as provider/model."""
    models = ModelClient(LONGEST_QUESTION)
    try:
        by_provider = _models_by_provider([*models_to_try, settings.DEFAULT_MODEL])
        questions: list[Awaitable[Finding | None]] = [_database(), _channel_layer()]
        questions += [import_string(path)() for path in settings.EXAMINERS]
        questions += [_server(server) for server in mcp.servers().values()]
        questions += [_provider(models, each, by_provider.get(name)) for name, each in configured().items()]
        findings = await asyncio.gather(*questions)
    finally:
        await models.close()
    return [*filter(None, findings), *([] if configured() else [NO_PROVIDER])]


NO_PROVIDER = Finding(
    "models", True, "No provider is configured; agents named rehearsal/… answer by a stated rule, no model is asked."
)


def _models_by_provider(names: Iterable[str]) -> dict[str, str]:
    """The first model named of each provider, as provider/model."""
    found: dict[str, str] = {}
    for name in names:
        try:
            found.setdefault(resolve(name)[0].name, name)
        except UnknownProvider:
            continue
    return found


async def _database() -> Finding:
    try:
        # on a thread of its own: to look at a large file takes long, and pages are read meanwhile
        if problem := await asyncio.to_thread(_look_for_trouble):
            return problem
        return await reader.read(_look_into_database)
    except DBError as error:
        found = trouble.of(error) or await reader.read(partial(tables.lacking, error))
        sentence = f"{found} {found.advice}" if found else f"It does not answer: {error}. Check DATABASE_URL."
        return Finding("database", False, sentence)


def _look_for_trouble() -> Finding | None:
    try:
        if found := trouble.probe():
            return Finding("database", False, f"{found} {found.advice}")
        if damage := trouble.damage(thoroughly=True):
            return Finding("database", False, f"{trouble.DAMAGED} {trouble.DAMAGED.advice} SQLite says: {damage}")
    finally:
        connection.close()
    return None


def _look_into_database() -> Finding:
    executor = MigrationExecutor(connection)
    if missing := executor.migration_plan(executor.loader.graph.leaf_nodes()):
        return Finding("database", False, f"{counted(len(missing), 'migration')} to be made. Run manage.py migrate.")
    queued, performed = Run.objects.queued().count(), Run.objects.in_progress().count()
    waiting = Run.objects.filter(status=Run.Status.WAITING).count()
    if Run.objects.neglected().exists():
        return Finding("engine", False, f"{queued} runs wait and no engine takes them. Start serve or runengine.")
    waits = f", {waiting} waiting for somebody" if waiting else ""
    return Finding("database", True, f"{connection.vendor}, {performed} runs in progress, {queued} queued{waits}.")


async def _channel_layer() -> Finding:
    if not settings.ENVIRONMENT.REDIS_URL:
        return Finding("live updates", True, "In one process; other processes' pages follow within two seconds.")
    if problem := await live.trouble():
        return Finding("live updates", False, f"Redis does not answer ({problem}). Check REDIS_URL.")
    return Finding("live updates", True, "Redis carries them.")


async def _server(server: mcp.Server) -> Finding:
    subject = f"MCP server {server.name}"
    try:
        listing = await mcp.listing_of(server)
    except mcp.Away as away:
        return Finding(subject, False, f"{away} Check its entry of MAGI_MCP_SERVERS, and that it runs by itself.")
    on, changed = await reader.read(partial(McpTool.objects.compared, server.name, listing))
    number = len(listing.tools)
    said = f"Reachable, {counted(number, 'tool')}, {on} of them on."
    if changed:
        said = f"{said} Described otherwise than they were classed, and off: {', '.join(changed)}."
    elif on < number:
        said = f"{said} Say what the others do in the admin, under MCP tools."
    left_out = "".join(f" Left out: {one}." for one in listing.left_out[:SHOWN])
    return Finding(subject, not changed, f"{said}{left_out}")


async def _provider(models: ModelClient, provider: Provider, model: str | None) -> Finding:
    subject = f"{provider.name} ({provider.host})"
    try:
        model = model or next((f"{provider.name}/{name}" for name in provider.models), None)
        listed = await _listed(models, provider, needed=model is None)
        if model is None:
            return Finding(subject, True, f"Reachable, key accepted, {listed}. No model was tried: --model names one.")
        return Finding(subject, True, f"Reachable, key accepted, {listed}; {await _answer(models, model)}")
    except failures.CallFailed as failure:
        hint = HINTS.get(type(failure), "")
        return Finding(subject, False, f"{failure} {hint}".strip())


async def _listed(models: ModelClient, provider: Provider, *, needed: bool) -> str:
    """What the provider says of its models; where a question follows, it may as well say nothing."""
    try:
        names = await models.names(provider)
    except (failures.UnknownModel, failures.UnusableAnswer, failures.Refused, failures.Unauthorized) as failure:
        if needed and isinstance(failure, failures.Unauthorized):
            raise
        return "its models are not listed"
    shown = ", ".join(names[:SHOWN]) + (" …" if len(names) > SHOWN else "")
    return f"{counted(len(names), 'model')} ({shown})" if names else "no models listed"


async def _answer(models: ModelClient, model: str) -> str:
    """Asks as an engine would, stepping down where a format is refused."""
    way = models.way(model)
    for _ in range(len(FORMATS) + 1):
        began = time.monotonic()
        try:
            reply = await models.ask(model, QUESTION, WELL, _ignore, way)
        except failures.FormatRefused as failure:
            refused, way = failure, way.without(failure.refused, WELL)
            continue
        kept = "kept to" if '"yes"' in reply.text else "did not keep to"
        counted = "" if reply.input_tokens is not None else ", tokens are not counted"
        return (
            f"{model} answers in {time.monotonic() - began:.1f} s and {kept} the form ({way.answer_format}){counted}."
        )
    raise refused


def _ignore(text: Callable[[], str]) -> None:
    pass
