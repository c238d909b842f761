"""Typed access to values of a PDF, which may have any type. Part of `pdf_text.py`, which runs in a limited process."""

from collections.abc import Sequence

from pypdf.generic import ArrayObject, ByteStringObject, DictionaryObject, NullObject, StreamObject, TextStringObject

DEEPEST = 32  # parents or nested drawings that are followed; they may form a cycle
Box = tuple[float, float, float, float]  # left, bottom, right, top


def resolved(value: object) -> object:
    get = getattr(value, "get_object", None)
    found = get() if get else value
    return None if isinstance(found, NullObject) else found


def mapping(value: object) -> DictionaryObject:
    found = resolved(value)
    return found if isinstance(found, DictionaryObject) else DictionaryObject()


def listed(value: object) -> Sequence[object]:
    found = resolved(value)
    return found if isinstance(found, ArrayObject) else ()


def words(value: object) -> str:
    """Return a string, number or name (without its slash) as text in one line; empty for other types."""
    found = resolved(value)
    if isinstance(found, StreamObject):
        found = found.get_data()
    if isinstance(found, ByteStringObject | bytes):
        found = bytes(found).decode("utf-8", errors="replace")
    if isinstance(found, int | float) and not isinstance(found, bool):
        found = str(found)
    if not isinstance(found, str):
        return ""
    return " ".join((found if isinstance(found, TextStringObject) else found.removeprefix("/")).split())


def numbers(value: object) -> list[float]:
    found = [resolved(one) for one in listed(value)]
    return [float(one) for one in found if isinstance(one, int | float)]


def flags(value: object) -> int:
    found = resolved(value)
    return int(found) if isinstance(found, int | float) else 0


def box(corners: Sequence[float]) -> Box | None:
    """Return the bounding box of points, given as x, y, x, y ...; None if the count is wrong."""
    across, up = corners[0::2], corners[1::2]
    return (min(across), min(up), max(across), max(up)) if len(corners) >= 4 and len(corners) % 2 == 0 else None


def is_seen(annotation: DictionaryObject) -> bool:
    """Tell whether viewers show an annotation: it has neither the flag Hidden (2) nor NoView (32)."""
    return not flags(annotation.get("/F")) & (2 | 32)


def order(annotation: DictionaryObject) -> tuple[float, float]:
    """Return a sort key: by rows from the top, and from left to right within a row."""
    around = box(numbers(annotation.get("/Rect"))) or (0.0, 0.0, 0.0, 0.0)
    return -round((around[1] + around[3]) / 2 / 8), around[0]
