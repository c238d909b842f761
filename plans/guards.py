"""What may still happen to the rows of plans: see `engine/ledger/immutability.py`."""

from engine.ledger.immutability import ColumnRule, ImmutableTable, ImmutableTables

_OF_STEP = "(SELECT plan_id FROM plans_step WHERE id = OLD.step_id)"

_tables = (
    ImmutableTable(
        "plans_plan",
        key="run_id",
        key_is_number=False,
        run="OLD.run_id",
        rules=(
            ColumnRule(
                "kept",
                kept=(
                    "run_id",
                    "matter_id",
                    "team_version_id",
                    "policy",
                    "asked_models",
                    "prompt_version",
                    "earlier_id",
                ),
                erased=("task", "matter_name"),
            ),
            ColumnRule("stopped", when="OLD.stopped", kept=("stopped",)),
            ColumnRule(
                "summed_up", when="OLD.summary <> '' OR OLD.task = ''", erased=("summary",)
            ),  # no task: it was erased
        ),
    ),
    ImmutableTable(
        "plans_matter",
        key_is_number=False,
        rules=(
            ColumnRule("kept", kept=("id", "created"), unlinked=("owner_id",)),
            ColumnRule("called", when="NEW.erased IS NULL", kept=("name",)),
            ColumnRule("taken_away", when="OLD.erased IS NOT NULL", kept=("name", "erased")),
        ),
    ),
    ImmutableTable(
        "plans_revision",
        unique=((("plan_id", "number"), ""),),
        run="OLD.plan_id",
        rules=(
            ColumnRule(
                "kept",
                kept=("id", "plan_id", "number", "cause", "cause_step", "by_name", "made"),
                once=("places",),
                erased=("notes",),
            ),
            ColumnRule(
                "planned",
                when="OLD.planned IS NOT NULL",
                kept=("call_id", "planned"),
                erased=("thought", "questions"),
            ),
        ),
    ),
    ImmutableTable(
        "plans_step",
        key_is_number=False,
        unique=((("plan_id", "number"), ""),),
        run="OLD.plan_id",
        rules=(
            ColumnRule("kept", kept=("id", "plan_id", "number", "first_in"), once=("last_in",)),
            ColumnRule(
                "begun",
                when="OLD.began IS NOT NULL",
                kept=("agent_id", "tools", "tools_due", "needs", "effect", "began"),
            ),
        ),
    ),
    ImmutableTable(
        "plans_stepstate",
        unique=((("step_id", "number"), ""),),
        run=_OF_STEP,
        rules=(
            ColumnRule(
                "kept",
                kept=("id", "step_id", "number", "status", "event", "series", "by_name", "held", "made"),
                unlinked=("by_user_id",),
                erased=("why", "action"),
            ),
        ),
    ),
    ImmutableTable(
        "plans_move",
        unique=((("step_id", "series", "number"), ""),),
        run=_OF_STEP,
        rules=(
            ColumnRule(
                "kept",
                kept=("id", "step_id", "series", "number", "act", "tool", "call_id", "made"),
                erased=("thought", "arguments", "text"),
            ),
            ColumnRule(
                "settled",
                when="OLD.settled IS NOT NULL",
                kept=("tool_call_id", "refused", "settled"),
                erased=("result",),
            ),
        ),
    ),
    ImmutableTable(
        "plans_message",
        unique=((("plan_id", "number"), ""),),
        run="OLD.plan_id",
        rules=(
            ColumnRule(
                "kept",
                kept=("id", "plan_id", "number", "source", "by_name", "to_step", "made"),
                erased=("content",),
            ),
        ),
    ),
    ImmutableTable(
        "plans_teamversion",
        unique=((("team_id", "number"), ""),),
        rules=(
            ColumnRule(
                "kept",
                kept=(*("id", "team_id", "number", "name", "created", "description", "planner", "policy", "examples"),),
                unlinked=("author_id",),
            ),
        ),
    ),
    ImmutableTable("plans_teamagent", unique=((("version_id", "seat"), ""), (("version_id", "name"), ""))),
    ImmutableTable("plans_teamchange"),
)
GUARDS: ImmutableTables = {guard.table: guard for guard in _tables}
