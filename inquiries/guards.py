"""What may still happen to the rows of inquiries: see `engine/ledger/immutability.py`."""

from engine.ledger.immutability import ColumnRule, ImmutableTable, ImmutableTables

_ASKED = (
    *("run_id", "limits", "retry_limit", "web", "hosts", "collections", "follows_id", "roster_version_id"),
    "prompt_version",
)
_OF_CLAIM = "(SELECT inquiry_id FROM inquiries_claim WHERE id = OLD.claim_id)"

_tables = (
    ImmutableTable(
        "inquiries_inquiry",
        key="run_id",
        key_is_number=False,
        run="OLD.run_id",
        rules=(
            ColumnRule("kept", kept=_ASKED, erased=("question",)),
            # each by itself, or what is left of an erased answer could be written anew; no question: it was erased
            *(
                ColumnRule(f"{text}_said", when=f"OLD.{text} <> '' OR OLD.question = ''", erased=(text,))
                for text in ("answer", "trace", "why")
            ),
        ),
    ),
    ImmutableTable("inquiries_post", unique=((("inquiry_id", "name"), ""),)),
    ImmutableTable(
        "inquiries_order",
        unique=((("inquiry_id", "number"), ""),),
        run="OLD.inquiry_id",
        rules=(
            ColumnRule(
                "kept",
                kept=(
                    *("id", "inquiry_id", "number", "kind", "station", "place", "step_id", "counts", "decision"),
                    *("category", "error_code", "by_name", "call_id", "gate_id", "made"),
                ),
                erased=("instruction", "reply", "feedback", "error"),
            ),
        ),
    ),
    ImmutableTable(
        "inquiries_move",
        unique=((("inquiry_id", "place", "number"), ""),),
        run="OLD.inquiry_id",
        rules=(
            ColumnRule(
                "kept",
                kept=("id", "inquiry_id", "place", "number", "attempt", "tool", "call_id", "made"),
                erased=("thought", "arguments", "done", "refused"),
            ),
            ColumnRule("settled", when="OLD.settled IS NOT NULL", kept=("tool_call_id", "settled"), erased=("result",)),
        ),
    ),
    ImmutableTable(
        "inquiries_source",
        unique=((("inquiry_id", "number"), ""),),
        run="OLD.inquiry_id",
        rules=(
            ColumnRule(
                "kept",
                kept=(
                    *("id", "inquiry_id", "number", "kind", "document_id", "tool_call_id", "type", "extractor"),
                    *("flags", "length", "made"),
                ),
                erased=("title", "asked", "address", "bytes_digest", "text_digest", "read"),
            ),
        ),
    ),
    ImmutableTable(
        "inquiries_claim",
        unique=((("inquiry_id", "number"), ""),),
        run="OLD.inquiry_id",
        rules=(
            ColumnRule(
                "kept",
                kept=("id", "inquiry_id", "order_id", "number", "reasoned_from", "bare", "made"),
                erased=("text",),
            ),
        ),
    ),
    ImmutableTable(
        "inquiries_quote",
        run=_OF_CLAIM,
        rules=(ColumnRule("kept", kept=("id", "claim_id", "source_id", "parts"), erased=("text",)),),
    ),
    ImmutableTable(
        "inquiries_rosterversion",
        unique=((("roster_id", "number"), ""),),
        rules=(
            ColumnRule(
                "kept",
                kept=("id", "roster_id", "number", "name", "created", "about", "posts"),
                unlinked=("author_id",),
            ),
        ),
    ),
    ImmutableTable("inquiries_rosterchange"),
)
GUARDS: ImmutableTables = {guard.table: guard for guard in _tables}
