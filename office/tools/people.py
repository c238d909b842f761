from datetime import date

from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from pydantic import field_validator

from engine.models import Effect
from engine.tools import Refused, Tool, Use
from office.models import Person

from .asked import Arguments, Name, Note, Query, Who, changed, day, joined, listed, person


class Find(Arguments):
    query: Query = ""


class Details(Arguments):
    mail: str | None = None
    role: Note | None = None
    unit: Note | None = None
    manager: Who | None = None
    start: date | None = None

    @field_validator("mail")
    @classmethod
    def _an_address(cls, given: str | None) -> str | None:
        try:
            validate_email(given) if given is not None else None
        except ValidationError as error:
            raise ValueError(f"{given} is no mail address") from error
        return given


class Add(Details):
    name: Name
    mail: str


class Change(Details):
    who: Who
    name: Name | None = None


def find(asked: Find, use: Use) -> str:
    return listed(Person.objects.found(asked.query).select_related("manager"), line, "Nobody is found by these words.")


def line(one: Person) -> str:
    manager = f"manager {one.manager}" if one.manager else ""
    return joined(
        f"{one.pk} {one.name}", one.mail, one.role, one.unit, manager, one.start and f"since {day(one.start)}"
    )


def add(asked: Add, use: Use) -> str:
    _refuse_taken(asked.mail)
    given = {"name": asked.name, "mail": asked.mail, "role": asked.role or "", "unit": asked.unit or ""}
    manager = person(asked.manager) if asked.manager else None
    added = Person.objects.create(**given, manager=manager, start=asked.start)
    return f"Person {added.pk} was added: {line(added)}"


def change(asked: Change, use: Use) -> str:
    one = Person.objects.select_for_update().get(pk=person(asked.who).pk)
    manager = person(asked.manager) if asked.manager else None
    if manager == one:
        raise Refused(f"{one} cannot be their own manager.")
    if asked.mail and asked.mail.lower() != one.mail.lower():
        _refuse_taken(asked.mail)
    given = changed(
        one, asked.model_copy(update={"manager": manager}), "name", "mail", "role", "unit", "manager", "start"
    )
    one.save()
    return f"Person {one.pk} was changed ({', '.join(given)}): {line(one)}"


def _refuse_taken(mail: str) -> None:
    if there := Person.objects.filter(mail__iexact=mail).first():
        raise Refused(f"{mail} belongs to {there.name}, person {there.pk}.")


TOOLS = (
    Tool("people.find", "Finds people by words of name, mail, role or unit.", Find, Effect.READS, change=find),
    Tool(
        "people.add",
        "Adds a person.",
        Add,
        Effect.WRITES,
        change=add,
        deed=lambda asked: f"Enter {asked.name} ({asked.mail})",
    ),
    Tool(
        "people.change",
        "Changes what is known of a person.",
        Change,
        Effect.WRITES,
        change=change,
        deed=lambda asked: f"Change what is known of {asked.who}",
    ),
)
