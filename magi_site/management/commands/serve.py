import asyncio
import socket
import sys
from argparse import ArgumentParser
from collections.abc import Iterator
from typing import Any, cast

# Importing daphne.server chooses Twisted's asyncio reactor; it must come before anything else of Twisted.
from daphne.server import Server  # isort: skip
from daphne.endpoints import build_endpoint_description_strings
from django.conf import settings
from django.core.management.base import CommandError
from django.db import ProgrammingError
from twisted.internet import defer, reactor

from engine import console, tables
from engine.audit import sealing
from engine.queue.worker import Worker, log_task_failure
from magi_site.asgi import application
from magi_site.automation_endpoint import USER_PRINCIPAL_ID
from magi_site.first_login import first_administrator_link
from runs.site_url import note_served_at

GRACE_SECONDS = 10.0  # for runs of this process to reach a safe point before it ends
INSUFFICIENT_PRIVILEGE = "42501"  # SQLSTATE of PostgreSQL


class SiteServer(Server):
    """Passes on the header `user_principal_id`; Daphne drops all headers with an underscore.

    Only `UserPrincipalAuth` reads it, to compare it with the owner of the token.
    """

    def create_application(self, protocol: Any, scope: dict[str, Any]) -> Any:
        if scope["type"] == "http":
            named = protocol.requestHeaders.getRawHeaders(USER_PRINCIPAL_ID, [])
            scope["headers"] += [(USER_PRINCIPAL_ID, value) for value in named]
        return super().create_application(protocol, scope)


class Command(console.ConsoleCommand):
    needs_tables = False
    help = "Site and engine in one process."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--host", default="127.0.0.1")
        parser.add_argument("--port", type=int, default=8000)
        parser.add_argument("--no-engine", action="store_true", help="the site alone; judgements wait for an engine")

    def handle(self, *, host: str, port: int, no_engine: bool, **options: Any) -> None:
        if settings.ENVIRONMENT.local and host not in ("127.0.0.1", "localhost", "::1"):
            raise CommandError(
                f"{host} can be reached by other machines. Name the site's host in ALLOWED_HOSTS and put a "
                "proxy with https before it, or serve on 127.0.0.1."
            )
        _refuse_taken_port(host, port)
        if not tables.are_up_to_date():
            self.stdout.write("Preparing the database ...")
            self.stdout.flush()
        _migrate()
        if adopted := sealing.adopt_unsealed_runs():
            self.stdout.write(f"Sealed {adopted:,} judgements that ended before the audit log existed.")
        origin = f"http://{f'[{host}]' if ':' in host else host}:{port}"
        if settings.ENVIRONMENT.local:
            note_served_at(origin)
        self._print_welcome(origin)
        server = SiteServer(
            application,
            endpoints=build_endpoint_description_strings(host=host, port=port),
            ready_callable=None if no_engine else self._start_engine,
            server_name="",
            ping_interval=20,
        )
        server.run()

    def _print_welcome(self, origin: str) -> None:
        self.stdout.write(f"MAGI is at {origin}/\n\n")
        for label, value in _facts(origin):
            self.stdout.write(f"  {label:8} {value}")
        self.stdout.write("")
        self.stdout.flush()

    def _start_engine(self) -> None:
        """Start the engine on the server's event loop, which runs when this is called."""
        engine = Worker()
        self._performing = asyncio.get_event_loop().create_task(engine.run())
        self._performing.add_done_callback(log_task_failure)

        def stop() -> defer.Deferred:
            return defer.Deferred.fromFuture(asyncio.ensure_future(engine.stop(grace=GRACE_SECONDS)))

        cast(Any, reactor).addSystemEventTrigger("before", "shutdown", stop)


def _facts(origin: str) -> Iterator[tuple[str, str]]:
    """Pairs of label and value to print at start."""
    if path := first_administrator_link():
        yield "Sign in", f"{origin}{path}"
        yield "", "as the first administrator, with a link that works once"
    if settings.PROVIDERS:
        yield "Models", f"of {', '.join(settings.PROVIDERS)}; where none is named, {settings.DEFAULT_MODEL}"
    else:
        yield "Models", "none is set up: agents rehearse, by a stated rule and at no cost"
    yield "Data", _data()
    if sys.stdout.isatty():
        yield "Stop", "Ctrl+C"


def _data() -> str:
    database = settings.DATABASES["default"]
    if "sqlite" in database["ENGINE"]:
        return str(database["NAME"])
    return f"{database['NAME']} on {database['HOST'] or 'this machine'}, keys in {settings.ENVIRONMENT.MAGI_DATA_DIR}"


def _migrate() -> None:
    try:
        tables.migrate()
    except ProgrammingError as error:
        if getattr(error.__cause__, "sqlstate", "") != INSUFFICIENT_PRIVILEGE:
            raise
        raise CommandError(
            "The database waits for a migration that this role may not make. Run manage.py migrate as the role that "
            "owns the tables, then deploy/application_role.sql."
        ) from error


def _refuse_taken_port(host: str, port: int) -> None:
    """Raise CommandError before anything is printed: a sign-in link must never lead to another program's server."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise CommandError(
                f"Port {port} of {host} cannot be used: {error.strerror}. PORT= names another."
            ) from error
