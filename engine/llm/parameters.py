"""Request parameters other than messages: the answer's maximum length, and the fields declared for provider and
model.
"""

import json
from collections.abc import Sequence
from typing import Any

from .providers import REHEARSAL, Provider, UnknownProvider, resolve_model
from .response_format import ChatMessage, RequestMode, ResponseFormat
from .tokens import prompt_tokens

LENGTHS = ("max_tokens", "max_completion_tokens")
SHORTEST = 256  # tokens that an answer is given, however little room is left


def parameters_of(
    model: str, messages: Sequence[ChatMessage], form: ResponseFormat[Any], way: RequestMode
) -> dict[str, Any]:
    """Return the parameters as they are sent; empty for the rehearsal and for an unknown model."""
    try:
        provider, name = resolve_model(model)
    except UnknownProvider:
        return {}
    if provider.name == REHEARSAL:
        return {}
    own = provider.fields_of(name)
    if not way.length or any(key in own for key in LENGTHS):
        return own
    return {way.length: _length(provider, name, messages, form), **own}


def as_kept(model: str, messages: Sequence[ChatMessage], form: ResponseFormat[Any], way: RequestMode) -> str:
    """Return the parameters for the record, as JSON without the provider's key; empty if there are none."""
    found = parameters_of(model, messages, form, way)
    return resolve_model(model)[0].clean(json.dumps(found, ensure_ascii=False, sort_keys=True)) if found else ""


def _length(provider: Provider, name: str, messages: Sequence[ChatMessage], form: ResponseFormat[Any]) -> int:
    """Return the form's maximum length, limited to the room left in a declared context: some servers refuse more."""
    room = provider.contexts.get(name, provider.contexts.get("*"))
    return form.max_tokens if room is None else min(form.max_tokens, max(SHORTEST, room - prompt_tokens(messages)))
