"""What models may use: each tool with its arguments, what it does to the world, and what becomes of it when it is cut.

Why so: engine/DESIGN.md, Tools.
"""

import json
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial
from importlib import import_module
from itertools import chain
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from pydantic import BaseModel, ValidationError

from . import mcp
from .llm.providers import clean_storable_text
from .mcp.schema_models import model_from_schema
from .models.mcp_tools import McpTool
from .models.tool_calls import Effect, canonical, definition_of
from .runtime.procedure import procedures
from .text.invisible_chars import single_line

if TYPE_CHECKING:
    from .models import Run, ToolCall

A = TypeVar("A", bound=BaseModel)
MAX_NAME_LENGTH = 120  # characters of a name or a source that the row holds

ALL_TOOLS_SUFFIX = ".*"  # after the name of a server: all of its tools

OPEN_POLICY: Mapping[str, Any] = {"who": "open"}
"""The policy by which nobody is asked."""

DISABLED_TEXT = "{name} is switched off until an administrator has said what it does, as described now."


class ToolRefused(Exception):
    """The tool will not do it. The text is a sentence for whoever asked for it; nothing was done."""


class ToolFailed(Exception):
    """The tool did not come to its end, in a sentence: what it began may have happened."""


def schema_title(arguments: type) -> str:
    """Return the title of a tool's schema. Titles are sealed with the tool, so a renamed class keeps its first one."""
    return arguments.__name__.removesuffix("Arguments")


@dataclass(frozen=True)
class ToolOutput:
    """`outside`: strangers wrote this text, whatever the tool says of all it brings."""

    text: str
    outside: bool = False


@dataclass(frozen=True)
class ToolUse:
    """For whom a tool is used. `key` is the same however often the call is begun anew: for services that take one."""

    run: "Run"
    step: str
    key: str


ToolResult = str | ToolOutput
SettleResult = str | ToolOutput | None
"""What came of a call whose engine died, when it has come to its end; None where it was cut short."""


@dataclass(frozen=True)
class RunTool(Generic[A]):
    """The work of a tool that is a run of its own. `submit` makes it, as `SubmitChild` of the engine's children, from
    the arguments, for whom it is, and `made_by`; `told` says what it came to once it is finished."""

    submit: Callable[[A, ToolUse, Mapping[str, Any]], Any]
    told: "Callable[[Run], ToolResult]"


@dataclass(frozen=True)
class Tool(Generic[A]):
    """`perform` acts outside of the database, at most once; `change` in it, exactly once; `by_run` has it done by a run
    that the asking one waits for, made exactly once: one of the three.

    `settle` is for what outlives the engine: it waits for what the call comes to. `contained`: it acts only in a place
    that the run owns. `repeatable`: safe to do twice, as is what reads and is not told when it is cut. `when_cut`: a
    person is asked what became of it, or the model is told; the latter is for calls that read or are contained.
    `outside`: it always brings text of strangers. `deed`: what it does with these arguments, as people say it, and
    `question`: how somebody is asked about that. `exact`: its arguments to the letter as a person reads them, where not
    as JSON: other arguments are another text. `cut_from`: SHA-256 of all that the text is about, where it leaves
    something out, else empty. `shown` and `kept`: how many characters of its output the next prompt and the row hold.
    """

    name: str
    description: str
    arguments: type[A]
    effect: Effect
    perform: Callable[[A, ToolUse], Awaitable[ToolResult]] | None = None
    change: Callable[[A, ToolUse], ToolResult] | None = None
    by_run: RunTool[A] | None = None
    settle: "Callable[[ToolCall, ToolUse], Awaitable[SettleResult]] | None" = None
    contained: bool | Callable[[A], bool] = False
    repeatable: bool = False
    when_cut: Literal["ask", "tell"] = "ask"
    outside: bool = False
    deed: Callable[[A], str] | None = None
    question: str = ""
    exact: Callable[[A], str] | None = None
    cut_from: Callable[[A], str] | None = None
    timeout: float = 60.0
    shown: int = 16_000
    kept: int = 200_000
    source: str = ""  # the registry says it
    server: str = ""  # of the Model Context Protocol, whose own description it has
    off: str = ""  # why it may not be begun; what was begun before is still asked about

    @property
    def reads(self) -> bool:
        return self.effect == Effect.READS

    @property
    def is_idempotent(self) -> bool:
        return self.repeatable or (self.reads and self.when_cut == "ask")

    @cached_property
    def schema(self) -> dict[str, Any]:
        return self.arguments.model_json_schema()

    @cached_property
    def definition(self) -> str:
        """SHA-256 of what a model is told of it: another description is another tool."""
        return definition_of(self.description, self.schema)

    def is_contained(self, arguments: A) -> bool:
        return self.contained(arguments) if callable(self.contained) else self.contained

    def title_of_use(self, arguments: A) -> str:
        """In one line, for a title."""
        return single_line(self.deed(arguments) if self.deed else f"Use {self.name}")

    def read(self, arguments: Mapping[str, Any] | str) -> A:
        """These arguments, checked. Refused with what is wrong with them, each with its place."""
        try:
            given = json.loads(arguments) if isinstance(arguments, str) else arguments
            return self.arguments.model_validate(_storable(given))
        except ValidationError as error:
            wrong = "; ".join(_complaints(error))
            raise ToolRefused(f"These arguments do not fit {self.name}: {wrong}.") from error
        except (ValueError, RecursionError) as error:
            raise ToolRefused(f"The arguments of {self.name} are no JSON: {error}.") from error

    def describe_result(self, call: "ToolCall") -> str:
        """What the next prompt says of a call."""
        text = call.output if call.done else call.error
        left_out = max(call.output_size, len(text)) - self.shown if call.done else 0
        return f"{text[: self.shown]}\n[{left_out:,} more characters are left out]" if left_out > 0 else text


def available_tools(of: str = "") -> dict[str, Tool[Any]]:
    """All of the toolbox, of the procedures and of servers, by name. In a thread that may read rows. `of`: a procedure,
    without what only another one's runs can use."""
    remote = McpTool.objects.usable().filter(server__in=mcp.servers()) if mcp.find_server() else []
    others = procedures().keys() - {of} if of else ()
    own = {name: tool for name, tool in own_tools().items() if tool.source not in others}
    return own | {str(row): _of_server(row) for row in remote}


def server_tools() -> list[str]:
    """The names that stand for all tools of a server."""
    return [f"{mcp.PREFIX}.{server}{ALL_TOOLS_SUFFIX}" for server in mcp.servers()]


def resolve_tool_names(names: Sequence[str]) -> list[str]:
    """These tools, and in place of a whole server all of its tools that may be used by now."""
    if not any(name.endswith(ALL_TOOLS_SUFFIX) for name in names):
        return list(names)
    known = available_tools()
    spelled = (
        [one for one in known if one.startswith(name[:-1])] if name.endswith(ALL_TOOLS_SUFFIX) else [name]
        for name in names
    )
    return list(dict.fromkeys(chain.from_iterable(spelled)))


def own_tools() -> dict[str, Tool[Any]]:
    """Those that need no server. ImproperlyConfigured where two have one name."""
    return _registered(tuple(settings.SHARED_TOOLS), tuple(settings.PROCEDURES))


def get_tool(name: str) -> Tool[Any] | None:
    """As `tools` has it, which asks the database for those of servers alone."""
    return own_tools().get(name) or (available_tools().get(name) if name.startswith(f"{mcp.PREFIX}.") else None)


@lru_cache(maxsize=8)
def _registered(*_: tuple[str, ...]) -> dict[str, Tool[Any]]:
    found: dict[str, Tool[Any]] = {}
    for source, tool in _offered():
        _refuse_impossible(tool, source)
        if tool.name in found:
            raise ImproperlyConfigured(f"Two tools are called {tool.name}: of {found[tool.name].source} and {source}.")
        found[tool.name] = replace(tool, source=source)
    return found


def _offered() -> Iterator[tuple[str, Tool[Any]]]:
    for path in settings.SHARED_TOOLS:
        yield from ((path, tool) for tool in import_module(path).TOOLS)
    for name, procedure in procedures().items():
        yield from ((name, tool) for tool in procedure.tools)


def _refuse_impossible(tool: Tool[Any], source: str) -> None:
    if sum(one is not None for one in (tool.perform, tool.change, tool.by_run)) != 1:
        raise ImproperlyConfigured(f"{tool.name} of {source} needs either perform or change, or a run that does it.")
    if max(len(tool.name), len(source)) > MAX_NAME_LENGTH:
        raise ImproperlyConfigured(f"The name of {tool.name}, or of its source, is longer than {MAX_NAME_LENGTH}.")
    if tool.name.startswith(f"{mcp.PREFIX}."):
        raise ImproperlyConfigured(f"{tool.name} of {source} has a name that only tools of servers have.")


def find_tool(name: str) -> Tool[Any]:
    """Refused with all names, where there is no such tool; one that is switched off says why it is."""
    if tool := get_tool(name):
        return tool
    if off := _switched_off(name):
        return off
    raise ToolRefused(
        f"There is no tool named {clean_storable_text(name)[:MAX_NAME_LENGTH]}. "
        f"The tools are {', '.join(available_tools())}."
    )


def _switched_off(name: str) -> Tool[Any] | None:
    rows = McpTool.objects.filter(server__in=mcp.servers()) if mcp.find_server() else []
    row = next((row for row in rows if str(row) == name), None)
    return replace(_of_server(row), off=DISABLED_TEXT.format(name=name), perform=_refuse_switched_off) if row else None


async def _refuse_switched_off(asked: Any, use: ToolUse) -> str:
    raise ToolRefused(
        "It was switched off meanwhile: an administrator has to say what it does, as it is described now."
    )


def _of_server(row: McpTool) -> Tool[Any]:
    server = mcp.servers()[row.server]
    return Tool(
        str(row),
        row.description,
        model_from_schema(row.schema),
        Effect(row.effect or row.hinted),
        perform=partial(_called, server, row.name, row.definition),
        repeatable=row.repeatable,
        outside=row.outside,
        deed=lambda _: f"Call {row.name} of the server {row.server}",
        timeout=2 * server.timeout + 1,  # its own is for each of the two questions
        source=f"{mcp.PREFIX}.{row.server}",
        server=row.server,
    )


async def _called(server: mcp.McpServer, name: str, definition: str, asked: Any, use: ToolUse) -> str:
    try:
        return await mcp.call(server, name, definition, asked.root)
    except mcp.CallInterrupted as cut:
        raise ToolFailed(str(cut)) from cut
    except (mcp.ServerUnavailable, mcp.McpServerError) as why:
        raise ToolRefused(str(why)) from why


def exact_arguments(asked: BaseModel, last: str) -> str:
    """Each argument in a line of JSON, and at the end this one as it stands: what is in it is taken for no other."""
    told = asked.model_dump()
    text = told.pop(last)
    lines = [f"{name}: {json.dumps(value, ensure_ascii=False)}" for name, value in told.items()]
    return "\n".join([*lines, f"{last}:", text])


def format_arguments(arguments: BaseModel) -> str:
    """The arguments as they are kept and shown, every default filled in."""
    return canonical(arguments.model_dump(mode="json"))


def _storable(value: Any) -> Any:
    """With what no database takes as visible escapes, however deep it stands."""
    if isinstance(value, str):
        return clean_storable_text(value)
    if isinstance(value, Mapping):
        return {_storable(key): _storable(one) for key, one in value.items()}
    return [_storable(one) for one in value] if isinstance(value, Sequence) else value


def _complaints(error: ValidationError) -> Iterator[str]:
    for one in error.errors(include_url=False, include_input=False):
        place = ".".join(str(part) for part in one["loc"])
        yield f"{place}: {one['msg']}" if place else one["msg"]
