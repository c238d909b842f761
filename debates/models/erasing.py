"""Emptying the texts of a debate, in the transaction of a redaction."""

from uuid import UUID

from .debates import Debate
from .members import Member, Option
from .talk import FirstVerdict, Message, Point, Steer, Turn


def erase(pk: UUID) -> None:
    """All texts that somebody wrote; who sat where, options, verdicts, changes, numbers and times stay."""
    Debate.objects.filter(pk=pk).update(question="", seed_word="")
    Option.objects.filter(debate=pk).update(meaning="")
    Member.objects.filter(debate=pk).update(who="")
    FirstVerdict.objects.filter(member__debate=pk).update(reasoning="")
    Turn.objects.filter(debate=pk).update(reason_skipped="")
    Point.objects.filter(message__debate=pk).update(claim="")
    Message.objects.filter(debate=pk).update(content="", reasoning="", artifact="", request="")
    Steer.objects.filter(debate=pk).update(text="", reasoning="", request="")
