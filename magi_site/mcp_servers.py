"""The MCP servers that MAGI_MCP_SERVERS declares."""

import os
import re
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, SecretStr, field_validator, model_validator
from pydantic_core import PydanticCustomError

from .model_providers import clean_key, variable_that_is_set, web_address

EnvironmentVariable = Annotated[str, AfterValidator(variable_that_is_set)]


class McpServerSetting(BaseModel):
    """One entry of MAGI_MCP_SERVERS. It contains no secrets, only names of the variables that hold them."""

    model_config = ConfigDict(extra="forbid", strict=True)

    command: list[str] = []
    env: dict[str, EnvironmentVariable] = {}
    url: str | None = None
    headers_env: dict[str, EnvironmentVariable] = {}
    timeout: float = Field(default=60, gt=0, le=3600)

    @field_validator("url")
    @classmethod
    def _web_address(cls, url: str | None) -> str | None:
        return web_address(url) if url else None

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if bool(self.command) == bool(self.url):
            raise PydanticCustomError("way", "needs either a command or a url")
        if (self.env and self.url) or (self.headers_env and self.command):
            raise PydanticCustomError("secrets", "env belongs to a command, headers_env to a url")
        if self.command and not self.command[0]:
            raise PydanticCustomError("command", "has an empty command")
        return self

    def server(self) -> dict[str, Any]:
        """The arguments of `engine.mcp.config.McpServer`."""
        headers = {name: _one_line(os.environ[variable]) for name, variable in self.headers_env.items()}
        env = {name: os.environ[variable] for name, variable in self.env.items()}
        found = {"command": tuple(self.command), "env": env, "url": self.url or "", "headers": headers}
        return {**found, "timeout": self.timeout}


def _one_line(value: str) -> str:
    """The value as a header can carry it: words separated by single spaces, as in `Bearer abc`."""
    words = [clean_key(SecretStr(word)) for word in value.split()]
    return " ".join(word.get_secret_value() for word in words if word)


def server_name(name: str) -> str:
    if not re.fullmatch(r"[a-z0-9][a-z0-9_-]{0,39}", name):
        raise ValueError(f"“{name[:40]}” cannot name a server; use small letters, digits and dashes")
    return name
