"""docs/servers.md: what each server sends and what comes of it, counted."""

from collections import Counter, defaultdict
from pathlib import Path

from tests.served import REFUSED, SENT
from tests.served.sent import READ

DOCUMENT = Path(__file__).parents[2] / "docs" / "servers.md"


def document() -> str:
    read, told, odd = Counter(), Counter(), defaultdict(set)
    for one in SENT:
        (read if one.ends == READ else told)[one.server] += 1
        odd[one.server] |= set() if one.ends == READ else {one.ends}
    for error in REFUSED:
        told[error.server] += 1
        odd[error.server].add(error.ends)
    servers = sorted({*read, *told}, key=str.lower)
    rows = "\n".join(
        f"| {name} | {read[name]} | {told[name]} | {', '.join(f'`{code}`' for code in sorted(odd[name]))} |"
        for name in servers
    )
    return f"""# What servers send

{len(SENT)} streams and bodies and {len(REFUSED)} errors, as {len(servers)} servers and gateways document them or as it
was reported of them: oddities of the envelope, ends, thinking, waits, and each server's own words for a refused key, a
prompt that is too long or a schema that it does not take. Every answer is read, every other is the failure that it has
to be, and no answer that is cut at any place is taken as a whole one. They were written for the tests, in
tests/served; where a row says that a shape is read, the shape is, not every release of that server.

`python -m tests.served` writes this page; the suite plays all of it and compares.

| server | answers read | failures told | their codes |
|---|---:|---:|---|
{rows}
"""
