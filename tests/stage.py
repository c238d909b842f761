"""A place for rough tests: a folder, servers of their own kind, and a database with MAGI's tables, gone at the end."""

import contextlib
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from tests.acceptance.site import environment, kept_file
from tests.services import Postgres, RedisServer, postgres_programs

DATABASES = ("sqlite", "postgres")
NAME = "magi"


@dataclass
class Stage:
    """`env` is for every process that is started here; this one has it too."""

    folder: Path
    env: dict[str, str]
    postgres: Postgres | None = None
    redis: RedisServer | None = None


@contextlib.contextmanager
def stage(database: str, **more: str) -> Iterator[Stage]:
    """Ends with everything in it, also when this process is told to end."""
    tidy_on_signals()
    folder = Path(tempfile.mkdtemp(prefix="magi-"))
    folder.chmod(0o711)  # PostgreSQL runs as another user
    with contextlib.ExitStack() as stack:
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        made = Stage(folder, {})
        if database == "postgres":
            kept = kept_cluster()
            migrated = kept.exists()
            made.postgres = stack.enter_context(Postgres(folder, kept))
            made.redis = stack.enter_context(RedisServer(folder))
            address = made.postgres.url(NAME) if migrated else made.postgres.create(NAME)
            more |= {"DATABASE_URL": address, "REDIS_URL": made.redis.url}
        made.env = environment(folder, **more)
        set_up(made.env)
        if database == "postgres" and not migrated:
            keep(made.postgres, kept)
        yield made


def kept_cluster() -> Path:
    """Where a PostgreSQL with MAGI's tables is kept: to make one anew takes 7 s of a processor."""
    programs = postgres_programs()
    version = programs.parent.name if programs else "none"
    return kept_file(f"postgres_{version}", "tests/services.py").with_suffix("")


def keep(postgres: Postgres, kept: Path) -> None:
    from django.db import connections

    connections.close_all()  # the server restarts
    postgres.keep(kept)
    for stale in sorted(kept.parent.iterdir(), key=lambda folder: folder.stat().st_mtime)[:-3]:
        shutil.rmtree(stale, ignore_errors=True)


def tidy_on_signals() -> None:
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, leave)


def leave(number: int, _: object) -> NoReturn:
    """By way of every `with` that is open. A second signal must not cut that short."""
    for other in (signal.SIGTERM, signal.SIGINT):
        signal.signal(other, signal.SIG_IGN)
    sys.exit(128 + number)


def set_up(env: dict[str, str]) -> None:
    """Settings read the environment when they are imported: nothing that imports them may come before this."""
    os.environ.clear()
    os.environ.update({"DJANGO_SETTINGS_MODULE": "magi_site.settings", "TMPDIR": tempfile.gettempdir()} | env)
    import django
    from django.conf import settings
    from django.core.management import call_command

    # a test has few connections and closes them itself; a pool would hold on to a server that is gone
    settings.DATABASES["default"].get("OPTIONS", {}).pop("pool", None)
    django.setup()
    call_command("migrate", verbosity=0)
