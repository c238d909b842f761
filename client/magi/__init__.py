"""Ask MAGI before you act. Needs nothing but Python.

from magi import Magi, gate

magi = Magi("https://magi.example", token)
if magi.judge("Deploy release 4.12 on Friday.", council="Release gate").approved: ...

@gate("Release gate")
def deploy(release: str) -> None: ...
"""

from ._client import AsyncMagi, Magi, RunResult
from ._gate import AlreadyDone, NotApproved, gate
from ._wire import MagiError, MagiUnreachable

__all__ = ["AlreadyDone", "AsyncMagi", "Magi", "MagiError", "MagiUnreachable", "NotApproved", "RunResult", "gate"]
