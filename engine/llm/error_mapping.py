"""What an error of the client library, of the wire or of an endpoint means: one failure of the tree."""

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
    """`asked` is the body of the request; `answers`: something of an answer had come before it went wrong. The
    failure's texts are clean of the provider's key."""
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
    """Whether somebody is there, with whom no encrypted connection can be made: waiting changes nothing of that."""
    while error is not None:
        if isinstance(error, ssl.SSLError | ssl.CertificateError | aiohttp.ClientSSLError):
            return True
        error = error.__cause__ or error.__context__
    return False
