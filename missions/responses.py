"""The fields of missions in the API, in addition to those of all runs."""

from typing import Any

from django.utils import timezone

from runs.forking import origin_facts

from . import workspace
from .display import changed_files
from .display.outcome import BranchView, branches, figures
from .models import Mission, MissionStep, Terminal, queries
from .models.forks import in_order
from .models.terminals import OUTPUT_LENGTH
from .secret_redaction import redact_secrets
from .terminals.drawn import picture, text_of_command
from .terminals.output_spool import SpoolState
from .tools.commands import command_state, screen_facts

OVER: dict[str, Any] = {"screen": None, "waits_for": None, "children": []}


def mission_fields(row: Mission) -> dict[str, Any]:
    now = timezone.now()
    return {
        "goal": row.goal,
        "result": row.result or None,
        "unproven": row.unproven or None,
        "figures": figures(row),
        "check": _check(row),
        "agents": [
            {
                "number": one.number,
                "name": one.name,
                "parent": one.parent or None,
                "model": one.model,
                "state": str(queries.agent_situation(row, one.number, now).state),
            }
            for one in row.crew_list
        ],
        "steps": [mission_step_fields(one) | {"place": place} for place, one in enumerate(in_order(row), 1)],
        "messages": [_message(row, one) for one in row.messages_in_order],
        "terminals": [terminal_fields(one) for one in row.terminals.all()],
        "files": [{"path": one.path, "change": one.change} for one in changed_files(row)],
        "branches": [_branch(one) for one in branches(row)],
        "limits": row.limits,
        "follows": str(row.follows_id) if row.follows_id else None,
        "forked": origin_facts(row.run),
        "paused": bool(row.paused),
        "rehearsal": row.rehearsal,
    }


def _branch(one: BranchView) -> dict[str, Any]:
    commits, merged = ([{"commit": name, "subject": said} for name, said in each] for each in (one.commits, one.merged))
    about = {name: getattr(one, name) for name in ("name", "commit", "to", "base", "before")}
    return {**about, "commits": commits, "merged": merged}


def _check(row: Mission) -> dict[str, Any] | None:
    found = getattr(row, "final_check", None)
    if found is None:
        return {"command": row.check_command, "exit_code": None} if row.check_command else None
    return {"command": found.command, "exit_code": found.exit_code}


def mission_step_fields(one: MissionStep) -> dict[str, Any]:
    return {
        "agent": one.agent.name,
        "number": one.number,
        "reasoning": one.reasoning,
        "tool": one.tool or None,
        "arguments": one.arguments if one.tool else None,
        "ok": one.ok if one.settled else None,
        "result": one.result or None,
    }


def terminal_fields(one: Terminal) -> dict[str, Any]:
    names = ("number", "command", "exit_code", "reason", "seconds", "size")
    return {name: getattr(one, name) for name in names} | {"living": one.is_running}


def output_fields(one: Terminal) -> dict[str, Any]:
    """The output; of a running command also its screen and what it waits for. Reads files."""
    spool = workspace.spool(one.mission_id, one.spool)
    if not one.is_running or spool.state not in (SpoolState.LIVES, SpoolState.ENDED, SpoolState.CUT):
        return {"text": one.output, **OVER}
    text = redact_secrets(text_of_command(spool))[-OUTPUT_LENGTH:]
    if spool.state != SpoolState.LIVES:
        return {"text": text, **OVER}
    shown, wait = picture(spool), command_state(spool).wait
    screen = {"text": redact_secrets(shown.text), **screen_facts(shown)}
    return {"text": text, "screen": screen, "waits_for": wait.kind, "children": list(wait.children)}


def _message(row: Mission, one: Any) -> dict[str, Any]:
    sender = row.agent(one.sender).name if one.sender else one.by_name or None
    to = row.agent(one.recipient).name if one.recipient else "human_user"
    return {"number": one.number, "sender": sender, "recipient": to, "text": one.text}
