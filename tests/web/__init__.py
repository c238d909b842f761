"""A site in a process of its own, for what reads the web: pages that are fine, and pages that are not.

`python -m tests.web.site` serves on a port of its own until its standard input ends.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, Self
from urllib.request import ProxyHandler, build_opener


class WebSite:
    """Use as a context manager. `place` is its host and port on the loopback."""

    place: str

    def __enter__(self) -> Self:
        command = [sys.executable, "-m", "tests.web.site"]
        folder = Path(__file__).parents[2]
        self._process = subprocess.Popen(command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.place = self._process.stdout.readline().decode().strip()
        return self

    def __exit__(self, *_: object) -> None:
        with self._process:
            self._process.terminate()

    @property
    def port(self) -> int:
        return int(self.place.rpartition(":")[2])

    def address(self, path: str, host: str = "") -> str:
        return f"http://{host or '127.0.0.1'}:{self.port}{path}"

    def seen(self) -> list[dict[str, Any]]:
        """What was asked for: path, query and headers; and of each host, whether anything was."""
        with build_opener(ProxyHandler({})).open(self.address("/control/seen"), timeout=30) as response:
            return json.load(response)
