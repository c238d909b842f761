"""Models that the providers list, as suggestions on pages. Any other name may be entered."""

import asyncio
from collections.abc import Iterable

from django.conf import settings
from django.core.cache import cache

from . import errors
from .client import ModelClient
from .providers import REHEARSAL, Provider, configured_providers

LISTING_TIMEOUT = 2.0  # seconds that a page waits for suggestions
CACHE_SECONDS = 600  # seconds that a list is kept
RETRY_SECONDS = 60  # seconds after which one that could not be had is asked for again


def declared_models() -> list[str]:
    """Return the models that the configuration names, without a request."""
    return _full(
        configured_providers().values(), {name: list(each.models) for name, each in configured_providers().items()}
    )


def offered_models(listed: list[str]) -> list[str]:
    """Return the models to suggest: the default one first, then the listed ones, the rehearsal last."""
    return list(filter(None, dict.fromkeys([settings.DEFAULT_MODEL, *listed, f"{REHEARSAL}/magi"])))


async def model_suggestions() -> list[str]:
    """Return the models of all providers that answer within LISTING_TIMEOUT, as provider/model."""
    providers = list(configured_providers().values())
    models = ModelClient(LISTING_TIMEOUT)
    try:
        lists = await asyncio.gather(*(_names(models, provider) for provider in providers))
    finally:
        await models.close()
    return _full(providers, {provider.name: names for provider, names in zip(providers, lists, strict=True)})


def _full(providers: Iterable[Provider], names: dict[str, list[str]]) -> list[str]:
    return [f"{each.name}/{name}" for each in providers for name in dict.fromkeys([*each.models, *names[each.name]])]


async def _names(models: ModelClient, provider: Provider) -> list[str]:
    key = f"models.{provider.name}.{provider.host}"
    known = await cache.aget(key)
    if known is None:
        try:
            known, fresh = sorted(await models.names(provider)), CACHE_SECONDS
        except errors.CallFailed:
            known, fresh = [], RETRY_SECONDS
        await cache.aset(key, known, fresh)
    return known
