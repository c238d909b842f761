"""Which provider a model name means. A model is named provider/model, as in openai/gpt-5-mini."""

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
    """The text with NUL and lone surrogates, which no database takes, as visible escapes."""
    return text.encode(errors="backslashreplace").decode().replace("\x00", "\\x00")


@dataclass(frozen=True)
class Provider:
    name: str
    base_url: str
    api_key: str = field(repr=False)
    concurrency: int = CONCURRENCY
    models: tuple[str, ...] = ()  # what is known of them without asking
    prices: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """US dollars for a million tokens in and out, by model; `*` stands for every other one."""

    contexts: Mapping[str, int] = field(default_factory=dict)
    """Tokens that a model reads at most, by model; `*` stands for every other one."""

    fields: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """What stands in every request beside the words, by model; what stands under `*` in those of all."""

    def fields_of(self, name: str) -> dict[str, Any]:
        return {**self.fields.get("*", {}), **self.fields.get(name, {})}

    def clean(self, text: str) -> str:
        """A text as it may be kept and shown: without the key, whatever an endpoint repeats, and fit for a database."""
        if len(self.api_key) < SHORTEST_KEY:
            return clean_storable_text(text)
        text = text.replace(self.api_key, "[key]")
        return clean_storable_text(_escaped(self.api_key).sub("[key]", text) if "\\" in text else text)

    def clean_split(self, text: str) -> str:
        """As `clean`, for a text that was cut off or still grows: its end may be the beginning of a key."""
        begun = next(
            (n for n in range(len(self.api_key) - 1, SHORTEST_KEY - 1, -1) if text.endswith(self.api_key[:n])), 0
        )
        return self.clean(text[: len(text) - begun]) + ("[key]" if begun else "")

    @property
    def host(self) -> str:
        return urlsplit(self.base_url).netloc.rpartition("@")[2]


@lru_cache(maxsize=64)
def _escaped(key: str) -> re.Pattern[str]:
    """The key as JSON may spell it, any of its characters escaped."""
    return re.compile("".join(rf"(?:{re.escape(char)}|\\u00(?i:{ord(char):02x})|\\{re.escape(char)})" for char in key))


class UnknownProvider(ValueError):
    pass


def configured_providers() -> dict[str, Provider]:
    """The providers that the environment names. The rehearsal is not one of them: it asks no model."""
    return {name: Provider(name, **values) for name, values in settings.PROVIDERS.items()}


def resolve_model(model: str) -> tuple[Provider, str]:
    """The provider and its own name for the model. UnknownProvider (a sentence) where no provider fits.

    A name without a known prefix goes to the only configured provider, never to the rehearsal.
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
    """Tokens that it reads at most, its answer included, where that is known."""
    provider, name = resolve_model(model)
    return provider.contexts.get(name, provider.contexts.get("*"))


def provider_lane(models: Iterable[str]) -> str:
    """The providers that these models are asked at. Runs of one lane wait for the same ones."""
    return "+".join(sorted({provider_of(model) for model in models}))[:200]


def provider_of(model: str) -> str:
    try:
        return resolve_model(model)[0].name
    except UnknownProvider:
        return "unknown"


def vendor_of(model: str) -> str:
    """Who made the model: behind a provider that serves others' models, the first part of the name there."""
    try:
        provider, name = resolve_model(model)
    except UnknownProvider:
        return model.partition("/")[0]
    return name.partition("/")[0] if "/" in name else provider.name


def independence_warning(models: Iterable[str]) -> str:
    """A warning where all of these models are one, or of one vendor; empty where they are not."""
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
