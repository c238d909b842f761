"""Tools for commands in terminals, which are started at most once and which survive a crash of the engine.

Why so: missions/DESIGN.md, Terminals.
"""

import asyncio
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

from pydantic import AfterValidator, ConfigDict, Field

from engine.db import reader
from engine.models import Effect, ToolCall
from engine.tools import Tool, ToolRefused, ToolUse, exact_arguments

from .. import workspace
from ..models import Terminal, TerminalInput
from ..rules import MissionLimits as Bounds
from ..sandbox.bwrap import MIB, SandboxLimits, shell_command
from ..terminals import keys
from ..terminals.drawn import Picture, on_other_screen, picture, text_of_command
from ..terminals.launcher import LaunchRefused as NotBegun
from ..terminals.output_spool import OutputSpool, SpoolState, SupervisorSilent
from ..terminals.pty_supervisor import LEAST_COLUMNS, LEAST_ROWS, MOST_COLUMNS, MOST_ROWS
from ..terminals.wait_detection import NOT_WAITING, CommandWait, InputWait, wait_of, waiting_for
from .output import SHOWN, MissionToolArgumentsBase, cut_text, tool_text
from .path_resolver import memory_of_agent

LONGEST_WAIT = 600  # seconds
LOOK, SLOWEST_LOOK = 0.03, 0.25  # first and longest seconds between polls
INPUT_WAIT_SECONDS = 1.0  # of waiting for input after which the tool returns
START_TIMEOUT = 10.0  # seconds
CUT = "cut"
LEAVES_PROMPT = "ctrl-c"  # the only key that is accepted at a prompt for a password
SMALLER = "give it fewer rows by send_command_input"


def _known_key(name: str) -> str:
    if name not in keys.NAMES:
        raise ValueError(f"There is no such key. There are {', '.join(keys.NAMES)}.")
    return name


Host = Annotated[str, Field(pattern=r"^[A-Za-z0-9](?:[A-Za-z0-9.-]{0,252}[A-Za-z0-9])?:[1-9][0-9]{0,4}$")]


class RunCommandArguments(MissionToolArgumentsBase):
    command: str = Field(min_length=1, max_length=16_000)
    cwd: str = Field(default=".", max_length=1_000)
    timeout: float = Field(default=30, ge=0, le=LONGEST_WAIT, description="after so many seconds it goes on beside you")
    input: str = Field(default="", max_length=8_000, description="typed as soon as it runs")
    network: list[Host] = Field(
        default=[],
        max_length=10,
        description="hosts it has to reach by https, as in example.org:443: somebody is asked first",
    )
    purpose: str = Field(default="", max_length=500, description="of a command with a network: what for")


class CommandStatusArguments(MissionToolArgumentsBase):
    command_id: int = Field(ge=1)
    wait: float = Field(default=0, ge=0, le=120)
    output_lines: int = Field(default=60, ge=1, le=400)
    from_line: int | None = Field(default=None, ge=1)


class SendInputArguments(MissionToolArgumentsBase):
    command_id: int = Field(ge=1)
    input: str = Field(default="", max_length=8_000)
    key: Annotated[str, Field(max_length=10), AfterValidator(_known_key)] | None = Field(
        default=None, description="pressed after the input: enter, esc, tab, up, page-down, f1, ctrl-c and others"
    )
    paste: bool = Field(default=False, description="the input comes as if it was pasted")
    rows: int | None = Field(default=None, ge=LEAST_ROWS, le=MOST_ROWS, description="another height of its window")
    columns: int | None = Field(default=None, ge=LEAST_COLUMNS, le=MOST_COLUMNS)
    terminate: bool = False
    wait: float = Field(default=2, ge=0, le=60)


class NoCommandArguments(MissionToolArgumentsBase):
    model_config = ConfigDict(title="NoArguments")


# ---- state and output -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class CommandState:
    """`word` is a value of `InputWait`, "ended" or "cut"."""

    word: str
    wait: CommandWait = NOT_WAITING

    @property
    def facts(self) -> dict[str, Any]:
        """The facts for agents and programs, without what the command waits for if that is unknown."""
        named = {"children": list(self.wait.children)} if self.wait.children else {}
        return {"state": self.word} | ({"waits_for": str(self.wait.kind), **named} if self.wait.kind else {})


def command_state(spool: OutputSpool) -> CommandState:
    state = spool.state
    if state == SpoolState.NEW:  # its supervisor has not started yet
        return CommandState(InputWait.RUNNING)
    if state != SpoolState.LIVES:
        return CommandState(CUT if state == SpoolState.CUT else "ended")
    try:
        status = spool.status()
    except SupervisorSilent:
        return CommandState(InputWait.RUNNING)
    waiting = waiting_for(status, other_screen=on_other_screen(spool))
    return CommandState(waiting, wait_of(status, waiting))


def command_status_text(spool: OutputSpool) -> str:
    return str(command_state(spool).word)


async def wait_for_end(spool: OutputSpool, seconds: float, asks: bool = True) -> None:
    """Wait until the command has ended, the seconds are over, or (with `asks`) it waits for input."""
    begun = time.monotonic()
    look, asked_since = LOOK, 0.0
    while (now := time.monotonic()) - begun < seconds or not (spool.folder / "started").exists():
        if spool.end is not None or now - begun > seconds + START_TIMEOUT:
            return
        if asks and look >= SLOWEST_LOOK:
            state = await asyncio.to_thread(command_status_text, spool)
            if state in (CUT, "ended"):
                return
            asked_since = (asked_since or now) if state != InputWait.RUNNING else 0.0
            if asked_since and now - asked_since >= INPUT_WAIT_SECONDS:
                return
        await asyncio.sleep(look)
        look = min(look * 1.4, SLOWEST_LOOK)


def output_since(number: int, spool: OutputSpool, tool: str, lines: int | None = None, start: int | None = None) -> str:
    """The result of a tool: the screen of a running full-screen program, otherwise lines of output."""
    facts: dict[str, Any] = {"command_id": number, **command_state(spool).facts}
    shown = picture(spool) if spool.state == SpoolState.LIVES and start is None else None
    if shown and shown.is_drawn:
        return tool_text(tool, cut_text(shown.text, SMALLER), **facts, **screen_facts(shown))
    text = text_of_command(spool).rstrip("\n")
    if end := spool.end:
        facts |= {"exit_code": end["code"], "seconds": end["seconds"]}
        facts |= {"reason": end["reason"]} if end["reason"] else {}
    if lines is not None:
        rows = text.split("\n")
        first = start - 1 if start else max(0, len(rows) - lines)
        text = "\n".join(rows[first : first + lines])
        facts |= {"from_line": first + 1, "lines": len(rows)}
    return tool_text(tool, cut_text(text, f"read them with command_status(command_id={number}, from_line=…)"), **facts)


def screen_facts(shown: Picture) -> dict[str, Any]:
    """Size and cursor of the screen; rows and columns count from 1."""
    cursor = {"row": shown.row + 1, "column": shown.column + 1, "shown": shown.has_cursor}
    return {"rows": len(shown.rows), "columns": shown.columns, "cursor": cursor}


# ---- run_command ----------------------------------------------------------------------------------------------


async def run_command(asked: RunCommandArguments, use: ToolUse) -> str:
    terminal = await _terminal_at(use)
    spool = workspace.spool(use.run.pk, terminal.spool)
    most = terminal.mission.bounds.terminals
    if await reader.read_for_worker(Terminal.objects.filter(mission=use.run.pk, ended=None).count) > most:
        raise ToolRefused(f"limit: {most} commands live, and no more may. End one.")
    limits = await asyncio.to_thread(
        remaining_limits, terminal.mission.bounds, await reader.read_for_worker(partial(list, _of(use)))
    )
    await begin(use, terminal.spool, shell_command(asked.command), asked.cwd, tuple(asked.network), **limits)
    await _typed_first(spool, asked)
    await wait_for_end(spool, asked.timeout)
    return await asyncio.to_thread(output_since, terminal.number, spool, "run_command")


def remaining_limits(bounds: Bounds, terminals: Sequence[Terminal]) -> dict[str, int]:
    """Limits of one more command within those of the mission. Raises ToolRefused if no output is left."""
    living = (workspace.spool(one.mission_id, one.spool).said(0, 0).total for one in terminals if one.is_running)
    output = bounds.output * MIB - sum(one.size or 0 for one in terminals) - sum(living)
    if output <= 0:
        raise ToolRefused(f"limit: all commands together have said {bounds.output:,} MiB, and no more may be.")
    return {"output": min(output, SandboxLimits.output), "disk": bounds.disk * MIB}


def _of(use: ToolUse) -> Any:
    return Terminal.objects.filter(mission=use.run.pk).defer("output")


async def settle_command(call: ToolCall, use: ToolUse) -> str | None:
    """After a crash: start a command that was not started, wait for a running one, read an ended one. None if cut."""
    asked = RunCommandArguments.model_validate_json(call.arguments)
    terminal = await _terminal_at(use)
    spool = workspace.spool(use.run.pk, terminal.spool)
    if terminal.reason == "cut":  # it ran on a lost machine; on this one its spool looks as if it never started
        return None
    if spool.state == SpoolState.NEW:
        return await run_command(asked, use)
    if spool.state in (SpoolState.CUT, SpoolState.REFUSED):
        return None
    await _typed_first(spool, asked)
    passed = time.time() - call.started.timestamp() if call.started else 0.0
    await wait_for_end(spool, max(0.0, asked.timeout - passed))
    return (
        None
        if spool.state == SpoolState.CUT
        else await asyncio.to_thread(output_since, terminal.number, spool, "run_command")
    )


async def _typed_first(spool: OutputSpool, asked: RunCommandArguments) -> None:
    """Type the command's first input as soon as its supervisor listens."""
    until = time.monotonic() + START_TIMEOUT
    while asked.input and time.monotonic() < until and spool.end is None:
        with suppress(SupervisorSilent):
            await asyncio.to_thread(spool.type, 1, asked.input.encode())
            return
        await asyncio.sleep(LOOK)


async def begin(
    use: ToolUse, name: str, program: tuple[str, ...], cwd: str, hosts: tuple[str, ...] = (), **limits: int
) -> None:
    if ".." in cwd.split("/") or (cwd.startswith("/") and not cwd.startswith("/workspace")):
        raise ToolRefused(f"outside: {cwd} is no folder of the workspace.")
    where = cwd.removeprefix("/workspace").lstrip("/") or "."
    if await asyncio.to_thread(workspace.workspace(use.run.pk).lacks_folder, where):
        raise ToolRefused(f"not_found: there is no folder {where} in the workspace. Make it first, or look with ls.")
    try:
        memory = await memory_of_agent(use)
        more: dict[str, Any] = {"memory": memory, "hosts": hosts, **limits}
        await asyncio.to_thread(partial(workspace.start_command, use.run.pk, name, program, where, **more))
    except NotBegun as refused:
        raise ToolRefused(f"not_begun: {refused}") from refused


async def _terminal_at(use: ToolUse) -> Terminal:
    """The terminal that was saved with the calling step."""
    agent, _, number = use.step.partition(".")
    place = {"mission": use.run.pk, "step__agent__number": agent or 0, "step__number": number or 0}
    found = await reader.read_for_worker(Terminal.objects.filter(**place).select_related("mission").first)
    if found is None:
        raise ToolRefused("Only an agent of a mission has terminals.")
    return found


# ---- status, input, list, search ------------------------------------------------------------------------------


async def _terminal(use: ToolUse, number: int) -> Terminal:
    found = await reader.read_for_worker(Terminal.objects.filter(mission=use.run.pk, number=number).first)
    if found is None:
        raise ToolRefused(f"not_found: there is no command {number}.")
    return found


async def command_status(asked: CommandStatusArguments, use: ToolUse) -> str:
    terminal = await _terminal(use, asked.command_id)
    spool = workspace.spool(use.run.pk, terminal.spool)
    if asked.wait:
        await wait_for_end(spool, asked.wait)
    number, lines = terminal.number, asked.output_lines
    return await asyncio.to_thread(output_since, number, spool, "command_status", lines, asked.from_line)


async def send_input(asked: SendInputArguments, use: ToolUse) -> str:
    terminal = await _terminal(use, asked.command_id)
    spool = workspace.spool(use.run.pk, terminal.spool)
    if spool.end is not None:
        raise ToolRefused(f"ended: command {terminal.number} has ended.")
    if asked.terminate:
        await asyncio.to_thread(spool.stop, "ended")
    else:
        number = await _input_at(use)
        before = await reader.read_for_worker(partial(to_be_typed_before, terminal, number))
        await asyncio.to_thread(_type, spool, number, asked, before)
    await wait_for_end(spool, asked.wait)
    return await asyncio.to_thread(output_since, terminal.number, spool, "send_command_input", 60)


def to_be_typed_before(terminal: Terminal, number: int) -> list[tuple[int, str]]:
    """Earlier inputs that must be typed first, as pairs of number and text.

    Inputs of people may have been saved and not typed because of a crash. Inputs of agents are typed by their own
    steps; those of settled steps are passed as empty texts, so that a refused one does not block later numbers.
    """
    before = TerminalInput.objects.filter(terminal=terminal, number__lt=number).select_related("step")
    return [(one.number, "" if one.step else one.text) for one in before if one.step is None or one.step.settled]


def _type(spool: OutputSpool, number: int, asked: SendInputArguments, before: list[tuple[int, str]]) -> None:
    try:
        by_lines, shown = spool.status()["lines"], picture(spool)
        if hides_input(spool) and (asked.input or asked.key != LEAVES_PROMPT):
            raise ToolRefused("wants_password: it asks for a secret. Nobody types one here.")
        if asked.rows or asked.columns:
            _resize(spool, asked.rows or len(shown.rows), asked.columns or shown.columns)
        for earlier, text in before:
            spool.type(earlier, text.encode())
        typed = keys.of_text(asked.input, by_lines=by_lines, pasted=asked.paste and shown.takes_paste)
        typed += keys.of_key(asked.key, application=shown.has_application_keys) if asked.key else ""
        if not spool.type(number, typed.encode()):
            raise ToolRefused("not_typed: something that was to be typed before is missing.")
    except SupervisorSilent as silent:
        raise ToolRefused("ended: it does not listen any more.") from silent


def hides_input(spool: OutputSpool) -> bool:
    """Whether the terminal reads a line without echo, as for a password. Raises SupervisorSilent."""
    status = spool.status()
    return bool(status["lines"] and not status["echo"])


def _resize(spool: OutputSpool, rows: int, columns: int) -> None:
    if not spool.resize(rows, columns):
        raise ToolRefused("not_resized: its window was changed too often.")


async def settle_input(call: ToolCall, use: ToolUse) -> str | None:
    """After a crash: the input's number is typed only once, so it may be sent again."""
    asked = SendInputArguments.model_validate_json(call.arguments)
    terminal = await _terminal(use, asked.command_id)
    spool = workspace.spool(use.run.pk, terminal.spool)
    if (end := spool.end) and (asked.terminate or end["inputs"] >= await _input_at(use)):
        return await asyncio.to_thread(output_since, terminal.number, spool, "send_command_input", 60)
    return await send_input(asked, use)


async def _input_at(use: ToolUse) -> int:
    agent, _, number = use.step.partition(".")
    place = {"terminal__mission": use.run.pk, "step__agent__number": agent or 0, "step__number": number or 0}
    found = await reader.read_for_worker(TerminalInput.objects.filter(**place).first)
    if found is None:
        raise ToolRefused("Only an agent of a mission types.")
    return found.number


def list_commands(asked: NoCommandArguments, use: ToolUse) -> str:
    rows = list(Terminal.objects.filter(mission=use.run.pk).order_by("number"))
    shown = [one for one in rows if one.is_running] + [one for one in rows if not one.is_running][-5:]
    lines = [f"{one.number:>4} {_word(one):<10} {one.command[:200]}" for one in shown]
    return tool_text("list_commands", "\n".join(lines), living=sum(one.is_running for one in rows))


def _word(one: Terminal) -> str:
    return "living" if one.is_running else f"exit {one.exit_code}" if one.exit_code is not None else one.reason


WITH_NETWORK = "run_with_network"
TOOLS = (
    Tool(
        WITH_NETWORK,
        "Runs a shell command in the workspace that reaches these hosts by https, and nothing else.",
        RunCommandArguments,
        Effect.REACHES_OUT,
        perform=run_command,
        settle=settle_command,
        question="May this command reach these hosts?",
        exact=partial(exact_arguments, last="command"),
        timeout=LONGEST_WAIT + 60.0,
        shown=SHOWN,
        kept=SHOWN,
    ),
    Tool(
        "run_command",
        "Runs a shell command in the workspace, in a terminal of its own. It is begun once; what takes longer than the "
        "timeout goes on beside you, and its end wakes you.",
        RunCommandArguments,
        Effect.WRITES,
        perform=run_command,
        settle=settle_command,
        contained=True,
        when_cut="tell",
        timeout=LONGEST_WAIT + 60.0,
        shown=SHOWN,
        kept=SHOWN,
    ),
    Tool(
        "command_status",
        "Says how a command stands, and shows its screen with the cursor where it draws one, else lines of it.",
        CommandStatusArguments,
        Effect.READS,
        perform=command_status,
        timeout=150.0,
        shown=SHOWN,
        kept=SHOWN,
    ),
    Tool(
        "send_command_input",
        "Types into the terminal of a command, presses a key, changes the size of its window, or ends it.",
        SendInputArguments,
        Effect.WRITES,
        perform=send_input,
        settle=settle_input,
        contained=True,
        when_cut="tell",
        timeout=90.0,
        shown=SHOWN,
        kept=SHOWN,
    ),
    Tool(
        "list_commands",
        "Lists the commands that live, and the last that ended.",
        NoCommandArguments,
        Effect.READS,
        change=list_commands,
        shown=SHOWN,
        kept=SHOWN,
    ),
)
