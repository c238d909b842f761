"""What servers send, as they document it or as it was reported of them; written by ourselves, reduced to its shape.

`SENT` are the answers, in a stream or one body, `REFUSED` the errors with a status. `python -m tests.served` writes
docs/servers.md from them.
"""

from tests.served.refused import REFUSED
from tests.served.sent import SENT

__all__ = ["REFUSED", "SENT"]
