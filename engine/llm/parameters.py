"""What a request asks for beside its words: how long the answer may be, and what is declared for provider and model."""

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
    """As they stand in the request; none for the rehearsal, and for a model that nobody knows."""
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
    """For the record: as JSON, without the key; empty where there are none."""
    found = parameters_of(model, messages, form, way)
    return resolve_model(model)[0].clean(json.dumps(found, ensure_ascii=False, sort_keys=True)) if found else ""


def _length(provider: Provider, name: str, messages: Sequence[ChatMessage], form: ResponseFormat[Any]) -> int:
    """As the form says, within what the model has left where that is declared: some servers refuse more."""
    room = provider.contexts.get(name, provider.contexts.get("*"))
    return form.max_tokens if room is None else min(form.max_tokens, max(SHORTEST, room - prompt_tokens(messages)))
