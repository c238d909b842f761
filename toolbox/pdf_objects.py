"""Values of a PDF, whatever stands in their place. For `pdf.py`, in its child process."""

from collections.abc import Sequence

from pypdf.generic import ArrayObject, ByteStringObject, DictionaryObject, NullObject, StreamObject, TextStringObject

DEEPEST = 32  # of what names what is above it: a circle has an end, too
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
    """A text in one line; a name without its slash; empty for all else."""
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
    """Around these points, whose numbers follow each other."""
    across, up = corners[0::2], corners[1::2]
    return (min(across), min(up), max(across), max(up)) if len(corners) >= 4 and len(corners) % 2 == 0 else None


def is_seen(annotation: DictionaryObject) -> bool:
    """Whether a reader sees it: neither hidden, nor only there to be printed."""
    return not flags(annotation.get("/F")) & (2 | 32)


def order(annotation: DictionaryObject) -> tuple[float, float]:
    """By rows from above, and from left to right in each."""
    around = box(numbers(annotation.get("/Rect"))) or (0.0, 0.0, 0.0, 0.0)
    return -round((around[1] + around[3]) / 2 / 8), around[0]
