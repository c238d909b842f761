"""Comparison of emails in the outbox with the tool calls that wrote them: the calls are sealed, the emails are
sent.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from uuid import UUID

from engine.db import cached_sql
from engine.models import Letter, ToolCall

DRAFTED, SENT = "mail.draft", "mail.send"
AS_DRAFTED = (Letter.State.DRAFT, Letter.State.KEPT)  # nobody has allowed that one leaves

Words = tuple[str, str, str]
"""To whom, the subject and the text."""


def misworded(runs: Sequence[UUID]) -> Iterator[tuple[UUID, str]]:
    """Yield the runs with an email that no tool call wrote in these words, each with a message. Redacted runs are left
    out.
    """
    if not cached_sql.exists(Letter, "run", list(runs)):
        return
    letters = Letter.objects.filter(run__in=list(runs), run__redacted=None).order_by("pk")
    written = list(_calls(runs))
    for letter in letters:
        run = UUID(str(letter.run_id))
        call = next((one for one in written if _is_of(letter, one)), None)
        if call is None:
            yield run, f"Its {letter} is not what was written with a tool."
        else:
            written.remove(call)
            if call.tool == DRAFTED and letter.state not in AS_DRAFTED:
                yield run, f"Its {letter} was a draft, and is said to leave."


def is_changed(letter: Letter) -> bool:
    """Whether an email differs from each tool call of its run that sends one. Emails without a run are reminders."""
    if letter.run_id is None:
        return False
    return not any(one.tool == SENT and _is_of(letter, one) for one in _calls([letter.run_id]))


def _calls(runs: Sequence[UUID]) -> Iterator[ToolCall]:
    return (
        ToolCall.objects.filter(run__in=list(runs), tool__in=(DRAFTED, SENT), status="done").order_by("pk").iterator()
    )


def _is_of(letter: Letter, call: ToolCall) -> bool:
    """Whether the call wrote the email. Older emails have no step."""
    here = call.run_id == letter.run_id and letter.step in ("", call.step)
    return here and _words_of(call.arguments) == (letter.to, letter.subject, letter.text)


def _words_of(arguments: str) -> Words | None:
    with suppress(ValueError, KeyError, TypeError):
        said = json.loads(arguments)
        return ", ".join(said["to"]), said["subject"], said["text"]
    return None
