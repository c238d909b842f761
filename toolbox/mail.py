"""Email tools. They write into the outbox; a worker delivers from there.

Why so: engine/DESIGN.md, Tools.
"""

from functools import partial

from django.conf import settings
from pydantic import BaseModel, ConfigDict, Field, field_validator

from engine.models import Effect, Letter
from engine.models.emails import SUBJECT_LENGTH, address_complaint, subject_complaint
from engine.tools import Tool, ToolUse, exact_arguments

MOST_RECIPIENTS, LONGEST = 20, 20_000
NAMED = 2  # recipients in a gate's title
NO_SERVER_TEXT = "kept, not sent: no mail server"


class EmailArguments(BaseModel):
    model_config = ConfigDict(title="NewLetter", extra="forbid")

    to: list[str] = Field(min_length=1, max_length=MOST_RECIPIENTS, description="mail addresses")
    subject: str = Field(min_length=1, max_length=SUBJECT_LENGTH)
    text: str = Field(min_length=1, max_length=LONGEST)

    @field_validator("to")
    @classmethod
    def _addresses(cls, given: list[str]) -> list[str]:
        if complaint := next(filter(None, map(address_complaint, given)), ""):
            raise ValueError(complaint)
        return list(dict.fromkeys(given))

    @field_validator("subject")
    @classmethod
    def _as_it_is_read(cls, given: str) -> str:
        subject = given.strip(" ")  # mail programs do not show outer spaces, so the approved text has none
        if complaint := subject_complaint(subject):
            raise ValueError(complaint)
        if not subject:
            raise ValueError("the subject is empty: write one")
        return subject

    @field_validator("text")
    @classmethod
    def _lines(cls, given: str) -> str:
        """Normalise line ends: mail programs also break lines at a lone carriage return."""
        return given.replace("\r\n", "\n").replace("\r", "\n")


def known_recipients(addresses: list[str]) -> str:
    more = len(addresses) - NAMED
    return f"{', '.join(addresses[:NAMED])} and {more} more" if more > 0 else " and ".join(addresses)


def draft_email(letter: EmailArguments, use: ToolUse) -> str:
    kept = Letter.objects.write(Letter.State.DRAFT, use.run.pk, letter.to, letter.subject, letter.text, step=use.step)
    return f"Draft {kept.pk} is in the outbox. Nothing was sent."


def send_email(letter: EmailArguments, use: ToolUse) -> str:
    """Put the email into the outbox; it is delivered after this transaction."""
    state = Letter.State.TO_SEND if settings.EMAIL_URL else Letter.State.KEPT
    error = "" if settings.EMAIL_URL else "No mail server."
    kept = Letter.objects.write(state, use.run.pk, letter.to, letter.subject, letter.text, error=error, step=use.step)
    said = "is about to be sent" if settings.EMAIL_URL else f"is in the outbox: {NO_SERVER_TEXT}"
    return f"Letter {kept.pk} to {', '.join(letter.to)} {said}."


TOOLS = (
    Tool(
        "mail.draft",
        "Writes a letter into the outbox without sending it.",
        EmailArguments,
        Effect.WRITES,
        change=draft_email,
        exact=partial(exact_arguments, last="text"),
        deed=lambda letter: f"Draft a letter to {known_recipients(letter.to)}",
    ),
    Tool(
        "mail.send",
        "Sends a letter by mail to people.",
        EmailArguments,
        Effect.REACHES_OUT,
        change=send_email,
        exact=partial(exact_arguments, last="text"),
        deed=lambda letter: f"Send a letter to {known_recipients(letter.to)}",
    ),
)
