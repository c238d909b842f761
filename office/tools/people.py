from datetime import date

from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from pydantic import ConfigDict, field_validator

from engine.models import Effect
from engine.tools import Tool, ToolRefused, ToolUse
from office.models import Person

from .arguments import (
    Name,
    Note,
    OfficeToolArguments,
    Query,
    Who,
    apply_changes,
    day,
    format_list,
    joined_fields,
    person,
)


class FindPeopleArguments(OfficeToolArguments):
    model_config = ConfigDict(title="Find")

    query: Query = ""


class PersonArguments(OfficeToolArguments):
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


class AddPersonArguments(PersonArguments):
    model_config = ConfigDict(title="Add")

    name: Name
    mail: str


class ChangePersonArguments(PersonArguments):
    model_config = ConfigDict(title="Change")

    who: Who
    name: Name | None = None


def find(asked: FindPeopleArguments, use: ToolUse) -> str:
    return format_list(
        Person.objects.found(asked.query).select_related("manager"), line, "Nobody is found by these words."
    )


def line(one: Person) -> str:
    manager = f"manager {one.manager}" if one.manager else ""
    return joined_fields(
        f"{one.pk} {one.name}", one.mail, one.role, one.unit, manager, one.start and f"since {day(one.start)}"
    )


def add(asked: AddPersonArguments, use: ToolUse) -> str:
    _refuse_taken(asked.mail)
    given = {"name": asked.name, "mail": asked.mail, "role": asked.role or "", "unit": asked.unit or ""}
    manager = person(asked.manager) if asked.manager else None
    added = Person.objects.create(**given, manager=manager, start=asked.start)
    return f"Person {added.pk} was added: {line(added)}"


def change(asked: ChangePersonArguments, use: ToolUse) -> str:
    one = Person.objects.select_for_update().get(pk=person(asked.who).pk)
    manager = person(asked.manager) if asked.manager else None
    if manager == one:
        raise ToolRefused(f"{one} cannot be their own manager.")
    if asked.mail and asked.mail.lower() != one.mail.lower():
        _refuse_taken(asked.mail)
    given = apply_changes(
        one, asked.model_copy(update={"manager": manager}), "name", "mail", "role", "unit", "manager", "start"
    )
    one.save()
    return f"Person {one.pk} was changed ({', '.join(given)}): {line(one)}"


def _refuse_taken(mail: str) -> None:
    if there := Person.objects.filter(mail__iexact=mail).first():
        raise ToolRefused(f"{mail} belongs to {there.name}, person {there.pk}.")


TOOLS = (
    Tool(
        "people.find",
        "Finds people by words of name, mail, role or unit.",
        FindPeopleArguments,
        Effect.READS,
        change=find,
    ),
    Tool(
        "people.add",
        "Adds a person.",
        AddPersonArguments,
        Effect.WRITES,
        change=add,
        deed=lambda asked: f"Enter {asked.name} ({asked.mail})",
    ),
    Tool(
        "people.change",
        "Changes what is known of a person.",
        ChangePersonArguments,
        Effect.WRITES,
        change=change,
        deed=lambda asked: f"Change what is known of {asked.who}",
    ),
)
