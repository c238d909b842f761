"""Argument models from the JSON schemas of servers, with the interface of our own tools' models."""

import json
from collections.abc import Iterator
from functools import lru_cache, partial
from itertools import count, islice
from typing import Any, Self

from pydantic import BaseModel, RootModel, model_validator

from .dialects import modern

REFERENCES = 2_000
MAX_STEPS = 100_000  # keywords per validation
MAX_PROBLEMS = 5  # problems are reported at once, out of the first CHECKED_KEYWORDS
CHECKED_KEYWORDS = 50
REF_KEYWORDS = ("$ref", "$dynamicRef")
IGNORED_KEYWORDS = ("pattern", "patternProperties", "format")  # an untrusted pattern may take forever


@lru_cache(maxsize=512)
def model_from_schema(text: str) -> type[BaseModel]:
    """Return the argument model for a JSON schema."""
    schema = json.loads(text)
    held_against = modern(schema)

    class Arguments(RootModel[dict[str, Any]]):
        @classmethod
        def model_json_schema(cls, *_: Any, **__: Any) -> dict[str, Any]:
            return schema

        @model_validator(mode="after")
        def _fits(self) -> Self:
            if wrong := argument_problems(held_against, self.root):
                raise ValueError("; ".join(wrong))
            return self

    return Arguments


def _of_no_dialect(part: Any) -> Any:
    """Return the schema without `$schema`: such a part would be validated by the library's own rules instead of
    ours.
    """
    if isinstance(part, list):
        return [_of_no_dialect(one) for one in part]
    if not isinstance(part, dict):
        return part
    kept = ((key, one) for key, one in part.items() if not (key == "$schema" and isinstance(one, str)))
    return {key: _of_no_dialect(one) for key, one in kept}


def argument_problems(schema: dict[str, Any], arguments: dict[str, Any]) -> list[str]:
    # here, as only who has a server needs them
    from jsonschema.exceptions import _WrappedReferencingError
    from referencing import Registry

    known: dict[str, Any] = {"registry": Registry()}  # of schemas, which fetches nothing
    try:
        first = islice(_validator()(_of_no_dialect(schema), **known).iter_errors(arguments), CHECKED_KEYWORDS)
        found = sorted(first, key=lambda one: (one.json_path, one.message))  # as a text each would hold its schema
    except _WrappedReferencingError:
        return ["its schema names another that is not there"]
    except (RecursionError, _Endless):
        return ["its schema cannot be followed to its end"]
    return [f"{one.json_path}: {one.message[:200]}" for one in found[:MAX_PROBLEMS]]


class _Endless(Exception):
    """Each reference leads to more of them."""


def _validator() -> Any:
    """It looks at no pattern, takes so many steps and follows so many references, and no more: a few lines can stand
    for thousands of millions of them."""
    from jsonschema import Draft202012Validator
    from jsonschema.validators import extend

    own = Draft202012Validator.VALIDATORS
    steps, followed = count(1), count(1)

    def take(name: str, *about: Any) -> Iterator[Any]:
        if next(steps) > MAX_STEPS or (name in REF_KEYWORDS and next(followed) > REFERENCES):
            raise _Endless
        yield from own[name](*about) or ()

    counted = {name: partial(take, name) for name in own}
    return extend(Draft202012Validator, counted | dict.fromkeys(IGNORED_KEYWORDS, _nothing))


def _nothing(*_: Any) -> None:
    return None
