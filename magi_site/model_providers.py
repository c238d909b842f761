"""The model providers of the environment: well-known ones by their usual variables, others by MAGI_PROVIDERS."""

import json
import os
import re
from typing import Annotated, Any
from urllib.parse import SplitResult, urlsplit

from pydantic import BaseModel, ConfigDict, Field, JsonValue, SecretStr, field_validator

# provider: (variable of its key as in the provider's documentation, base URL of its chat completions)
KEY_ONLY_PROVIDERS = {
    "anthropic": ("ANTHROPIC_API_KEY", "https://api.anthropic.com/v1"),
    "gemini": ("GEMINI_API_KEY", "https://generativelanguage.googleapis.com/v1beta/openai"),
    "openrouter": ("OPENROUTER_API_KEY", "https://openrouter.ai/api/v1"),
}
OPENAI_URL = "https://api.openai.com/v1"
OLLAMA_PORT = 11434
NO_KEY = "none"  # sent to servers that need no key: the client requires one
ANY_MODEL = "*"
RESERVED_NAMES = ("rehearsal",)


class ModelPriceSetting(BaseModel):
    """US dollars for a million tokens."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)

    input: float = Field(ge=0, le=1_000_000)
    output: float = Field(ge=0, le=1_000_000)


FIELDS = ("temperature", "top_p", "seed", "reasoning_effort")
# fields that MAGI sets for each request; with other values its answer could not be read
RESERVED_FIELDS = ("model", "messages", "stream", "stream_options", "response_format", "n", "tools", "tool_choice")

Tokens = Annotated[int, Field(ge=1_000, le=100_000_000)]


class ProviderSetting(BaseModel):
    """One entry of MAGI_PROVIDERS. It contains the name of the key's variable and never the key."""

    model_config = ConfigDict(extra="forbid", strict=True)

    base_url: str
    api_key: SecretStr | None = None  # always refused, with a message that names api_key_env
    api_key_env: str | None = None
    models: list[str] = []
    concurrency: int | None = Field(default=None, ge=1, le=10_000)
    price: dict[str, ModelPriceSetting] = {}
    context: dict[str, Tokens] = {}
    fields: dict[str, dict[str, JsonValue]] = {}
    temperature: float | None = Field(default=None, ge=0, le=2)
    top_p: float | None = Field(default=None, ge=0, le=1)
    seed: int | None = None
    reasoning_effort: str | None = None

    @field_validator("base_url")
    @classmethod
    def _web_address(cls, url: str) -> str:
        return web_address(url)

    @field_validator("price", mode="before")
    @classmethod
    def _one_for_all(cls, price: Any) -> Any:
        """A price without model names applies to all models of the provider."""
        return {ANY_MODEL: price} if isinstance(price, dict) and price.keys() & {"input", "output"} else price

    @field_validator("context", mode="before")
    @classmethod
    def _one_room_for_all(cls, context: Any) -> Any:
        """A number applies to all models of the provider."""
        return {ANY_MODEL: context} if isinstance(context, int) else context

    @field_validator("fields", mode="before")
    @classmethod
    def _for_all_or_by_model(cls, fields: Any) -> Any:
        """Fields without model names apply to all models; otherwise each model name has an object of fields."""
        by_model = isinstance(fields, dict) and fields and all(isinstance(value, dict) for value in fields.values())
        return fields if by_model or not isinstance(fields, dict) or not fields else {ANY_MODEL: fields}

    @field_validator("fields")
    @classmethod
    def _not_ours(cls, fields: dict[str, dict[str, JsonValue]]) -> dict[str, dict[str, JsonValue]]:
        for name in (name for model_fields in fields.values() for name in model_fields):
            if name in RESERVED_FIELDS:
                raise ValueError(f"“{name}” is set by MAGI for each request; leave it out")
        return fields

    @field_validator("api_key", mode="before")
    @classmethod
    def _no_key_here(cls, key: object) -> None:
        raise ValueError("stands in a variable of its own; name that in api_key_env, or nothing where no key is needed")

    @field_validator("api_key_env")
    @classmethod
    def _variable_with_a_key(cls, name: str | None) -> str | None:
        if name is None:
            return None
        if clean_key(SecretStr(os.environ[variable_that_is_set(name)])) is None:
            raise ValueError("names a variable without a key")
        return name

    @property
    def all_fields(self) -> dict[str, dict[str, Any]]:
        named = {name: getattr(self, name) for name in FIELDS if getattr(self, name) is not None}
        return {**self.fields, ANY_MODEL: {**named, **self.fields.get(ANY_MODEL, {})}} if named else self.fields

    def provider(self) -> dict[str, Any]:
        key = clean_key(SecretStr(os.environ[self.api_key_env])) if self.api_key_env else None
        return {
            "base_url": self.base_url,
            "api_key": key.get_secret_value() if key else NO_KEY,
            "models": tuple(self.models),
            "prices": {model: (price.input, price.output) for model, price in self.price.items()},
            "contexts": self.context,
            "fields": self.all_fields,
            **({"concurrency": self.concurrency} if self.concurrency else {}),
        }


def declared_by_name(text: str) -> Any:
    """Parse the value of MAGI_PROVIDERS or MAGI_MCP_SERVERS, without validating it.

    Raises ValueError if it is not JSON or if an object has the same name twice.
    """
    try:
        return json.loads(text, object_pairs_hook=_no_name_twice)
    except json.JSONDecodeError as error:
        raise ValueError(f"must be a JSON object ({error.msg}, line {error.lineno}, column {error.colno})") from error


def _no_name_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    names = [name for name, _ in pairs]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise ValueError(f"names “{twice[:40]}” twice")
    return dict(pairs)


def variable_that_is_set(name: str) -> str:
    if not os.environ.get(name):
        raise ValueError("names a variable that is not set")
    return name


def provider_name(name: str) -> str:
    if not re.fullmatch(r"[a-z0-9][a-z0-9_.-]{0,39}", name) or name in RESERVED_NAMES:
        raise ValueError(f"“{name[:40]}” cannot name a provider; use small letters, digits, dots and dashes")
    return name


def web_address(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or not _has_port(parts):
        raise ValueError("must be an address like http://127.0.0.1:8080/v1")
    if parts.username or parts.password:
        raise ValueError("must hold no user name and password; the key has a variable of its own")
    if parts.query or parts.fragment:
        raise ValueError("must be an address without ? and #")
    return url.rstrip("/")


def _has_port(parts: SplitResult) -> bool:
    """Whether the port is valid or absent (the scheme's default)."""
    try:
        return parts.port is None or parts.port > 0
    except ValueError:
        return False


def clean_key(key: SecretStr | None) -> SecretStr | None:
    """The key without surrounding white space, as files end with a line break.

    Raises ValueError for a key that no HTTP header can carry.
    """
    if key is None:
        return None
    text = key.get_secret_value().strip()
    if not text or not text.isascii() or not text.isprintable() or " " in text:
        raise ValueError("is no key: it must be one line of letters, digits and signs")
    return SecretStr(text)


def azure_address(endpoint: str) -> str:
    """The OpenAI-compatible base URL of an Azure endpoint; its model names are those of the deployments."""
    return endpoint if endpoint.endswith("/v1") else f"{endpoint}/openai/v1"


def ollama_address(host: str) -> str:
    """The base URL for OLLAMA_HOST, which may lack scheme and port, or be an address to listen on (0.0.0.0)."""
    url = host.strip() if "://" in host else f"http://{host.strip()}"
    parts = urlsplit(url)
    try:
        port = parts.port or (443 if parts.scheme == "https" else OLLAMA_PORT)
    except ValueError as error:
        raise ValueError("must be a host, as in 127.0.0.1:11434") from error
    name = "127.0.0.1" if parts.hostname in (None, "0.0.0.0", "::") else parts.hostname  # noqa: S104 - read, not bound
    return web_address(f"{parts.scheme}://{f'[{name}]' if ':' in name else name}:{port}/v1")
