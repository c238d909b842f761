"""Immutability guards for the rows of debates: see `engine/ledger/immutability.py`."""

from engine.ledger.immutability import ColumnRule, ImmutableTable, ImmutableTables

_OF_MEMBER = "(SELECT debate_id FROM debates_member WHERE id = OLD.member_id)"
_OF_MESSAGE = "(SELECT debate_id FROM debates_message WHERE id = OLD.message_id)"
_STATED = ("verdict_id", "abstained")

_tables = (
    ImmutableTable(
        "debates_debate",
        key="run_id",
        key_is_number=False,
        run="OLD.run_id",
        rules=(
            ColumnRule(
                "kept",
                kept=(
                    *("run_id", "panel_version_id", "earlier_id", "rule", "most", "until", "reply_within"),
                    *("reply", "call", "challenge", "first", "free_floor", "advisory", "view"),
                    *("seed", "seed_random", "boundary", "prompt_version"),
                ),
                erased=("question", "seed_word"),
            ),
            ColumnRule("closing", when="OLD.ended_because <> ''", kept=("ended_because",)),
            ColumnRule("ended", when="OLD.no_decision <> ''", kept=("no_decision",)),
        ),
    ),
    ImmutableTable(
        "debates_option",
        unique=((("debate_id", "number"), ""), (("debate_id", "word"), "")),
        run="OLD.debate_id",
        rules=(ColumnRule("kept", kept=("id", "debate_id", "number", "word", "direction"), erased=("meaning",)),),
    ),
    ImmutableTable(
        "debates_member",
        unique=((("debate_id", "seat"), ""), (("debate_id", "name"), "")),
        run="OLD.debate_id",
        rules=(
            ColumnRule(
                "kept",
                kept=("id", "debate_id", "seat", "kind", "name", "model", "fallback", "user_name"),
                unlinked=("user_id",),
                erased=("who",),
            ),
        ),
    ),
    ImmutableTable(
        "debates_firstverdict",
        unique=((("member_id",), ""),),
        run=_OF_MEMBER,
        rules=(
            ColumnRule(
                "kept",
                kept=("id", "member_id", "confidence", "missing", "call_id", "made", *_STATED),
                erased=("reasoning",),
            ),
        ),
    ),
    ImmutableTable(
        "debates_turn",
        unique=((("debate_id", "number"), ""),),
        run="OLD.debate_id",
        rules=(
            ColumnRule(
                "kept",
                kept=(
                    *("id", "debate_id", "number", "member_id", "why", "after", "asked_by", "steer"),
                    *("weights", "ticket", "series", "made"),
                ),
            ),
            ColumnRule("closed", when="OLD.state <> 'open'", kept=("state", "closed"), erased=("reason_skipped",)),
        ),
    ),
    ImmutableTable(
        "debates_message",
        unique=((("debate_id", "number"), ""),),
        run="OLD.debate_id",
        rules=(
            ColumnRule(
                "kept",
                kept=(
                    *("id", "debate_id", "number", "clock", "kind", "turn_id", "member_id", "by_name", "note", "after"),
                    *("facts", "claim", "speaking_to", "expects_answer", "moved_by", "withdrawn", "continues", "heard"),
                    *("cut", "calls", "made", "names_option", *_STATED),
                ),
                unlinked=("by_id",),
                erased=("content", "reasoning", "artifact", "request"),
            ),
        ),
    ),
    ImmutableTable(
        "debates_point",
        unique=((("message_id", "number"), ""),),
        run=_OF_MESSAGE,
        rules=(
            ColumnRule(
                "kept",
                kept=("id", "message_id", "number", "option", "side", "document", "line", "answers"),
                erased=("claim",),
            ),
        ),
    ),
    ImmutableTable(
        "debates_steer",
        unique=((("debate_id", "number"), ""),),
        run="OLD.debate_id",
        rules=(
            ColumnRule(
                "kept",
                kept=("id", "debate_id", "number", "by_name", "act", "member_id", "amount", "after", "made", *_STATED),
                once=("done",),
                unlinked=("by_id",),
                erased=("text", "reasoning", "request"),
            ),
        ),
    ),
    ImmutableTable(
        "debates_panelversion",
        unique=((("panel_id", "number"), ""),),
        rules=(
            ColumnRule(
                "kept",
                kept=(
                    *("id", "panel_id", "number", "name", "created", "rule", "timekeeper", "view", "most"),
                    *("reply_within", "first", "reply", "call", "challenge", "free_floor", "advisory"),
                ),
                unlinked=("author_id",),
            ),
        ),
    ),
    ImmutableTable("debates_panelseat", unique=((("version_id", "seat"), ""), (("version_id", "name"), ""))),
    ImmutableTable("debates_paneloption", unique=((("version_id", "number"), ""), (("version_id", "word"), ""))),
    ImmutableTable("debates_panelchange"),
)
GUARDS: ImmutableTables = {guard.table: guard for guard in _tables}
