"""Ask MAGI before you act. Needs nothing but Python.

from magi import Magi, gate

magi = Magi("https://magi.example", token)
if magi.judge("Deploy release 4.12 on Friday.", council="Release gate").approved: ...

@gate("Release gate")
def deploy(release: str) -> None: ...
"""

from ._client import AsyncMagi, Magi, Run
from ._gate import AlreadyDone, NotApproved, gate
from ._wire import MagiError, Unreachable

__all__ = ["AlreadyDone", "AsyncMagi", "Magi", "MagiError", "NotApproved", "Run", "Unreachable", "gate"]
