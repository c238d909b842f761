"""What may still happen to the rows of missions: see `engine/ledger/immutability.py`."""

from engine.ledger.immutability import ColumnRule, ImmutableTable, ImmutableTables


def _kept(*names: str, erased: tuple[str, ...] = ()) -> ColumnRule:
    return ColumnRule("kept", kept=("id", *names), erased=erased)


_tables = (
    ImmutableTable(
        "missions_mission",
        key="run_id",
        key_is_number=False,
        run="OLD.run_id",
        rules=(
            ColumnRule(
                "kept",
                kept=(
                    *("run_id", "crew", "crew_version_id", "final_check_wanted", "limits", "policy"),
                    *("follows_id", "prompt_version"),
                    "library",
                ),
                erased=("goal", "check_command", "customs"),
            ),
            # each by itself, or what is left of an erased one could be written anew
            *(ColumnRule(f"{text}_said", when=f"OLD.{text} <> ''", erased=(text,)) for text in ("result", "unproven")),
        ),
    ),
    ImmutableTable(
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
    ImmutableTable(
        "missions_step",
        unique=((("agent_id", "number"), ""),),
        run="OLD.mission_id",
        rules=(
            _kept(
                *("mission_id", "agent_id", "number", "tool", "heard", "last", "call_id", "made"),
                erased=("reasoning", "args"),
            ),
            ColumnRule(
                "settled", when="OLD.settled IS NOT NULL", kept=("tool_call_id", "ok", "settled"), erased=("result",)
            ),
        ),
    ),
    ImmutableTable(
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
    ImmutableTable(
        "missions_halt",
        run="OLD.mission_id",
        rules=(_kept("mission_id", "agent_id", "after", "why", "heard", "made", erased=("text",)),),
    ),
    ImmutableTable(
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
    ImmutableTable("missions_pause", unique=((("mission_id", "number"), ""),)),
    ImmutableTable(
        "missions_check",
        unique=((("mission_id",), ""),),
        run="OLD.mission_id",
        rules=(_kept("mission_id", "exit_code", "reason", "tool_call_id", "made", erased=("command", "output")),),
    ),
    ImmutableTable(
        "missions_fileversion",
        unique=((("mission_id", "number"), ""),),
        run="OLD.mission_id",
        rules=(_kept("mission_id", "step_id", "number", "change", "size", "made", erased=("path", "digest", "text")),),
    ),
    ImmutableTable(
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
    ImmutableTable(
        "missions_terminal",
        unique=((("mission_id", "number"), ""),),
        run="OLD.mission_id",
        rules=(
            _kept("mission_id", "step_id", "number", "spool", "made", erased=("command",)),
            ColumnRule(
                "ended",
                when="OLD.ended IS NOT NULL",
                kept=("exit_code", "reason", "seconds", "size", "ended"),
                erased=("digest", "output"),
            ),
        ),
    ),
    ImmutableTable(
        "missions_terminalinput",
        unique=((("terminal_id", "number"), ""),),
        run="(SELECT mission_id FROM missions_terminal WHERE id = OLD.terminal_id)",
        rules=(_kept("terminal_id", "step_id", "by_name", "number", "made", erased=("text",)),),
    ),
    ImmutableTable(
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
    ImmutableTable(
        "missions_shortmemory",
        unique=((("agent_id", "version"), ""),),
        run="OLD.mission_id",
        rules=(_kept("mission_id", "agent_id", "version", "by", "made", erased=("text",)),),
    ),
    ImmutableTable(
        "missions_summary",
        run="OLD.mission_id",
        rules=(_kept("mission_id", "agent_id", "covers", "call_id", "made", erased=("text", "dump", "digest")),),
    ),
    ImmutableTable(
        "missions_memory",
        unique=((("library", "folded"), ""), (("library", "file"), "")),
    ),
    ImmutableTable(
        "missions_memoryversion",
        unique=((("memory_id", "number"), ""),),
        run="OLD.mission_id",
        rules=(
            _kept(
                *("memory_id", "number", "base", "active_for", "visible_to", "except_for", "by", "mission_id", "made"),
                erased=("description", "text", "front"),
            ),
            ColumnRule("decided", when="OLD.decided IS NOT NULL", kept=("decided", "decided_by", "accepted")),
            ColumnRule(
                "accepted", when="OLD.accepted IS NOT NULL AND OLD.accepted", kept=("description", "text", "front")
            ),
        ),
    ),
    ImmutableTable("missions_activation"),
    ImmutableTable("missions_memoryuse"),
    ImmutableTable(
        "missions_crewversion",
        unique=((("crew_id", "number"), ""),),
        rules=(
            ColumnRule(
                "kept",
                kept=("id", "crew_id", "number", "name", "created", "good_for", "agents", "customs"),
                unlinked=("author_id",),
            ),
        ),
    ),
    ImmutableTable("missions_crewchange"),
)
GUARDS: ImmutableTables = {guard.table: guard for guard in _tables}
