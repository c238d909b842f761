"""What may still happen to the rows of judgements: see `engine/evidence/guards.py`."""

from engine.evidence.guards import Guard, Guards, Rule

_tables = (
    Guard(
        "judgements_judgement",
        key="run_id",
        key_is_number=False,
        run="OLD.run_id",
        rules=(
            Rule(
                "kept",
                kept=("run_id", "council_version_id", "earlier_id", "prompt_version"),
                erased=("content",),
            ),
        ),
    ),
    Guard("judgements_agent", unique=((("judgement_id", "seat"), ""),)),
    Guard(
        "judgements_rounddecision",
        unique=((("agent_id", "round"), ""), (("call_id",), "")),
        run="(SELECT judgement_id FROM judgements_agent WHERE id = OLD.agent_id)",
        rules=(Rule("kept", kept=("id", "agent_id", "round", "decision", "call_id", "created"), erased=("reason",)),),
    ),
    Guard(
        "judgements_receipt",
        key_is_number=False,
        rules=(
            Rule(
                "kept",
                kept=(
                    *("id", "judgement_id", "audience", "by", "issued", "expires", "issue_entry"),
                    *("agents_sha256", "rehearsal"),
                ),
            ),
            Rule("used", when="OLD.consumed IS NOT NULL", kept=("consumed", "consumed_by", "expected", "use_entry")),
        ),
    ),
    Guard(
        "judgements_councilversion",
        unique=((("council_id", "number"), ""),),
        rules=(Rule("kept", kept=("id", "council_id", "number", "name", "created"), unlinked=("author_id",)),),
    ),
    Guard("judgements_member", unique=((("version_id", "seat"), ""),)),
    Guard("judgements_councilchange"),
    Guard("judgements_earliercouncilname", unique=((("name",), ""),)),
)
GUARDS: Guards = {guard.table: guard for guard in _tables}
