"""The environment, typed and checked once at start. Every variable is optional; docs/configuration.md lists them."""

import os
import secrets
import sys
from pathlib import Path
from typing import Annotated, Any, NoReturn
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, ValidationError, ValidationInfo, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

ROOT = Path(__file__).resolve().parent.parent
LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
WRONG_CONFIGURATION = 78  # EX_CONFIG of sysexits.h; 1 would be a verdict of the judge command
OPENAI_ITSELF = "https://api.openai.com/v1"


SCHEMES = {"DATABASE_URL": ("postgres", "postgresql", "sqlite"), "REDIS_URL": ("redis", "rediss")}


class Environment(BaseSettings):
    model_config = SettingsConfigDict(case_sensitive=True, env_ignore_empty=True, extra="ignore")

    MAGI_DATA_DIR: Path = ROOT / "var"
    SECRET_KEY: SecretStr | None = None
    DATABASE_URL: SecretStr | None = None
    REDIS_URL: SecretStr | None = None
    ALLOWED_HOSTS: Annotated[list[str], NoDecode] = list(LOOPBACK)
    CSRF_TRUSTED_ORIGINS: Annotated[list[str], NoDecode] = []
    OPENAI_API_KEY: SecretStr | None = None
    OPENAI_BASE_URL: str | None = None
    MAGI_DEFAULT_MODEL: str | None = None
    MAGI_CALL_TIMEOUT: float = Field(default=120, gt=0, le=3600)
    MAGI_RUN_TIMEOUT: float = Field(default=3600, gt=0, le=7 * 86_400)
    MAGI_ENGINE_LEASE: float = Field(default=15, ge=1, le=600)
    MAGI_ENGINE_CONCURRENCY: int = Field(default=100, ge=1, le=10_000)

    @field_validator("ALLOWED_HOSTS", "CSRF_TRUSTED_ORIGINS", mode="before")
    @classmethod
    def _comma_separated(cls, value: object) -> object:
        return [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value

    @field_validator("ALLOWED_HOSTS")
    @classmethod
    def _no_wildcard(cls, hosts: list[str]) -> list[str]:
        if "*" in hosts:
            raise ValueError('"*" lets any site use this one through DNS; name the hosts')
        return hosts

    @field_validator("OPENAI_BASE_URL")
    @classmethod
    def _web_address(cls, url: str | None) -> str | None:
        parts = urlsplit(url or OPENAI_ITSELF)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError("must be an address like http://127.0.0.1:8080/v1")
        if parts.username or parts.password:
            raise ValueError("must hold no user name and password; the key goes into OPENAI_API_KEY")
        return url

    @field_validator("DATABASE_URL", "REDIS_URL")
    @classmethod
    def _known_service(cls, url: SecretStr | None, info: ValidationInfo) -> SecretStr | None:
        schemes = SCHEMES[str(info.field_name)]
        if url and urlsplit(url.get_secret_value()).scheme not in schemes:
            raise ValueError(f"must begin with {' or '.join(f'{scheme}://' for scheme in schemes)}")
        return url

    @property
    def local(self) -> bool:
        """Only this machine may come: plain http. Any other host is served behind https."""
        return set(self.ALLOWED_HOSTS) <= set(LOOPBACK)

    @property
    def providers(self) -> dict[str, dict[str, Any]]:
        """The model providers by name, `{"base_url", "api_key"}` each."""
        if not (self.OPENAI_API_KEY or self.OPENAI_BASE_URL):
            return {}
        # a server on one's own machine asks for no key, but the client insists on a word
        key = self.OPENAI_API_KEY.get_secret_value() if self.OPENAI_API_KEY else "none"
        return {"openai": {"base_url": self.OPENAI_BASE_URL or OPENAI_ITSELF, "api_key": key}}

    @property
    def default_model(self) -> str:
        """What a council that names no model uses. The rehearsal only where no provider is configured."""
        return self.MAGI_DEFAULT_MODEL or ("openai/gpt-5-mini" if self.providers else "rehearsal/magi")

    def secret_key(self) -> str:
        if self.SECRET_KEY:
            return self.SECRET_KEY.get_secret_value()
        path = self.MAGI_DATA_DIR / "secret_key"
        try:
            # O_EXCL: of two processes that start at once one writes the key and both read it
            with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
                file.write(secrets.token_urlsafe(50))
        except FileExistsError:
            pass
        return path.read_text()


def read_environment() -> Environment:
    """The checked environment, its data folder made. A wrong value ends the process with one sentence."""
    try:
        environment = Environment()
        environment.MAGI_DATA_DIR.mkdir(parents=True, exist_ok=True)
        environment.secret_key()
    except ValidationError as error:
        first = error.errors()[0]
        reason = first["msg"].removeprefix("Value error, ")
        _stop(str(first["loc"][0]), reason)
    except OSError as error:
        _stop("MAGI_DATA_DIR", f"{error.filename}: {error.strerror}")
    return environment


def _stop(variable: str, reason: str) -> NoReturn:
    print(f"The environment variable {variable} is wrong: {reason}.", file=sys.stderr)
    sys.exit(WRONG_CONFIGURATION)
