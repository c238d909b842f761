"""tmux, to compare with: the screens of a terminal that many people know."""

import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from shutil import which

LONGEST = 20.0


def missing(*programs: str) -> str:
    """Which of them the machine lacks, in a sentence; tmux is one of them always."""
    lacking = [one for one in ("tmux", *programs) if not which(one)]
    return f"Not installed: {', '.join(lacking)}." if lacking else ""


class Panes:
    """One tmux, with a window for each program."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._socket = folder, str(folder / "tmux")
        self._tmux("-f", "/dev/null", "new-session", "-d", "-s", "all", "-x", "120", "-y", "40", "sleep 600")
        self._tmux("set-option", "-g", "status", "off")

    def _tmux(self, *words: str) -> str:
        command = ["tmux", "-S", self._socket, *words]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    def replayed(self, name: str, said: bytes, rows: int = 40, columns: int = 120) -> str:
        """The screen after just these bytes."""
        file, done = self._folder / f"{name}.said", self._folder / f"{name}.done"
        file.write_bytes(said)
        self._tmux("new-window", "-d", "-n", name, f"stty raw -echo; sleep 0.1; cat {file}; touch {done}; sleep 600")
        self._tmux("resize-window", "-t", f"all:{name}", "-x", str(columns), "-y", str(rows))
        until = time.monotonic() + LONGEST
        while not done.exists() and time.monotonic() < until:
            time.sleep(0.02)
        self._tmux("run-shell", "true")  # tmux has read what came before
        return self.screen(name)

    def replayed_together(self, many: Sequence[bytes], rows: int, columns: int) -> list[tuple[str, tuple[int, int]]]:
        """The screen and the cursor after each of these, drawn at the same time."""
        window = f"stty raw -echo; cat {self._folder}/said-%d; exec sleep 600"
        size = ("-x", str(columns), "-y", str(rows))
        commands = ["new-session", "-d", "-s", "small", *size, "sleep 600"]
        for number, said in enumerate(many):
            # the title comes last, so that whoever reads it knows that all before it was drawn
            (self._folder / f"said-{number}").write_bytes(said + b"\x1b]2;drawn\x1b\\")
            commands += [";", "new-window", "-d", "-t", f"small:{number + 1}", window % number]
        self._tmux(*commands)
        titles, until = (
            ["list-panes", "-s", "-t", "small", "-F", "#{window_index} #{pane_title}"],
            time.monotonic() + LONGEST,
        )
        while self._tmux(*titles).count(" drawn\n") < len(many):
            assert time.monotonic() < until, self._tmux(*titles)
            time.sleep(0.02)
        found = []
        for number in range(1, len(many) + 1):
            there = ("-p", "-t", f"small:{number}")
            place = ("display", *there, "#{cursor_y} #{cursor_x}")
            *lines, place = self._tmux("capture-pane", *there, ";", *place).split("\n")[:-1]
            row, column = map(int, place.split())
            found.append(("\n".join(map(str.rstrip, lines)).rstrip("\n"), (row, min(column, columns - 1))))
        self._tmux("kill-session", "-t", "small")
        return found

    def screen(self, name: str) -> str:
        shown = self._tmux("capture-pane", "-p", "-t", f"all:{name}")
        return "\n".join(line.rstrip() for line in shown.split("\n")).rstrip("\n")

    def cursor(self, name: str) -> tuple[int, int]:
        """Row and column, from 0."""
        row, column = self._tmux("display", "-p", "-t", f"all:{name}", "#{cursor_y} #{cursor_x}").split()
        return int(row), int(column)

    def close(self) -> None:
        self._tmux("kill-server")
