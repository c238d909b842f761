"""A model endpoint that speaks OpenAI's chat completions in a process of its own and misbehaves on request.

`python -m tests.endpoint` serves until SIGTERM; tests use `ScriptedEndpoint`. An `EndpointScript` of `ScriptRule`s says
what is answered next, the table `BEHAVIOURS` how, and `Weather` lets a share of the answers go wrong by chance. It
writes to the socket itself: a web framework would not let it break HTTP.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, Self
from urllib.error import HTTPError
from urllib.request import ProxyHandler, Request, build_opener


class ScriptedEndpoint:
    """The endpoint in another process; use as a context manager. `base_url` is for OPENAI_BASE_URL."""

    base_url: str

    def __enter__(self) -> Self:
        command = [sys.executable, "-m", "tests.endpoint"]
        folder = Path(__file__).parents[2]
        self._process = subprocess.Popen(command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        line = self._process.stdout.readline().decode()
        if not line:
            raise RuntimeError("the endpoint did not start")
        self.base_url = line.split()[-1]
        return self

    def __exit__(self, *_: object) -> None:
        with self._process:
            self._process.terminate()

    @property
    def pid(self) -> int:
        return self._process.pid

    def script(self, **script: Any) -> None:
        """The arguments of `Script`, in place of the script before. ValueError when one is not understood."""
        self._control("script", script)

    def requests(self) -> list[dict[str, Any]]:
        """`finished` is None until all of the answer was sent, `left` is when a client went before that."""
        return self._control("requests")

    def counts(self) -> dict[str, int]:
        """How many requests were received, finished and left, and how many were answered by each behaviour."""
        return self._control("counts")

    def reset(self) -> None:
        self._control("reset", {})

    def _control(self, name: str, body: dict | None = None) -> Any:
        request = Request(self.base_url.removesuffix("v1") + f"control/{name}")
        request.data = None if body is None else json.dumps(body).encode()
        try:
            with build_opener(ProxyHandler({})).open(request, timeout=30) as response:
                return json.load(response)
        except HTTPError as error:
            with error:
                raise ValueError(error.read().decode()) from None
