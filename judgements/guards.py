"""Immutability guards for the rows of judgements: see `engine/ledger/immutability.py`."""

from engine.ledger.immutability import ColumnRule, ImmutableTable, ImmutableTables

_tables = (
    ImmutableTable(
        "judgements_judgement",
        key="run_id",
        key_is_number=False,
        run="OLD.run_id",
        rules=(
            ColumnRule(
                "kept",
                kept=("run_id", "council_version_id", "earlier_id", "prompt_version"),
                erased=("content",),
            ),
        ),
    ),
    ImmutableTable("judgements_agent", unique=((("judgement_id", "seat"), ""),)),
    ImmutableTable(
        "judgements_rounddecision",
        unique=((("agent_id", "round"), ""), (("call_id",), "")),
        run="(SELECT judgement_id FROM judgements_agent WHERE id = OLD.agent_id)",
        rules=(
            ColumnRule("kept", kept=("id", "agent_id", "round", "decision", "call_id", "created"), erased=("reason",)),
        ),
    ),
    ImmutableTable(
        "judgements_receipt",
        key_is_number=False,
        rules=(
            ColumnRule(
                "kept",
                kept=(
                    *("id", "judgement_id", "audience", "by", "issued", "expires", "issue_entry"),
                    *("agents_sha256", "rehearsal"),
                ),
            ),
            ColumnRule(
                "used", when="OLD.consumed IS NOT NULL", kept=("consumed", "consumed_by", "expected", "use_entry")
            ),
        ),
    ),
    ImmutableTable(
        "judgements_councilversion",
        unique=((("council_id", "number"), ""),),
        rules=(ColumnRule("kept", kept=("id", "council_id", "number", "name", "created"), unlinked=("author_id",)),),
    ),
    ImmutableTable("judgements_member", unique=((("version_id", "seat"), ""),)),
    ImmutableTable("judgements_councilchange"),
    ImmutableTable("judgements_earliercouncilname", unique=((("name",), ""),)),
)
GUARDS: ImmutableTables = {guard.table: guard for guard in _tables}
