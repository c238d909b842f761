"""What may still happen to the rows of debates: see `engine/evidence/guards.py`."""

from engine.evidence.guards import Guard, Guards, Rule

_OF_MEMBER = "(SELECT debate_id FROM debates_member WHERE id = OLD.member_id)"
_OF_MESSAGE = "(SELECT debate_id FROM debates_message WHERE id = OLD.message_id)"
_STATED = ("verdict_id", "abstained")

_tables = (
    Guard(
        "debates_debate",
        key="run_id",
        key_is_number=False,
        run="OLD.run_id",
        rules=(
            Rule(
                "kept",
                kept=(
                    *("run_id", "panel_version_id", "earlier_id", "rule", "most", "until", "reply_within"),
                    *("reply", "call", "challenge", "first", "free_floor", "advisory", "view"),
                    *("seed", "seed_random", "boundary", "prompt_version"),
                ),
                erased=("question", "seed_word"),
            ),
            Rule("closing", when="OLD.ended_because <> ''", kept=("ended_because",)),
            Rule("ended", when="OLD.no_decision <> ''", kept=("no_decision",)),
        ),
    ),
    Guard(
        "debates_option",
        unique=((("debate_id", "number"), ""), (("debate_id", "word"), "")),
        run="OLD.debate_id",
        rules=(Rule("kept", kept=("id", "debate_id", "number", "word", "direction"), erased=("meaning",)),),
    ),
    Guard(
        "debates_member",
        unique=((("debate_id", "seat"), ""), (("debate_id", "name"), "")),
        run="OLD.debate_id",
        rules=(
            Rule(
                "kept",
                kept=("id", "debate_id", "seat", "kind", "name", "model", "fallback", "user_name"),
                unlinked=("user_id",),
                erased=("who",),
            ),
        ),
    ),
    Guard(
        "debates_firstverdict",
        unique=((("member_id",), ""),),
        run=_OF_MEMBER,
        rules=(
            Rule(
                "kept",
                kept=("id", "member_id", "confidence", "missing", "call_id", "made", *_STATED),
                erased=("reasoning",),
            ),
        ),
    ),
    Guard(
        "debates_turn",
        unique=((("debate_id", "number"), ""),),
        run="OLD.debate_id",
        rules=(
            Rule(
                "kept",
                kept=(
                    *("id", "debate_id", "number", "member_id", "why", "after", "asked_by", "steer"),
                    *("weights", "ticket", "series", "made"),
                ),
            ),
            Rule("closed", when="OLD.state <> 'open'", kept=("state", "closed"), erased=("reason_skipped",)),
        ),
    ),
    Guard(
        "debates_message",
        unique=((("debate_id", "number"), ""),),
        run="OLD.debate_id",
        rules=(
            Rule(
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
    Guard(
        "debates_point",
        unique=((("message_id", "number"), ""),),
        run=_OF_MESSAGE,
        rules=(
            Rule(
                "kept",
                kept=("id", "message_id", "number", "option", "side", "document", "line", "answers"),
                erased=("claim",),
            ),
        ),
    ),
    Guard(
        "debates_steer",
        unique=((("debate_id", "number"), ""),),
        run="OLD.debate_id",
        rules=(
            Rule(
                "kept",
                kept=("id", "debate_id", "number", "by_name", "act", "member_id", "amount", "after", "made", *_STATED),
                once=("done",),
                unlinked=("by_id",),
                erased=("text", "reasoning", "request"),
            ),
        ),
    ),
    Guard(
        "debates_panelversion",
        unique=((("panel_id", "number"), ""),),
        rules=(
            Rule(
                "kept",
                kept=(
                    *("id", "panel_id", "number", "name", "created", "rule", "timekeeper", "view", "most"),
                    *("reply_within", "first", "reply", "call", "challenge", "free_floor", "advisory"),
                ),
                unlinked=("author_id",),
            ),
        ),
    ),
    Guard("debates_panelseat", unique=((("version_id", "seat"), ""), (("version_id", "name"), ""))),
    Guard("debates_paneloption", unique=((("version_id", "number"), ""), (("version_id", "word"), ""))),
    Guard("debates_panelchange"),
)
GUARDS: Guards = {guard.table: guard for guard in _tables}
