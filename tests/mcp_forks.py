"""Servers of `tests.mcp_server` that need not load its library, which is a second of a processor each time.

One process has loaded it. `command` names a small program (`tests.mcp_fork`) that is the server's process for whoever
starts it; a fork of the one that has loaded all does the work.
"""

import atexit
import functools
import gc
import importlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

from tests.mcp_fork import FILES
from tests.nursery import die_with_parent

PROGRAM = Path(__file__).with_name("mcp_fork.py")
LONGEST = 65_536
# what the library loads when it is first used
LATER = """
mcp.server.stdio mcp.server.streamable_http_manager uvicorn.lifespan.on uvicorn.loops.auto
uvicorn.protocols.http.auto uvicorn.protocols.websockets.auto
""".split()


def command(folder: Path, *port: int) -> tuple[str, ...]:
    """What starts a server that does as this folder says, spoken to by its input and output or at a port."""
    # -I -S: it finds nothing but what belongs to Python
    return (sys.executable, "-I", "-S", str(PROGRAM), _place(), str(folder), *map(str, port))


@functools.cache
def _place() -> str:
    """Where orders are taken; those that come before all is loaded wait."""
    folder = tempfile.mkdtemp(prefix="magi-forks-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as door:
        door.bind(f"{folder}/door")
        door.listen(64)
        words, root = ["-m", "tests.mcp_forks", str(door.fileno())], Path(__file__).parent.parent
        process = subprocess.Popen([sys.executable, *words], cwd=root, pass_fds=[door.fileno()])
    atexit.register(process.wait)
    atexit.register(process.kill)
    return f"{folder}/door"


# ---- the one that has loaded all -------------------------------------------------------------------------------


def take_orders(door: socket.socket) -> NoReturn:
    die_with_parent()
    serve = importlib.import_module("tests.mcp_server").main
    for name in LATER:
        importlib.import_module(name)
    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody asks how they ended
    while True:
        order, _ = door.accept()
        if not os.fork():
            door.close()
            live(order, serve)
        order.close()


def live(order: socket.socket, serve: Callable[[list[str]], None]) -> NoReturn:
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        told, files, _, _ = socket.recv_fds(order, LONGEST, len(FILES))
        for file, number in zip(files, FILES, strict=True):
            os.dup2(file, number)
            os.close(file)
        wanted = json.loads(told)
        os.chdir(wanted["cwd"])
        os.environ.clear()
        os.environ.update(wanted["env"])
        threading.Thread(target=end_with, args=[order], daemon=True).start()
        serve(wanted["words"])
    finally:
        os._exit(0)


def end_with(order: socket.socket) -> None:
    """Whoever gave the order has gone when something comes of it: there is nothing more to say."""
    order.recv(1)
    os._exit(1)


if __name__ == "__main__":
    take_orders(socket.socket(fileno=int(sys.argv[1])))
