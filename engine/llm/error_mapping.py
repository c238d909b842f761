"""Mapping from errors of the client library, the network or an endpoint to the errors of `errors.py`."""

import ssl
from typing import Any

import aiohttp
import httpx2
import openai

from . import errors
from .providers import Provider
from .refusals import Refusal
from .streaming import MAX_ANSWER_BYTES


def classify_error(
    error: Exception, provider: Provider, model: str, asked: dict[str, Any], answers: bool = False
) -> errors.CallFailed:
    """Return the failure for an error of one request. Its texts do not contain the provider's key.

    `asked` is the body of the request. `answers` says that a part of an answer had arrived before the error.
    """
    where = f"{provider.name} ({provider.host})"
    if isinstance(error, openai.APIStatusError):
        sent, headers = error.response.content[:MAX_ANSWER_BYTES], error.response.headers
        return Refusal(error.status_code, sent, headers, provider, where).failure(model, asked)
    if isinstance(error, openai.APIConnectionError | httpx2.TransportError | aiohttp.ClientError | OSError):
        # also what the client calls a time-out: with none set for reading, only connecting can have one
        reason = provider.clean(str(error.__cause__ or error).replace(" ssl:default", "")) or type(error).__name__
        if answers:
            return errors.EndpointUnreachable(f"The answer of {where} broke off before its end: {reason[:200]}")
        failure = errors.EndpointUnreachable(f"{where} could not be reached: {reason[:200]}")
        failure.server_away = not _speaks_otherwise(error)
        return failure
    return errors.UnusableAnswer(f"The answer of {where} could not be read ({type(error).__name__}).")


def _speaks_otherwise(error: BaseException | None) -> bool:
    """Whether a server is there but TLS with it fails: waiting does not help."""
    while error is not None:
        if isinstance(error, ssl.SSLError | ssl.CertificateError | aiohttp.ClientSSLError):
            return True
        error = error.__cause__ or error.__context__
    return False
