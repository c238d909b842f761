"""The folder of a server of the Model Context Protocol, which tests use without the library that the server loads."""

import json
import os
from pathlib import Path
from typing import Any


class Folder:
    """What the server is told to be like, and what became of it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def says(self) -> dict[str, Any]:
        file = self.path / "says.json"
        return json.loads(file.read_text()) if file.exists() else {}

    def say(self, **more: Any) -> None:
        """Whole or not at all: the server may read at any time."""
        self.path.mkdir(exist_ok=True)
        new = self.path / "says.new"
        new.write_text(json.dumps(self.says | more))
        new.rename(self.path / "says.json")

    @property
    def calls(self) -> list[dict[str, Any]]:
        file = self.path / "calls"
        return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []

    def keep(self, name: str, arguments: Any, told: str) -> None:
        with (self.path / "calls").open("a") as file:
            file.write(json.dumps({"name": name, "arguments": arguments, "told": told}) + "\n")
            file.flush()
            os.fsync(file.fileno())
