"""A strict JSON parser (RFC 8259). It refuses what two parsers may read differently, such as duplicate names."""

import json
import math
from collections import Counter
from typing import Any, NoReturn


class InvalidJson(ValueError):
    """The message is a sentence for the caller."""


def loads(body: bytes) -> Any:
    try:
        return json.loads(
            body.decode(),
            object_pairs_hook=dict_without_duplicates,
            parse_constant=_refuse_constant,
            parse_float=_number,
        )
    except UnicodeDecodeError as error:
        raise InvalidJson(f"The body is not UTF-8 (byte {error.start + 1}).") from error
    except json.JSONDecodeError as error:
        raise InvalidJson(f"The body is not JSON: {error.msg} at line {error.lineno}, column {error.colno}.") from error
    except RecursionError as error:
        raise InvalidJson("The body is nested too deeply.") from error
    except InvalidJson:
        raise
    except ValueError as error:  # a whole number of thousands of digits
        raise InvalidJson("A number in the body is too large.") from error


def dict_without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = Counter(name for name, _ in pairs)  # linear time, for objects of 100,000 names
        twice = next(name for name, number in names.items() if number > 1)
        raise InvalidJson(f"An object in the body names {json.dumps(twice[:60])} twice.")
    return found


def _refuse_constant(name: str) -> NoReturn:
    raise InvalidJson(f"The body holds {name}, which JSON does not know.")


def _number(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise InvalidJson(f"The number {text[:30]} in the body is too large.")
    return number
