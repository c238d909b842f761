"""Configured providers, and how a model name selects one. A model is named provider/model, as in openai/gpt-5-mini."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings

REHEARSAL = "rehearsal"
REHEARSAL_MODELS = ("magi", "instant")
SHORTEST_KEY = 8  # a shorter one would be found in any text, and so many characters of a longer one give nothing away
CONCURRENCY = 300  # requests at once to one provider


def clean_storable_text(text: str) -> str:
    """Return the text with NUL and lone surrogates, which databases reject, as visible escapes."""
    return text.encode(errors="backslashreplace").decode().replace("\x00", "\\x00")


@dataclass(frozen=True)
class Provider:
    name: str
    base_url: str
    api_key: str = field(repr=False)
    concurrency: int = CONCURRENCY
    models: tuple[str, ...] = ()  # what is known of them without asking
    prices: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """US dollars per million input and output tokens, by model; `*` is for all others."""

    contexts: Mapping[str, int] = field(default_factory=dict)
    """Context in tokens, by model; `*` is for all others."""

    fields: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Extra fields of every request, by model; those under `*` are in the requests of all models."""

    def fields_of(self, name: str) -> dict[str, Any]:
        return {**self.fields.get("*", {}), **self.fields.get(name, {})}

    def clean(self, text: str) -> str:
        """Return the text as it may be stored and shown: the key, which an endpoint may echo, is masked, and NUL and
        lone surrogates are escaped.
        """
        if len(self.api_key) < SHORTEST_KEY:
            return clean_storable_text(text)
        text = text.replace(self.api_key, "[key]")
        return clean_storable_text(_escaped(self.api_key).sub("[key]", text) if "\\" in text else text)

    def clean_split(self, text: str) -> str:
        """As `clean`, for a text that was cut off or still grows: its end may be the beginning of the key."""
        begun = next(
            (n for n in range(len(self.api_key) - 1, SHORTEST_KEY - 1, -1) if text.endswith(self.api_key[:n])), 0
        )
        return self.clean(text[: len(text) - begun]) + ("[key]" if begun else "")

    @property
    def host(self) -> str:
        return urlsplit(self.base_url).netloc.rpartition("@")[2]


@lru_cache(maxsize=64)
def _escaped(key: str) -> re.Pattern[str]:
    """Return a pattern for the key in JSON, where any of its characters may be escaped."""
    return re.compile("".join(rf"(?:{re.escape(char)}|\\u00(?i:{ord(char):02x})|\\{re.escape(char)})" for char in key))


class UnknownProvider(ValueError):
    pass


def configured_providers() -> dict[str, Provider]:
    """Return the providers from the environment, without the rehearsal, which calls no model."""
    return {name: Provider(name, **values) for name, values in settings.PROVIDERS.items()}


def resolve_model(model: str) -> tuple[Provider, str]:
    """Return the provider and its own name for the model.

    A name without a known prefix goes to the only configured provider, never to the rehearsal. Raises
    UnknownProvider with a message for people if no provider matches.
    """
    if not model:
        raise UnknownProvider("No model is named.")
    declared = settings.PROVIDERS  # of which one is made: this is asked several times for each call
    prefix, _, rest = model.partition("/")
    if prefix == REHEARSAL:
        if rest not in REHEARSAL_MODELS:
            raise UnknownProvider(f"The rehearsal knows {' and '.join(REHEARSAL_MODELS)}, not “{rest}”.")
        return Provider(REHEARSAL, f"http://{REHEARSAL}/v1", "none"), rest
    if prefix in declared and rest:
        return Provider(prefix, **declared[prefix]), rest
    if len(declared) == 1:
        return next(iter(configured_providers().values())), model
    if not declared:
        raise UnknownProvider(
            f"No model provider is configured, so “{model}” cannot be asked. "
            f"Set OPENAI_API_KEY or another provider's variable, or name a rehearsal/… model."
        )
    raise UnknownProvider(f"“{model}” names no known provider. Known: {', '.join(sorted(declared))}.")


def context_of(model: str) -> int | None:
    """Return the model's declared context in tokens, answer included; None if it is not declared. Raises
    UnknownProvider.
    """
    provider, name = resolve_model(model)
    return provider.contexts.get(name, provider.contexts.get("*"))


def provider_lane(models: Iterable[str]) -> str:
    """Return the key of the queue lane for these models: their providers, sorted. Runs in one lane wait for the same
    ones.
    """
    return "+".join(sorted({provider_of(model) for model in models}))[:200]


def provider_of(model: str) -> str:
    try:
        return resolve_model(model)[0].name
    except UnknownProvider:
        return "unknown"


def vendor_of(model: str) -> str:
    """Return who made the model: the first part of its name at a provider that serves other vendors' models, otherwise
    the provider.
    """
    try:
        provider, name = resolve_model(model)
    except UnknownProvider:
        return model.partition("/")[0]
    return name.partition("/")[0] if "/" in name else provider.name


def independence_warning(models: Iterable[str]) -> str:
    """Return a warning if all these models are the same one or from one vendor; otherwise an empty string."""
    models = list(models)
    if all(is_rehearsal(model) for model in models):
        return ""
    if len(set(models)) == 1:
        return f"All agents ask one model, {models[0]}: where it errs, they err together."
    vendors = {vendor_of(model) for model in models}
    if len(vendors) == 1:
        return f"All agents ask models of one vendor, {vendors.pop()}: they are likely to err together."
    return ""


def is_rehearsal(model: str) -> bool:
    return model.partition("/")[0] == REHEARSAL
