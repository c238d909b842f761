"""Programs that are awkward, greedy or hostile, each in the sandbox, while a site beside them answers.

    python -m tests.missions.rough [--short]

Prompts, full screens, secrets, floods, a fork bomb, memory, a disk and files that fill it, daemons and deaf programs:
each has to come to what stands here, and the site has to answer within a second all the while. Bounded: 1 GB of output
(20 MB in short), of which 1.25 MB are kept, 500 MB of disk, 256 processes. Exit status 0 if all is so.
"""

import argparse
import json
import shutil
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import cycle
from pathlib import Path

from missions.sandbox import bounds
from missions.sandbox.bwrap import MIB, available
from missions.terminals.drawn import text_of_command
from missions.terminals.output_spool import OutputSpool
from missions.terminals.wait_detection import InputWait
from tests.acceptance.site import ServedSite
from tests.missions.commands import Workshop, becomes, ended, until

GB, MB = 1_000_000_000, 1_000_000
ANSWERS_WITHIN = 1.0  # seconds
CURSES = "import curses; curses.wrapper(lambda screen: (screen.addstr('menu'), screen.getch()))"
BAR = r"for i in $(seq 1 100); do printf '\r%d %%' $i; sleep 0.01; done; echo"
BOMB = "bomb() { bomb | bomb & }; bomb; sleep 3"
DAEMON = "setsid setsid sleep 97531 & sleep 0.3; echo begun"
EMPTY = "exec python3 -c 'for n in range(10**7): open(str(n), chr(119)).close()'"
SMALL = {"temporary": MIB, "home": MIB, "shared": MIB}
NEEDS = {"a pager": "less", "an editor": "vi", "a passphrase": "openssl"}
Programs = dict[str, Callable[[Workshop], bool]]


def main(short: bool) -> bool:
    if lacking := available():
        print(lacking)
        return True
    home = Path(tempfile.mkdtemp(prefix="magi-rough-"))
    data = Path(tempfile.mkdtemp(prefix="magi-rough-site-"))
    with ServedSite(data) as site, watched(f"{site.url}/healthz", f"{site.url}/accounts/login/") as times:
        made = Workshop(home)
        try:
            well = [told(name, times, program, made) for name, program in programs(short).items()]
        finally:
            made.close()
            shutil.rmtree(home, ignore_errors=True)
    shutil.rmtree(data, ignore_errors=True)
    print(json.dumps({"site": {"asked": len(times), "slowest": round(max(times), 2)}}), flush=True)
    return all(well) and max(times) < ANSWERS_WITHIN


def reason(made: Workshop, command: str, **limits: int) -> str:
    return str(ended(made.begin(command, **limits))["reason"])


def told(name: str, times: list[float], program: Callable[[Workshop], bool], made: Workshop) -> bool:
    asked, began = len(times), time.monotonic()
    well = program(made)
    slowest = max(times[asked:], default=0.0)
    seconds = time.monotonic() - began
    print(
        json.dumps({"program": name, "well": well, "seconds": round(seconds, 1), "site": round(slowest, 2)}), flush=True
    )
    return well


@contextmanager
def watched(*addresses: str) -> Iterator[list[float]]:
    """How long the site takes to answer at each of these, again and again."""
    times, over = list[float](), threading.Event()

    def ask() -> None:
        for address in cycle(addresses):
            if over.wait(0.1):
                return
            began = time.monotonic()
            with urllib.request.urlopen(address, timeout=30) as answer:
                answer.read()
            times.append(time.monotonic() - began)

    asking = threading.Thread(target=ask)
    asking.start()
    try:
        yield times
    finally:
        over.set()
        asking.join()


# ---- programs -------------------------------------------------------------------------------------------------------


def programs(short: bool) -> Programs:
    flood = 20 * MB if short else GB
    asks: dict[str, tuple[str, InputWait, bytes]] = {
        "a Python prompt": ("python3 -q", InputWait.ASKS, b"print(6 * 7)\nexit()\n"),
        "a question": ("read -p 'Go on? ' said; [ $said = y ]", InputWait.ASKS, b"y\n"),
        "a pager": ("seq 1 1000 | less", InputWait.FULL_SCREEN, b"q"),
        "an editor": ("vi -u NONE new.txt", InputWait.FULL_SCREEN, b"iwritten\x1b:wq\r"),
        "a full screen": (f'python3 -c "{CURSES}"', InputWait.FULL_SCREEN, b"q"),
    }
    found = {name: answered(*one) for name, one in asks.items()} | {
        "a secret of the shell": wants_a_secret("read -s -p 'Word? ' word"),
        "a secret of a program": wants_a_secret("python3 -c 'import getpass; getpass.getpass()'"),
        "a passphrase": wants_a_secret("openssl genrsa -aes256 -out key 2048"),
        "a program that wants a user": no_user,
        "a progress bar": lambda made: made.done(BAR)[1].strip().count("\n") == 0,
        "a flood without an end": lambda made: ended(made.begin("yes", output=2 * MB))["reason"] == "too_much_output",
        f"{flood:,} bytes of output": floods(flood),
        "a fork bomb": bombs,
        "a disk that fills": fills,
        "memory of many processes": lambda made: (
            reason(made, f"python3 -c '{bounds.MEMORY}'", all_memory=64 * MIB, **SMALL) == "too_much_memory"
        ),
        "a full /dev/shm": lambda made: (
            made.done("dd if=/dev/zero of=/dev/shm/big bs=1M count=100 status=none", shared=8 * MIB)[0] != 0
        ),
        "empty files without an end": lambda made: (
            reason(made, EMPTY, entries=20_000 if short else 100_000) == "too_many_files"
        ),
        "a daemon of its own session": leaves_a_daemon,
        "a program that is deaf": is_deaf,
    }
    return {name: one for name, one in found.items() if name not in NEEDS or shutil.which(NEEDS[name])}


def answered(command: str, state: InputWait, keys: bytes) -> Callable[[Workshop], bool]:
    def program(made: Workshop) -> bool:
        spool = made.begin(command)
        becomes(spool, state)
        spool.type(1, keys)
        return bool(ended(spool)["code"] == 0)

    return program


def wants_a_secret(command: str) -> Callable[[Workshop], bool]:
    def program(made: Workshop) -> bool:
        spool = made.begin(command)
        becomes(spool, InputWait.PASSWORD)
        spool.stop("ended")
        return ended(spool)["reason"] == "ended"

    return program


def no_user(made: Workshop) -> bool:
    """Nobody is known by a name inside, so ssh and its kind end before they ask for a host's key or a secret."""
    return made.done("ssh -o BatchMode=no nobody@localhost true || echo refused")[1].endswith("refused\n")


def floods(size: int) -> Callable[[Workshop], bool]:
    def program(made: Workshop) -> bool:
        spool = made.begin(f"head -c {size} /dev/zero | tr '\\0' x; echo; echo last")
        until_ended(spool, 200)
        end = ended(spool)
        kept = (spool.folder / "out").stat().st_size
        return end["code"] == 0 and end["total"] >= size and kept < 2 * MB and b"last" in spool.said(-10).data

    return program


def until_ended(spool: OutputSpool, seconds: float) -> None:
    give_up = time.monotonic() + seconds
    while spool.end is None and time.monotonic() < give_up:
        time.sleep(0.1)


def bombs(made: Workshop) -> bool:
    """The next command beside it runs, and in the end nothing of it is there."""
    spool = made.begin(BOMB, seconds=4)
    time.sleep(0.5)
    code, _ = made.done("echo beside")
    until_ended(spool, 20)
    return code == 0 and spool.end is not None


def fills(made: Workshop) -> bool:
    limit = 500 * MB
    spool = made.begin("while :; do dd if=/dev/zero of=more$((++n)) bs=1M count=50 2>/dev/null; done", disk=limit)
    end = ended(spool)
    size = sum(one.stat().st_size for one in made.workspace.glob("more*"))
    for one in made.workspace.glob("more*"):
        one.unlink()
    print(json.dumps({"disk": f"{size / limit:.0%} of its limit"}), flush=True)
    return end["reason"] == "no_space" and size <= 1.15 * limit


def leaves_a_daemon(made: Workshop) -> bool:
    from tests.missions.test_terminals import living

    made.done(DAEMON)
    until(lambda: not living("97531"))
    return True


def is_deaf(made: Workshop) -> bool:
    spool = made.begin("trap '' INT TERM; echo begun; while :; do sleep 0.1; done")
    until(lambda: "begun" in text_of_command(spool))
    spool.stop("ended")
    return bool(ended(spool)["code"] != 0)


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--short", action="store_true", help="20 MB of output in place of 1 GB")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(0 if main(read_options().short) else 1)
