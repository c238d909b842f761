"""Tools for stock items and purchase requests. Totals are computed here, never by a model."""

from collections.abc import Sequence
from decimal import Decimal

from django.db.models import F
from pydantic import ConfigDict, Field

from engine.models import Effect
from engine.tools import Tool, ToolRefused, ToolUse
from office.models import Item, Request

from .arguments import Long, Note, OfficeToolArguments, Query, format_list, joined_fields

MOST = 1_000_000
MOST_IN_ALL = 1_000_000_000


class FindItemsArguments(OfficeToolArguments):
    model_config = ConfigDict(title="Find")

    query: Query = ""


class Book(OfficeToolArguments):
    item: Long = Field(description="its whole name")
    number: int = Field(ge=1, le=MOST)


class Line(OfficeToolArguments):
    what: Long
    number: int = Field(ge=1, le=MOST)
    price: Decimal | None = Field(
        default=None, ge=0, le=MOST, decimal_places=2, description="of one; without it that of the item of this name"
    )


class Ask(OfficeToolArguments):
    lines: list[Line] = Field(min_length=1, max_length=50)
    reason: str = Field(default="", max_length=200)
    asked_for: Note = ""


def find(asked: FindItemsArguments, use: ToolUse) -> str:
    return format_list(Item.objects.found(asked.query), line, "There is no such thing.")


def line(item: Item) -> str:
    return joined_fields(
        f"{item.pk} {item.name}", item.kind, f"{item.number} in stock", f"{item.price} each", item.place
    )


def book(asked: Book, use: ToolUse) -> str:
    item = _item(asked.item)
    if item is None:
        raise ToolRefused(f"There is no item named {asked.item}.")
    enough = Item.objects.filter(pk=item.pk, number__gte=asked.number)
    if not enough.update(number=F("number") - asked.number):
        item.refresh_from_db()
        raise ToolRefused(f"Only {item.number} of {item.name} are in stock, and {asked.number} are asked for.")
    item.refresh_from_db()
    return f"{asked.number} of {item.name} were booked; {item.number} are left."


def _item(name: str) -> Item | None:
    return Item.objects.filter(name__iexact=name).first()


def requests(asked: FindItemsArguments, use: ToolUse) -> str:
    return format_list(Request.objects.found(asked.query), request_line, "Nothing was asked for with these words.")


def request_line(request: Request) -> str:
    whom = request.asked_for and f"for {request.asked_for}"
    return joined_fields(f"{request.pk} {request.description}", f"{request.total} in all", whom, request.reason)


def ask(asked: Ask, use: ToolUse) -> str:
    lines = [{"what": one.what, "number": one.number, "price": str(_price(one))} for one in asked.lines]
    total = sum((_price(one) * one.number for one in asked.lines), Decimal(0))
    if total > MOST_IN_ALL:
        raise ToolRefused(f"That is {total:,} in all, and a request is of at most {MOST_IN_ALL:,}.")
    request = Request.objects.create(lines=lines, total=total, reason=asked.reason, asked_for=asked.asked_for)
    return f"Request {request.pk} was made: {request_line(request)}"


def _things(lines: Sequence[Line]) -> str:
    more = f" and {len(lines) - 1} more" if len(lines) > 1 else ""
    return f"{lines[0].number} of “{lines[0].what}”{more}"


def _price(asked: Line) -> Decimal:
    if asked.price is not None:
        return asked.price
    item = _item(asked.what)
    if item is None:
        raise ToolRefused(f"What does {asked.what} cost? There is no item of this name, so say the price of one.")
    return item.price


TOOLS = (
    Tool(
        "items.find",
        "Finds things in stock by words, with their number and price.",
        FindItemsArguments,
        Effect.READS,
        change=find,
    ),
    Tool(
        "items.book",
        "Takes a number of one thing out of the stock, never below nought.",
        Book,
        Effect.WRITES,
        change=book,
        deed=lambda asked: f"Take {asked.number} of “{asked.item}” out of the stock",
    ),
    Tool("purchases.find", "Finds requests to buy something.", FindItemsArguments, Effect.READS, change=requests),
    Tool(
        "purchases.request",
        "Asks to buy things; the sum is worked out.",
        Ask,
        Effect.WRITES,
        change=ask,
        deed=lambda asked: f"Ask to buy {_things(asked.lines)}",
    ),
)
