"""Calendar tools. An entry that clashes with another one of its people or place is refused."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, time, timedelta

from django.db.models import Q
from pydantic import ConfigDict, Field, model_validator

from engine.models import Effect
from engine.tools import Tool, ToolRefused, ToolUse
from office.models import CalendarEntry, Person

from .arguments import (
    Long,
    Moment,
    Note,
    OfficeToolArguments,
    Query,
    Who,
    format_list,
    joined_fields,
    moment,
    people,
    person,
    row_by_number,
)

LONGEST_SPAN = timedelta(days=92)
OPENS, CLOSES = time(9, tzinfo=UTC), time(17, tzinfo=UTC)
STEP = timedelta(minutes=15)
SLOTS = 5
SATURDAY = 5


class DateSpanArguments(OfficeToolArguments):
    start: Moment
    end: Moment

    @model_validator(mode="after")
    def _forward(self) -> "DateSpanArguments":
        if self.start >= self.end:
            raise ValueError("it has to end after its start")
        if self.end - self.start > LONGEST_SPAN:
            raise ValueError(f"it is longer than {LONGEST_SPAN.days} days")
        return self


class FindEntriesArguments(DateSpanArguments):
    model_config = ConfigDict(title="Find")

    query: Query = ""
    who: Who | None = None


class FreeSlotsArguments(DateSpanArguments):
    model_config = ConfigDict(title="Free")

    people: list[Who] = Field(min_length=1, max_length=20)
    minutes: int = Field(ge=15, le=480)


class AddEntryArguments(DateSpanArguments):
    model_config = ConfigDict(title="Add")

    title: Long
    people: list[Who] = Field(min_length=1, max_length=50)
    place: Note = ""


class MoveEntryArguments(DateSpanArguments):
    model_config = ConfigDict(title="Move")

    entry: int


def find(asked: FindEntriesArguments, use: ToolUse) -> str:
    entries = CalendarEntry.objects.between(asked.start, asked.end).found(asked.query)
    if asked.who:
        entries = entries.with_any([person(asked.who)])
    return format_list(entries.prefetch_related("people"), line, "Nothing is in the calendar there.")


def line(entry: CalendarEntry) -> str:
    names = ", ".join(one.name for one in entry.people.all())
    when = f"{moment(entry.start)} to {entry.end:%H:%M}"
    return joined_fields(f"{entry.pk} {entry.title}", when, entry.place, names)


# ---- free slots -------------------------------------------------------------------------------------------


def free(asked: FreeSlotsArguments, use: ToolUse) -> str:
    everybody, long = people(asked.people), timedelta(minutes=asked.minutes)
    taken = list(CalendarEntry.objects.between(asked.start, asked.end).with_any(everybody))
    slots = [slot for _, slot in zip(range(SLOTS), _slots(asked, long, taken), strict=False)]
    if not slots:
        return f"All of them have no {asked.minutes} minutes free there, Monday to Friday from 9 to 17 UTC."
    return "\n".join(f"{moment(slot)} to {slot + long:%H:%M} UTC" for slot in slots)


def _slots(asked: FreeSlotsArguments, long: timedelta, taken: Sequence[CalendarEntry]) -> Iterator[datetime]:
    """Yield free slots within working hours, in order and without overlaps. A taken slot is skipped to its end."""
    slot = _on_the_quarter(asked.start)
    while slot + long <= asked.end:
        opens = datetime.combine(slot.date(), OPENS)
        if slot < opens:
            slot = opens
        elif slot.weekday() >= SATURDAY or slot + long > datetime.combine(slot.date(), CLOSES):
            slot = opens + timedelta(days=1)
        elif ends := [entry.end for entry in taken if entry.start < slot + long and entry.end > slot]:
            slot = _on_the_quarter(max(ends).astimezone(UTC))
        else:
            yield slot
            slot += max(long, STEP)


def _on_the_quarter(value: datetime) -> datetime:
    over = timedelta(minutes=value.minute % 15, seconds=value.second, microseconds=value.microsecond)
    return value - over + (STEP if over else timedelta())


# ---- entries ----------------------------------------------------------------------------------------------


def add(asked: AddEntryArguments, use: ToolUse) -> str:
    everybody = people(asked.people)
    CalendarEntry.objects.lock()
    _refuse_clash(asked, everybody, asked.place)
    entry = CalendarEntry.objects.create(title=asked.title, start=asked.start, end=asked.end, place=asked.place)
    entry.people.set(everybody)
    return f"Entry {entry.pk} was added: {line(entry)}"


def move(asked: MoveEntryArguments, use: ToolUse) -> str:
    CalendarEntry.objects.lock()
    entry = row_by_number(CalendarEntry.objects.all(), asked.entry, "entry")
    _refuse_clash(asked, entry.people.all(), entry.place, but=entry)
    entry.start, entry.end = asked.start, asked.end
    entry.save()
    return f"Entry {entry.pk} was moved: {line(entry)}"


def _refuse_clash(
    asked: DateSpanArguments, everybody: Iterable[Person], place: str, but: CalendarEntry | None = None
) -> None:
    there = Q(people__in=everybody) | (Q(place__iexact=place) if place else Q(pk__in=[]))
    clashes = CalendarEntry.objects.between(asked.start, asked.end).filter(there).distinct()
    clashes = clashes.exclude(pk=but.pk) if but else clashes
    if found := "; ".join(line(entry) for entry in clashes.prefetch_related("people")[:3]):
        raise ToolRefused(f"It clashes with {found}. Nothing was changed.")


TOOLS = (
    Tool(
        "calendar.find",
        "Lists what is in the calendar between two moments.",
        FindEntriesArguments,
        Effect.READS,
        change=find,
    ),
    Tool(
        "calendar.free",
        "Finds the first slots in which several people are all free, Monday to Friday from 9 to 17 UTC.",
        FreeSlotsArguments,
        Effect.READS,
        change=free,
    ),
    Tool(
        "calendar.add",
        "Puts an entry with people and a place into the calendar. One that clashes is refused.",
        AddEntryArguments,
        Effect.WRITES,
        change=add,
        deed=lambda asked: f"Enter “{asked.title}” on {moment(asked.start)} UTC",
    ),
    Tool(
        "calendar.move",
        "Moves an entry of the calendar to another time.",
        MoveEntryArguments,
        Effect.WRITES,
        change=move,
        deed=lambda asked: f"Move entry {asked.entry} to {moment(asked.start)} UTC",
    ),
)
