"""Common parts of the office's tools: types of arguments, look-up of rows, and lists."""

from collections.abc import Callable, Iterable
from datetime import UTC, date, datetime
from typing import Annotated, Any, TypeVar

from django.db.models import Q, QuerySet
from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from engine.tools import ToolRefused, schema_title
from office.models import LONG_LENGTH, NAME_LENGTH, Person

R = TypeVar("R")

LISTED = 20
LONGEST_TEXT = 20_000


class OfficeToolArguments(BaseModel):
    model_config = ConfigDict(extra="forbid", model_title_generator=schema_title)


def _in_utc(moment: datetime) -> datetime:
    try:
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except OverflowError as error:
        raise ValueError("no calendar goes so far") from error


Moment = Annotated[datetime, AfterValidator(_in_utc)]
Name = Annotated[str, Field(min_length=1, max_length=NAME_LENGTH)]
Note = Annotated[str, Field(max_length=NAME_LENGTH)]
Long = Annotated[str, Field(min_length=1, max_length=LONG_LENGTH)]
Text = Annotated[str, Field(max_length=LONGEST_TEXT)]
Who = Annotated[str, Field(min_length=1, max_length=254, description="number, mail address or whole name of a person")]
Query = Annotated[str, Field(max_length=LONG_LENGTH, description="words to be found; empty: all")]


def person(who: str) -> Person:
    """Find a person by number, mail address or full name. Raises ToolRefused if there is none, or several."""
    named = Q(mail__iexact=who) | Q(name__iexact=who)
    found = list(Person.objects.filter(named | Q(pk=int(who)) if _is_number(who) else named)[: LISTED + 1])
    if len(found) == 1:
        return found[0]
    if found:
        raise ToolRefused(f"{len(found)} people are called {who}: {_some(found, lambda one: f'{one.pk} {one.mail}')}.")
    near = list(Person.objects.found(who)[:5]) or list(Person.objects.found(who.strip().partition(" ")[0])[:5])
    hint = f" Did you mean {_some(near, lambda one: f'{one.name} ({one.mail})')}?" if near else ""
    raise ToolRefused(f"Nobody is called {who}.{hint}")


def people(names: Iterable[str]) -> list[Person]:
    """Return these people without duplicates, by key."""
    return sorted({person(name) for name in names}, key=lambda one: one.pk)


def row_by_number(rows: QuerySet[Any], number: int, noun: str) -> Any:
    """Return the row with this number, locked until the transaction ends. Raises ToolRefused if there is none."""
    found = rows.select_for_update().filter(pk=number).first()
    if found is None:
        raise ToolRefused(f"There is no {noun} {number}.")
    return found


def format_list(rows: QuerySet[Any], line: Callable[[Any], str], nothing: str) -> str:
    """Return a line for each of the first LISTED rows, and the number of further ones."""
    found = list(rows[: LISTED + 1])
    more = rows.count() - LISTED if len(found) > LISTED else 0
    lines = [line(row) for row in found[:LISTED]]
    return "\n".join([*lines, *([f"and {more} more: ask for less"] if more else [])]) or nothing


def apply_changes(row: Any, asked: OfficeToolArguments, *columns: str) -> list[str]:
    """Set the columns that have a value in the arguments; return their names. Raises ToolRefused if there are none."""
    given = [column for column in columns if getattr(asked, column) is not None]
    if not given:
        raise ToolRefused("Nothing is asked to be changed.")
    for column in given:
        setattr(row, column, getattr(asked, column))
    return given


def day(value: date | None) -> str:
    return f"{value:%Y-%m-%d}" if value else ""


def moment(value: datetime) -> str:
    return f"{value:%a %Y-%m-%d %H:%M}"


def joined_fields(*parts: object) -> str:
    return " · ".join(str(part) for part in parts if part)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 19


def _some(rows: Iterable[R], name: Callable[[R], str]) -> str:
    return ", ".join(name(row) for row in rows)
