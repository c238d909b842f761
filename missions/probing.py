"""Whether commands can be held here, and whether the sandbox keeps in what would get out."""

import asyncio
import shutil
import time
from pathlib import Path
from uuid import uuid4

from django.conf import settings

from engine.doctor import Finding

from . import workshop
from .sandbox.probe import LONGEST, probe, stand_in
from .tools.commands import screen_of

CHECKOUT = Path(__file__).resolve().parent.parent


def probed(*, tries: bool) -> tuple[bool, str]:
    """Whether it holds, and a sentence."""
    if lacking := workshop.missing():
        return False, lacking
    if not tries:
        return True, "Commands can be held here. --probe tries what a hostile program would."
    mission = f"probe-{uuid4().hex[:8]}"
    try:
        with stand_in(_database(), CHECKOUT) as told:
            found = probe(lambda program: _run(mission, program), told)
    finally:
        shutil.rmtree(workshop.place(mission), ignore_errors=True)
    return found.holds, str(found)


def _database() -> Path:
    """A file of the record that nobody inside may read; with a server of its own, the folder of the keys."""
    name = settings.DATABASES["default"]["NAME"]
    return (
        Path(name) if "sqlite" in settings.DATABASES["default"]["ENGINE"] else Path(settings.ENVIRONMENT.MAGI_DATA_DIR)
    )


def _run(mission: str, program: tuple[str, ...]) -> str:
    workshop.begin(mission, "probe", program, seconds=int(LONGEST))
    spool = workshop.spool(mission, "probe")
    until = time.monotonic() + LONGEST + 20
    while spool.end is None and time.monotonic() < until:
        time.sleep(0.05)
    return screen_of(spool).text


async def examine() -> Finding | None:
    holds, sentence = await asyncio.to_thread(lambda: probed(tries=True))
    return Finding("sandbox", holds, sentence)
