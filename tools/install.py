"""Install locked requirements, and say on a terminal how far that is. Into a log only what went wrong is said.

`python tools/install.py REQUIREMENTS [OPTION OF PIP ...]`, with the Python that they are for. pip alone says nothing,
or several lines for each package.
"""

import re
import subprocess
import sys
import sysconfig
import threading
from pathlib import Path

PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--require-hashes"]
PIP += ["--only-binary", ":all:"]
POLL_SECONDS = 0.2  # seconds
WIDTH = 60


class InstallProgress:
    """What pip has said so far. It names each package that it fetches, and then is silent until all are in place."""

    def __init__(self, number, place):
        self.number, self.fetched, self._name = number, 0, ""
        self._place, self._placing = place, False
        self._before = self._in_place()

    def _in_place(self):
        return sum(1 for _ in self._place.glob("*.dist-info"))

    def hear(self, line):
        word, _, rest = line.strip().partition(" ")
        if word == "Ignoring":  # it is for another system
            self.number -= 1
        elif word == "Collecting" or line.startswith("Requirement already satisfied"):
            self.fetched += 1
            self._name = re.split("[=[ ;]", rest.replace("already satisfied: ", ""))[0]
        elif line.startswith("Installing collected packages"):
            self._placing = True

    def __str__(self):
        if self._placing:
            return f"  put in place {min(self._in_place() - self._before, self.number)} of {self.number}"
        return f"  fetched {self.fetched} of {self.number}  {self._name}" if self.fetched else "  looking for packages"


def install(requirements, options, out):
    """Its exit status. Something moves on `out` if that is a terminal."""
    number = len(re.findall(r"^[\w.-]+(?:\[[\w,-]+\])?==", Path(requirements).read_text(), re.MULTILINE))
    progress, said = InstallProgress(number, Path(sysconfig.get_paths()["purelib"])), []
    command = [*PIP, *options, "-r", requirements]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as pip:  # noqa: S603
        listening = threading.Thread(target=_listen, args=(pip.stdout, progress, said))
        listening.start()
        while listening.is_alive():
            listening.join(POLL_SECONDS)
            _show(str(progress), out)
    _show("", out)
    if pip.returncode:
        errors = [line for line in said if line.startswith(("ERROR", "error"))]
        out.write("".join(errors or said[-20:]))
    return pip.returncode


def _listen(lines, progress, said):
    for line in lines:
        said.append(line)
        progress.hear(line)


def _show(text, out):
    if out.isatty():
        out.write(f"\r{text[:WIDTH]:{WIDTH}}" if text else f"\r{'':{WIDTH}}\r")
        out.flush()


if __name__ == "__main__":
    sys.exit(install(sys.argv[1], sys.argv[2:], sys.stderr))
