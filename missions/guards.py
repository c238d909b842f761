"""What may still happen to the rows of missions: see `engine/evidence/guards.py`."""

from engine.evidence.guards import Guard, Guards, Rule


def _kept(*names: str, erased: tuple[str, ...] = ()) -> Rule:
    return Rule("kept", kept=("id", *names), erased=erased)


_tables = (
    Guard(
        "missions_mission",
        key="run_id",
        key_is_number=False,
        run="OLD.run_id",
        rules=(
            Rule(
                "kept",
                kept=(
                    *("run_id", "crew", "crew_version_id", "final_check_wanted", "limits", "policy"),
                    *("follows_id", "prompt_version"),
                    "library",
                ),
                erased=("goal", "check_command", "customs"),
            ),
            # each by itself, or what is left of an erased one could be written anew
            *(Rule(f"{text}_said", when=f"OLD.{text} <> ''", erased=(text,)) for text in ("result", "unproven")),
        ),
    ),
    Guard(
        "missions_agent",
        unique=((("mission_id", "number"), ""), (("mission_id", "folded"), "")),
        run="OLD.mission_id",
        rules=(
            _kept(
                *("mission_id", "number", "name", "folded", "parent", "depth", "model", "tools", "rights", "made"),
                erased=("description",),
            ),
        ),
    ),
    Guard(
        "missions_step",
        unique=((("agent_id", "number"), ""),),
        run="OLD.mission_id",
        rules=(
            _kept(
                *("mission_id", "agent_id", "number", "tool", "heard", "last", "call_id", "made"),
                erased=("reasoning", "args"),
            ),
            Rule("settled", when="OLD.settled IS NOT NULL", kept=("tool_call_id", "ok", "settled"), erased=("result",)),
        ),
    ),
    Guard(
        "missions_carriedstep",
        unique=((("agent_id", "number"), ""),),
        run="OLD.mission_id",
        rules=(
            _kept(
                *("mission_id", "agent_id", "number", "tool", "heard", "ok", "made"),
                erased=("reasoning", "args", "result"),
            ),
        ),
    ),
    Guard(
        "missions_halt",
        run="OLD.mission_id",
        rules=(_kept("mission_id", "agent_id", "after", "why", "heard", "made", erased=("text",)),),
    ),
    Guard(
        "missions_message",
        unique=((("mission_id", "number"), ""),),
        run="OLD.mission_id",
        rules=(
            _kept(
                *("mission_id", "number", "sender", "by_name", "recipient", "go_on", "made"),
                erased=("text",),
            ),
        ),
    ),
    Guard("missions_pause", unique=((("mission_id", "number"), ""),)),
    Guard(
        "missions_check",
        unique=((("mission_id",), ""),),
        run="OLD.mission_id",
        rules=(_kept("mission_id", "exit_code", "reason", "tool_call_id", "made", erased=("command", "output")),),
    ),
    Guard(
        "missions_fileversion",
        unique=((("mission_id", "number"), ""),),
        run="OLD.mission_id",
        rules=(_kept("mission_id", "step_id", "number", "change", "size", "made", erased=("path", "digest", "text")),),
    ),
    Guard(
        "missions_repository",
        unique=((("mission_id",), ""),),
        run="OLD.mission_id",
        rules=(
            _kept(
                *("mission_id", "base", "start", "files", "size", "shallow", "staged", "made"),
                erased=("address", "branch", "left_out"),
            ),
        ),
    ),
    Guard(
        "missions_terminal",
        unique=((("mission_id", "number"), ""),),
        run="OLD.mission_id",
        rules=(
            _kept("mission_id", "step_id", "number", "spool", "made", erased=("command",)),
            Rule(
                "ended",
                when="OLD.ended IS NOT NULL",
                kept=("exit_code", "reason", "seconds", "size", "ended"),
                erased=("digest", "output"),
            ),
        ),
    ),
    Guard(
        "missions_terminalinput",
        unique=((("terminal_id", "number"), ""),),
        run="(SELECT mission_id FROM missions_terminal WHERE id = OLD.terminal_id)",
        rules=(_kept("terminal_id", "step_id", "by_name", "number", "made", erased=("text",)),),
    ),
    Guard(
        "missions_connection",
        unique=((("terminal_id", "number"), ""),),
        run="OLD.mission_id",
        rules=(
            _kept(
                *("mission_id", "terminal_id", "number", "port", "allowed", "sent", "received", "made"),
                erased=("host",),
            ),
        ),
    ),
    Guard(
        "missions_shortmemory",
        unique=((("agent_id", "version"), ""),),
        run="OLD.mission_id",
        rules=(_kept("mission_id", "agent_id", "version", "by", "made", erased=("text",)),),
    ),
    Guard(
        "missions_summary",
        run="OLD.mission_id",
        rules=(_kept("mission_id", "agent_id", "covers", "call_id", "made", erased=("text", "dump", "digest")),),
    ),
    Guard(
        "missions_memory",
        unique=((("library", "folded"), ""), (("library", "file"), "")),
    ),
    Guard(
        "missions_memoryversion",
        unique=((("memory_id", "number"), ""),),
        run="OLD.mission_id",
        rules=(
            _kept(
                *("memory_id", "number", "base", "active_for", "visible_to", "except_for", "by", "mission_id", "made"),
                erased=("description", "text", "front"),
            ),
            Rule("decided", when="OLD.decided IS NOT NULL", kept=("decided", "decided_by", "accepted")),
            Rule("accepted", when="OLD.accepted IS NOT NULL AND OLD.accepted", kept=("description", "text", "front")),
        ),
    ),
    Guard("missions_activation"),
    Guard("missions_memoryuse"),
    Guard(
        "missions_crewversion",
        unique=((("crew_id", "number"), ""),),
        rules=(
            Rule(
                "kept",
                kept=("id", "crew_id", "number", "name", "created", "good_for", "agents", "customs"),
                unlinked=("author_id",),
            ),
        ),
    ),
    Guard("missions_crewchange"),
)
GUARDS: Guards = {guard.table: guard for guard in _tables}
