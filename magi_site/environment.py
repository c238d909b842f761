"""The environment, typed and checked once at start. Every variable is optional; docs/configuration.md lists them."""

import errno
import os
import re
import secrets
import socket
import sys
from email.utils import getaddresses
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import Annotated, Any, Literal, NoReturn, Self
from urllib.parse import parse_qs, urlsplit

from pydantic import Field, SecretStr, ValidationError, ValidationInfo, field_validator, model_validator
from pydantic_core import PydanticCustomError
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from engine.headers import header_complaint

from .mcp_servers import McpServerSetting, server_name
from .model_providers import (
    ANY_MODEL,
    KEY_ONLY_PROVIDERS,
    NO_KEY,
    OPENAI_URL,
    ProviderSetting,
    azure_address,
    clean_key,
    declared_by_name,
    ollama_address,
    provider_name,
    web_address,
)
from .search_provider import search_provider, search_provider_problem

ROOT = Path(__file__).resolve().parent.parent
LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
WRONG_CONFIGURATION = 78  # EX_CONFIG of sysexits.h; 1 would be a verdict of the judge command
SECRET_VARIABLES = (
    "OPENAI_API_KEY",
    "AZURE_OPENAI_API_KEY",
    "BRAVE_API_KEY",
    "TAVILY_API_KEY",
    *(variable for variable, _ in KEY_ONLY_PROVIDERS.values()),
)
DEFAULT_MODEL = {
    "openai": "gpt-5-mini",
    "anthropic": "claude-sonnet-4-5",
    "gemini": "gemini-2.5-flash",
    "openrouter": "openai/gpt-5-mini",
    "azure": "gpt-5-mini",
    "ollama": "llama3.2",
}
LISTS = (
    *(
        "ALLOWED_HOSTS",
        "CSRF_TRUSTED_ORIGINS",
        "MAGI_PAGES_ALLOWED_HOSTS",
        "MAGI_WORKSPACES_FROM",
        "MAGI_HOOKS_ALLOWED_HOSTS",
    ),
    "MAGI_INQUIRY_TOOLS",
)
SCHEMES = {
    "DATABASE_URL": ("postgres", "postgresql", "sqlite"),
    "REDIS_URL": ("redis", "rediss"),
    "EMAIL_URL": ("smtp", "smtps"),
}


class Environment(BaseSettings):
    model_config = SettingsConfigDict(case_sensitive=True, env_ignore_empty=True, extra="ignore")

    MAGI_DATA_DIR: Path = ROOT / "var"
    SECRET_KEY: SecretStr | None = None
    MAGI_SIGNING_KEY: SecretStr | None = None
    MAGI_CHECKPOINT_FILE: Path | None = None
    MAGI_CHECKPOINT_WEBHOOK: str | None = None
    DATABASE_URL: SecretStr | None = None
    REDIS_URL: SecretStr | None = None
    EMAIL_URL: SecretStr | None = None
    MAGI_ADDRESS: str | None = None
    ALLOWED_HOSTS: Annotated[list[str], NoDecode] = list(LOOPBACK)
    CSRF_TRUSTED_ORIGINS: Annotated[list[str], NoDecode] = []
    OPENAI_API_KEY: SecretStr | None = None
    OPENAI_BASE_URL: str | None = None
    ANTHROPIC_API_KEY: SecretStr | None = None
    GEMINI_API_KEY: SecretStr | None = None
    OPENROUTER_API_KEY: SecretStr | None = None
    AZURE_OPENAI_ENDPOINT: str | None = None
    AZURE_OPENAI_API_KEY: SecretStr | None = None
    OLLAMA_HOST: str | None = None
    MAGI_PROVIDERS: Annotated[dict[str, ProviderSetting], NoDecode] = {}
    MAGI_MCP_SERVERS: Annotated[dict[str, McpServerSetting], NoDecode] = {}
    MAGI_DEFAULT_MODEL: str | None = None
    MAGI_CALL_TIMEOUT: float = Field(default=1800, gt=0, le=86_400)
    MAGI_CALL_FIRST: float = Field(default=300, gt=0, le=86_400)
    MAGI_CALL_SILENCE: float = Field(default=120, gt=0, le=86_400)
    MAGI_SERVER_PATIENCE: float = Field(default=600, ge=0, le=86_400)
    MAGI_RUN_TIMEOUT: float = Field(default=3600, gt=0, le=7 * 86_400)
    MAGI_ENGINE_LEASE: float = Field(default=15, ge=1, le=600)
    MAGI_ENGINE_CONCURRENCY: int = Field(default=300, ge=1, le=10_000)
    MAGI_HOST: str = Field(default_factory=socket.gethostname, min_length=1, max_length=100)
    MAGI_MISSIONS_DIR: Path | None = None
    MAGI_PUBLISH_TO: SecretStr | None = None
    MAGI_WORKSPACES_FROM: Annotated[list[str], NoDecode] = []
    MAGI_INQUIRY_RETRIES: int = Field(default=5, ge=1, le=20)
    MAGI_INQUIRY_TOOLS: Annotated[list[str], NoDecode] = []
    MAGI_SEARCH: str | None = None
    BRAVE_API_KEY: SecretStr | None = None
    TAVILY_API_KEY: SecretStr | None = None
    MAGI_PAGES_ALLOWED_HOSTS: Annotated[list[str], NoDecode] = []
    MAGI_HOOKS_ALLOWED_HOSTS: Annotated[list[str], NoDecode] = []
    MAGI_RETENTION_DAYS: int = Field(default=365, ge=0, le=36_500)
    MAGI_RETENTION_FLOOR_DAYS: int = Field(default=0, ge=0, le=36_500)
    MAGI_PROXIES: Annotated[list[IPv4Network | IPv6Network] | None, NoDecode] = None
    MAGI_USER_QUEUED: int = Field(default=100, ge=1, le=100_000)
    MAGI_USER_WAITING: int = Field(default=50, ge=1, le=100_000)
    MAGI_USER_SUBMISSIONS: int = Field(default=60, ge=1, le=100_000)
    MAGI_USER_READS: int = Field(default=1200, ge=0, le=1_000_000)
    MAGI_USER_RECEIPTS: int = Field(default=60, ge=1, le=100_000)
    MAGI_USER_TOKENS: int = Field(default=20, ge=1, le=10_000)
    MAGI_USER_EXPORTS: int = Field(default=2, ge=1, le=100)
    MAGI_METRICS_TOKEN: SecretStr | None = Field(default=None, min_length=16)
    MAGI_LOG: Literal["text", "json"] = "text"
    MAGI_MCP: bool = True
    MAGI_COMPAT: bool = True
    MAGI_COMPAT_TEAM: str = "House"

    @field_validator(*LISTS, mode="before")
    @classmethod
    def _comma_separated(cls, value: object) -> object:
        return [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value

    @field_validator("MAGI_PROXIES", mode="before")
    @classmethod
    def _networks(cls, value: object) -> object:
        if not isinstance(value, str):
            return value
        try:
            return [ip_network(part.strip()) for part in value.split(",") if part.strip()]
        except ValueError as error:
            raise ValueError("must be addresses or networks such as 10.0.0.0/8, with commas between them") from error

    @field_validator("ALLOWED_HOSTS")
    @classmethod
    def _no_wildcard(cls, hosts: list[str]) -> list[str]:
        if "*" in hosts:
            raise ValueError('"*" lets any site use this one through DNS; name the hosts')
        return hosts

    @field_validator("MAGI_SIGNING_KEY")
    @classmethod
    def _a_seed(cls, key: SecretStr | None) -> SecretStr | None:
        if key and not re.fullmatch(r"[0-9a-f]{64}", key.get_secret_value()):
            raise ValueError("must be 64 hexadecimal digits, as `openssl rand -hex 32` prints them")
        return key

    @field_validator("MAGI_ADDRESS")
    @classmethod
    def _an_origin(cls, url: str | None) -> str | None:
        if url and not re.fullmatch(r"https?://[\w.:\[\]-]+", url):
            raise ValueError("must be an address without a path, as in https://magi.example:8443")
        return url

    @field_validator("OPENAI_BASE_URL", "AZURE_OPENAI_ENDPOINT", "MAGI_CHECKPOINT_WEBHOOK")
    @classmethod
    def _web_address(cls, url: str | None) -> str | None:
        return web_address(url) if url else None

    @field_validator(*SECRET_VARIABLES)
    @classmethod
    def _clean_key(cls, key: SecretStr | None) -> SecretStr | None:
        return clean_key(key)

    @field_validator("OLLAMA_HOST")
    @classmethod
    def _ollama_address(cls, host: str | None) -> str | None:
        return ollama_address(host) if host else None

    @field_validator("MAGI_PROVIDERS", "MAGI_MCP_SERVERS", mode="before")
    @classmethod
    def _declared(cls, value: object) -> object:
        return declared_by_name(value) if isinstance(value, str) else value

    @field_validator("MAGI_MCP_SERVERS")
    @classmethod
    def _server_names(cls, declared: dict[str, McpServerSetting]) -> dict[str, McpServerSetting]:
        return {server_name(name): server for name, server in declared.items()}

    @field_validator("MAGI_PROVIDERS")
    @classmethod
    def _provider_names(cls, declared: dict[str, ProviderSetting]) -> dict[str, ProviderSetting]:
        return {provider_name(name): provider for name, provider in declared.items()}

    @model_validator(mode="after")
    def _azure_whole(self) -> Self:
        if self.AZURE_OPENAI_API_KEY and not self.AZURE_OPENAI_ENDPOINT:
            raise PydanticCustomError("azure", "AZURE_OPENAI_ENDPOINT is missing beside AZURE_OPENAI_API_KEY")
        if self.AZURE_OPENAI_ENDPOINT and not self.AZURE_OPENAI_API_KEY:
            raise PydanticCustomError("azure", "AZURE_OPENAI_API_KEY is missing beside AZURE_OPENAI_ENDPOINT")
        return self

    @model_validator(mode="after")
    def _search_known(self) -> Self:
        if complaint := search_provider_problem(self.MAGI_SEARCH or "", self.BRAVE_API_KEY, self.TAVILY_API_KEY):
            raise PydanticCustomError("search", "MAGI_SEARCH {complaint}", {"complaint": complaint})
        return self

    @model_validator(mode="after")
    def _kept_long_enough(self) -> Self:
        if 0 < self.MAGI_RETENTION_DAYS < self.MAGI_RETENTION_FLOOR_DAYS:
            raise PydanticCustomError("floor", "MAGI_RETENTION_DAYS is shorter than MAGI_RETENTION_FLOOR_DAYS")
        return self

    @field_validator("DATABASE_URL", "REDIS_URL", "EMAIL_URL")
    @classmethod
    def _known_service(cls, url: SecretStr | None, info: ValidationInfo) -> SecretStr | None:
        schemes = SCHEMES[str(info.field_name)]
        if url and not _is_address(url.get_secret_value(), schemes):
            begin = " or ".join(f"{scheme}://" for scheme in schemes)
            # the message does not repeat the value: it may contain a password
            raise ValueError(
                f"must be an address that begins with {begin}, signs like / and # in a password as %2F, %23"
            )
        sender = parse_qs(urlsplit(url.get_secret_value()).query).get("from", [""])[0] if url else ""
        if complaint := header_complaint(sender) or _more_than_one(sender):
            raise ValueError(f"names a sender (?from=) that {complaint}")
        return url

    @property
    def local(self) -> bool:
        """Whether only this machine is served, over plain http. Any other host needs a proxy with https."""
        return set(self.ALLOWED_HOSTS) <= set(LOOPBACK)

    @property
    def address(self) -> str:
        """The site's origin as others reach it; empty where only this machine is served and MAGI_ADDRESS is not set."""
        hosts = [host.lstrip(".") for host in self.ALLOWED_HOSTS if host not in LOOPBACK]
        return self.MAGI_ADDRESS or (f"https://{hosts[0]}" if hosts else "")

    @property
    def proxies(self) -> list[IPv4Network | IPv6Network]:
        """Networks whose X-Forwarded-For is trusted: the loopback by default where other hosts are served."""
        if self.MAGI_PROXIES is None:
            return [] if self.local else [ip_network("127.0.0.0/8"), ip_network("::1")]
        return self.MAGI_PROXIES

    @property
    def providers(self) -> dict[str, dict[str, Any]]:
        """The model providers by name, each with the arguments of `engine.llm.providers.Provider`."""
        found: dict[str, dict[str, Any]] = {}
        if self.OPENAI_API_KEY or self.OPENAI_BASE_URL:
            found["openai"] = _provider(self.OPENAI_BASE_URL or OPENAI_URL, self.OPENAI_API_KEY)
        for name, (variable, address) in KEY_ONLY_PROVIDERS.items():
            if key := getattr(self, variable):
                found[name] = _provider(address, key)
        if self.AZURE_OPENAI_ENDPOINT:
            found["azure"] = _provider(azure_address(self.AZURE_OPENAI_ENDPOINT), self.AZURE_OPENAI_API_KEY)
        if self.OLLAMA_HOST:
            found["ollama"] = _provider(self.OLLAMA_HOST, None) | {"prices": {ANY_MODEL: (0, 0)}}
        return found | {name: declared.provider() for name, declared in self.MAGI_PROVIDERS.items()}

    @property
    def search(self) -> dict[str, str]:
        """The provider of web search; see `search_provider`. Empty where MAGI_SEARCH is not set."""
        return search_provider(self.MAGI_SEARCH or "", self.BRAVE_API_KEY, self.TAVILY_API_KEY)

    @property
    def default_model(self) -> str:
        """The model of agents that name none; empty where each agent must name its own.

        It is the rehearsal where no provider is configured.
        """
        if self.MAGI_DEFAULT_MODEL or not self.providers:
            return self.MAGI_DEFAULT_MODEL or "rehearsal/magi"
        name, provider = next(iter(self.providers.items()))
        model = next(iter(provider.get("models", ())), DEFAULT_MODEL.get(name, ""))
        return model and f"{name}/{model}"

    def secret_key(self) -> str:
        return self._given_or_generated(self.SECRET_KEY, "secret_key", secrets.token_urlsafe(50))

    def signing_key(self) -> bytes:
        """The seed of the Ed25519 key, 32 bytes. Raises OSError where the file of the key is damaged."""
        given = self._given_or_generated(self.MAGI_SIGNING_KEY, "signing_key", secrets.token_hex(32))
        try:
            seed = bytes.fromhex(given)
        except ValueError:
            seed = b""
        if len(seed) != 32:
            path = str(self.MAGI_DATA_DIR / "signing_key")
            raise OSError(errno.EINVAL, "is no signing key; bring the right one back from a backup", path)
        return seed

    def _given_or_generated(self, given: SecretStr | None, name: str, new: str) -> str:
        if given:
            return given.get_secret_value()
        path = self.MAGI_DATA_DIR / name
        if not path.exists():
            _write_once(path, new)
        key = path.read_text().strip()
        if not key:
            raise OSError(errno.EINVAL, "is empty; delete it", str(path))
        return key


def _write_once(path: Path, text: str) -> None:
    """Create the file atomically: of two processes that start at once, one writes it and both read it."""
    new = path.with_name(f"{path.name}.{os.getpid()}")
    with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        file.write(text)
    try:
        os.link(new, path)
    except FileExistsError:
        pass
    finally:
        new.unlink()


def _more_than_one(sender: str) -> str:
    return "is not one address: write a name with a comma in quotes" if len(getaddresses([sender])) > 1 else ""


def _is_address(url: str, schemes: tuple[str, ...]) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in schemes and (parts.port is None or parts.port > 0)
    except ValueError:
        return False


def _provider(base_url: str, key: SecretStr | None) -> dict[str, Any]:
    return {"base_url": base_url, "api_key": key.get_secret_value() if key else NO_KEY}


def read_environment() -> Environment:
    """The validated environment; creates the data folder and keys.

    A wrong value ends the process with one sentence on stderr and status 78 (EX_CONFIG).
    """
    try:
        environment = Environment()
        environment.MAGI_DATA_DIR.mkdir(parents=True, exist_ok=True)
        environment.secret_key()
        environment.signing_key()
    except ValidationError as error:
        _stop(*_first_error(error))
    except OSError as error:
        _stop("MAGI_DATA_DIR", f"{error.filename}: {error.strerror}")
    return environment


def _first_error(error: ValidationError) -> tuple[str, str]:
    """The variable and the reason, without the value: it may be a key."""
    first = error.errors(include_input=False, include_url=False)[0]
    variable, *place = [str(part) for part in first["loc"]] or [first["msg"].partition(" ")[0]]
    reason = first["msg"].removeprefix("Value error, ")[:300]
    return variable, f"{'.'.join(place)[:80]}: {reason}" if place else reason


def _stop(variable: str, reason: str) -> NoReturn:
    print(f"The environment variable {variable} is wrong: {reason}.", file=sys.stderr)
    sys.exit(WRONG_CONFIGURATION)
