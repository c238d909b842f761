"""Arguments by a schema that a server gave, as the classes that our own tools have."""

import json
from collections.abc import Iterator
from functools import lru_cache, partial
from itertools import count
from typing import Any, Self

from pydantic import BaseModel, RootModel, model_validator

REFERENCES = 2_000
WRONG = 5  # are told at once
NOT_LOOKED_AT = ("pattern", "patternProperties", "format")  # a stranger's pattern may take for ever


@lru_cache(maxsize=512)
def class_of(text: str) -> type[BaseModel]:
    """Of this schema, which is JSON."""
    schema = json.loads(text)

    class Arguments(RootModel[dict[str, Any]]):
        @classmethod
        def model_json_schema(cls, *_: Any, **__: Any) -> dict[str, Any]:
            return schema

        @model_validator(mode="after")
        def _fits(self) -> Self:
            if wrong := problems(schema, self.root):
                raise ValueError("; ".join(wrong))
            return self

    return Arguments


def problems(schema: dict[str, Any], arguments: dict[str, Any]) -> list[str]:
    # here, as only who has a server needs them
    from jsonschema.exceptions import _WrappedReferencingError
    from referencing import Registry

    registry: Registry[Any] = Registry()  # which fetches nothing
    try:
        found = sorted(_validator()(schema, registry=registry).iter_errors(arguments), key=str)
    except _WrappedReferencingError:
        return ["its schema names another that is not there"]
    except (RecursionError, _Endless):
        return ["its schema cannot be followed to its end"]
    return [f"{one.json_path}: {one.message[:200]}" for one in found[:WRONG]]


class _Endless(Exception):
    """Each reference leads to more of them."""


def _validator() -> Any:
    """It looks at no pattern, and follows so many references and no more: a few lines can stand for thousands of
    millions of them."""
    from jsonschema import Draft202012Validator
    from jsonschema.validators import extend

    followed = count(1)

    def follow(name: str, *about: Any) -> Iterator[Any]:
        if next(followed) > REFERENCES:
            raise _Endless
        yield from Draft202012Validator.VALIDATORS[name](*about) or ()

    changed = dict.fromkeys(NOT_LOOKED_AT, _nothing) | {name: partial(follow, name) for name in ("$ref", "$dynamicRef")}
    return extend(Draft202012Validator, changed)


def _nothing(*_: Any) -> None:
    return None
