"""A program that acts behind a gate: it writes down what it did, and says how it ended. `tests.crash.caller` kills it.

python tests/crash/gate_actor.py COUNCIL FILE KEY WORD
"""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "client"))
from magi import AlreadyDone, gate

council, file, key, word = sys.argv[1:]


@gate(council, key=lambda key, what: key, rehearsal=True)
def act(key: str, what: dict) -> None:
    handle = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(handle, f"{key} {what['word']}\n".encode())
    os.fsync(handle)


try:
    act(key, {"word": word})
except AlreadyDone:
    print("already done")
else:
    print("done")
