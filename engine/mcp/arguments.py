"""Arguments by a schema that a server gave, as the classes that our own tools have."""

import json
from functools import lru_cache
from typing import Any, Self

from pydantic import BaseModel, RootModel, model_validator

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
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import _WrappedReferencingError
    from jsonschema.validators import extend
    from referencing import Registry

    validator = extend(Draft202012Validator, dict.fromkeys(NOT_LOOKED_AT, _nothing))
    registry: Registry[Any] = Registry()  # which fetches nothing
    try:
        found = sorted(validator(schema, registry=registry).iter_errors(arguments), key=str)
    except _WrappedReferencingError:
        return ["its schema names another that is not there"]
    return [f"{one.json_path}: {one.message[:200]}" for one in found[:WRONG]]


def _nothing(*_: Any) -> None:
    return None
