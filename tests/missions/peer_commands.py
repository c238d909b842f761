"""The small goals as whoever has a shell alone expresses them: a command for each step of ours, where that can be."""

import os
import signal
import time
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

from tests.missions.goals import PATCH

Command = str | Callable[[Path], str]
PATIENCE = 20.0
FIRST = sha256(b"first\n").hexdigest()


def cut(folder: Path) -> str:
    """What runs in the background dies, as the keeper of ours does."""
    until = time.monotonic() + PATIENCE
    while not (folder / "count").exists() and time.monotonic() < until:
        time.sleep(0.02)
    os.kill(int((folder / "pid").read_text()), signal.SIGKILL)
    return "sleep 0.05; kill -0 $(cat pid) 2>/dev/null && echo lives || echo gone"


def _patched(patch: str) -> str:
    return f"git apply - <<'END'\n{patch}END"


COMMANDS: dict[str, tuple[Command, ...]] = {
    "fix a test": (
        "python3 -B test_sums.py",
        "sed -i 's/a - b/a + b/' sums.py",
        "python3 -B test_sums.py 2>&1 | tail -1",
    ),
    "rename over files": ("grep -rn old_name .", "sed -i s/old_name/new_name/ a.py b.py", "grep -rn old_name ."),
    "parse a log": ("head -3 log", "grep -c ERROR log > errors; cat errors"),
    "answer a prompt": ("echo Ada | bash -c \"read -p 'Name? ' name; echo \\$name > said\"",),
    "run and query a server": (
        "python3 server.py > /dev/null 2>&1 < /dev/null & echo $! > pid",
        "python3 asks.py > said; cat said",
        "kill $(cat pid)",
    ),
    "patch": (_patched(PATCH.replace("eins", "zwei")), _patched(PATCH)),
    "conflict": (
        "cat a",
        "echo theirs >> a",
        f"echo '{FIRST}  a' | sha256sum -c && echo mine > a",
        "cat a",
        "sed -i s/first/mine/ a",
    ),
    "recover from a cut command": (
        "sh -c 'echo begun >> count; exec sleep 600' > /dev/null 2>&1 < /dev/null & echo $! > pid",
        cut,
        "cat count",
    ),
}
TYPED = {"answer a prompt": (("read -p 'Name? ' name; echo $name > said", 0.5), ("Ada", 0.0))}
"""In a terminal that can be typed into: what is typed, and after how long it is looked at although it has not ended."""

WITHOUT = {
    "spawn a tester": "they have one agent",
    "have a memory kept": "they keep nothing from one task to the next",
}
