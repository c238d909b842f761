"""What may still happen to the rows of plans: see `engine/evidence/guards.py`."""

from engine.evidence.guards import Guard, Guards, Rule

_OF_STEP = "(SELECT plan_id FROM plans_step WHERE id = OLD.step_id)"

_tables = (
    Guard(
        "plans_plan",
        key="run_id",
        key_is_number=False,
        run="OLD.run_id",
        rules=(
            Rule(
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
            Rule("stopped", when="OLD.stopped", kept=("stopped",)),
            Rule("summed_up", when="OLD.summary <> '' OR OLD.task = ''", erased=("summary",)),  # no task: it was erased
        ),
    ),
    Guard(
        "plans_matter",
        key_is_number=False,
        rules=(
            Rule("kept", kept=("id", "created"), unlinked=("owner_id",)),
            Rule("called", when="NEW.erased IS NULL", kept=("name",)),
            Rule("taken_away", when="OLD.erased IS NOT NULL", kept=("name", "erased")),
        ),
    ),
    Guard(
        "plans_revision",
        unique=((("plan_id", "number"), ""),),
        run="OLD.plan_id",
        rules=(
            Rule(
                "kept",
                kept=("id", "plan_id", "number", "cause", "cause_step", "by_name", "made"),
                once=("places",),
                erased=("notes",),
            ),
            Rule(
                "planned",
                when="OLD.planned IS NOT NULL",
                kept=("call_id", "planned"),
                erased=("thought", "questions"),
            ),
        ),
    ),
    Guard(
        "plans_step",
        key_is_number=False,
        unique=((("plan_id", "number"), ""),),
        run="OLD.plan_id",
        rules=(
            Rule("kept", kept=("id", "plan_id", "number", "first_in"), once=("last_in",)),
            Rule(
                "begun",
                when="OLD.began IS NOT NULL",
                kept=("agent_id", "tools", "tools_due", "needs", "effect", "began"),
            ),
        ),
    ),
    Guard(
        "plans_stepstate",
        unique=((("step_id", "number"), ""),),
        run=_OF_STEP,
        rules=(
            Rule(
                "kept",
                kept=("id", "step_id", "number", "status", "event", "series", "by_name", "held", "made"),
                unlinked=("by_user_id",),
                erased=("why", "action"),
            ),
        ),
    ),
    Guard(
        "plans_move",
        unique=((("step_id", "series", "number"), ""),),
        run=_OF_STEP,
        rules=(
            Rule(
                "kept",
                kept=("id", "step_id", "series", "number", "act", "tool", "call_id", "made"),
                erased=("thought", "arguments", "text"),
            ),
            Rule(
                "settled",
                when="OLD.settled IS NOT NULL",
                kept=("tool_call_id", "refused", "settled"),
                erased=("result",),
            ),
        ),
    ),
    Guard(
        "plans_message",
        unique=((("plan_id", "number"), ""),),
        run="OLD.plan_id",
        rules=(
            Rule(
                "kept",
                kept=("id", "plan_id", "number", "source", "by_name", "to_step", "made"),
                erased=("content",),
            ),
        ),
    ),
    Guard(
        "plans_teamversion",
        unique=((("team_id", "number"), ""),),
        rules=(
            Rule(
                "kept",
                kept=(*("id", "team_id", "number", "name", "created", "description", "planner", "policy", "examples"),),
                unlinked=("author_id",),
            ),
        ),
    ),
    Guard("plans_teamagent", unique=((("version_id", "seat"), ""), (("version_id", "name"), ""))),
    Guard("plans_teamchange"),
)
GUARDS: Guards = {guard.table: guard for guard in _tables}
