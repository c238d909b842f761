"""The cast of the tests: people, a judgement's agents, and a model that answers from a script."""

import asyncio
import contextlib
import json
import os
import shutil
import socket
import sqlite3
import threading
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from functools import partial
from typing import Any, TypeVar, cast

import pytest
from asgiref.sync import SyncToAsync
from django.contrib.auth.models import Permission, User
from django.core.management.color import no_style
from django.core.management.sql import emit_post_migrate_signal
from django.db import connection, connections, transaction
from django.test import TransactionTestCase, override_settings
from hypothesis import HealthCheck, settings

from engine import reader
from engine.evidence import guards, sealing
from engine.llm.answer import Reply
from engine.llm.failures import CallFailed
from engine.llm.forms import AnswerForm, Growth, Message, Way
from engine.models import Run
from engine.worker import Engine
from engine.writer import Writer
from judgements.models import Council, Judgement
from magi_site.groups import make_groups
from tests import services
from tests.acceptance.chromium import program

# MAGI_TEST_EXAMPLES=100000 makes the property tests long; the suite is quick and the same every time
examples = int(os.environ.get("MAGI_TEST_EXAMPLES", 0))
settings.register_profile("long", max_examples=examples or 100, deadline=None, suppress_health_check=list(HealthCheck))
settings.register_profile("suite", deadline=None, derandomize=True)
settings.load_profile("long" if examples else "suite")

T = TypeVar("T")
JAPAN = "I am going to travel to Japan next week."
NAMES = ("Melchior", "Balthasar", "Casper")
NOBODYS_ID = "00000000-0000-4000-8000-000000000000"  # the same in every process, for names of tests


def agents(*models: str) -> list[dict[str, str]]:
    """Three agents; their criteria name them, so that a prompt shows whose it is."""
    models = models or ("rehearsal/instant",) * 3
    return [
        {"name": name, "model": model, "criteria": f"Criteria of {name}."}
        for name, model in zip(NAMES, models, strict=True)
    ]


def says(decision: str, reason: str = "Because the criteria say so.") -> str:
    return json.dumps({"reason": reason, "decision": decision})


class ScriptedModels:
    """Stands where the models stand: answers from a queue per model, and remembers what it was asked."""

    timeout = 120.0

    def __init__(self) -> None:
        self.script: dict[str, list[str | CallFailed]] = defaultdict(list)
        self.asked: list[tuple[str, list[Message]]] = []

    def will(self, model: str, *answers: str | CallFailed) -> None:
        self.script[model] += [says(a) if a in ("approve", "reject") else a for a in answers]

    async def load(self) -> None:
        pass

    def place(self, model: str) -> asyncio.Semaphore:
        return asyncio.Semaphore()

    def way(self, model: str) -> Way:
        return Way()

    async def ask(
        self, model: str, messages: list[Message], form: AnswerForm[Any], on_growth: Growth, way: Way
    ) -> Reply:
        self.asked.append((model, messages))
        await asyncio.sleep(0)
        answer = self.script[model].pop(0) if self.script[model] else says("approve")
        if isinstance(answer, CallFailed):
            raise answer
        return Reply(text=answer, finish="stop", model=f"{model}-2026")

    async def close(self) -> None:
        pass


async def perform(run_id: object, models: ScriptedModels | None = None) -> Run:
    """Let an engine perform one run to its end."""
    engine = Engine(models=models)
    performing = asyncio.create_task(engine.run())
    try:
        async with asyncio.timeout(20):
            while not (run := await Run.objects.aget(pk=run_id)).over:
                await asyncio.sleep(0.01)
    finally:
        await engine.stop(grace=0)
        await performing
    return run


def claim(worker: str, places: int = 1, *args: Any, **options: Any) -> list[Run]:
    """What an engine does of a claim, in one transaction."""
    with transaction.atomic():
        claimed = Run.objects.claim(worker, places, *args, **options)
        sealing.seal_ended(claimed.failed)
    return claimed.runs


def at_once(*work: Callable[[], T], refused: type[Exception]) -> list[T | Exception]:
    """What each of these comes to, done or refused, in threads that begin together."""
    together = threading.Barrier(len(work))

    def do(one: Callable[[], T]) -> T | Exception:
        together.wait()
        try:
            return one()
        except refused as error:
            return error
        finally:
            connections.close_all()

    with ThreadPoolExecutor(len(work)) as threads:
        return list(threads.map(do, work))


@contextlib.contextmanager
def tampering() -> Iterator[None]:
    """For a while the database refuses nothing: what somebody could do who owns it, and what a test's end has to do.

    Foreign keys are not looked at either, unless a transaction is open on SQLite. On PostgreSQL all this is true of
    this thread's connection alone.
    """
    if connection.vendor == "sqlite":
        connection.disable_constraint_checking()  # as in a shell of sqlite3
        guards.lift(connection, guards.all_guards())
        try:
            yield
        finally:
            guards.install(connection, guards.all_guards())
            connection.enable_constraint_checking()
        return
    with connection.cursor() as cursor:
        cursor.execute("SET session_replication_role = replica")
        try:
            yield
        finally:
            cursor.execute("SET session_replication_role = DEFAULT")


def _emptied() -> Callable[[], None]:
    """An empty gate with its groups, in which every test begins; what it returns goes back to just that.

    Django's own way after a test that commits (delete from all tables, make permissions anew) takes 0.2 s.
    """
    flush = connection.ops.sql_flush(no_style(), connection.introspection.django_table_names(only_existing=True))
    with transaction.atomic(), tampering(), connection.cursor() as cursor:
        for statement in flush:
            cursor.execute(statement)
    emit_post_migrate_signal(verbosity=0, interactive=False, db=connection.alias)
    make_groups()  # a migration brought them; by now there are permissions again
    if connection.vendor == "sqlite":
        copy = sqlite3.connect(":memory:", check_same_thread=False)
        connection.connection.backup(copy)
        return partial(_copy_back, copy)
    return partial(_fill_again, *_kept())


def _copy_back(copy: sqlite3.Connection) -> None:
    connection.ensure_connection()
    copy.backup(connection.connection)


_made: dict[Callable[..., Any], tuple[Any, sqlite3.Connection]] = {}


def once(make: Callable[..., T], *args: Any) -> T:
    """What `make` returns and leaves in the database, made by the first test that asks and copied for all others.

    For tests that commit and begin alike. On PostgreSQL it is made each time: nothing there copies so quickly.
    """
    if connection.vendor != "sqlite":
        return make(*args)
    if make in _made:
        made, copy = _made[make]
        _copy_back(copy)
        return cast(T, made)
    made, copy = make(*args), sqlite3.connect(":memory:", check_same_thread=False)
    connection.connection.backup(copy)
    _made[make] = made, copy
    return made


def _kept() -> tuple[list[str], list[str]]:
    """All tables of PostgreSQL, and those of them that have rows now, which are copied aside."""
    with connection.cursor() as cursor:
        cursor.execute("CREATE SCHEMA kept")
        tables = [table for table in connection.introspection.table_names(cursor) if table != "django_migrations"]
        filled = []
        for table in tables:
            cursor.execute(f'CREATE TABLE kept."{table}" AS TABLE "{table}"')
            if cursor.rowcount:
                filled.append(table)
    return tables, filled


def _fill_again(tables: Sequence[str], filled: Sequence[str]) -> None:
    again = [f'DELETE FROM "{table}"' for table in tables]
    again += [f'INSERT INTO "{table}" OVERRIDING SYSTEM VALUE TABLE kept."{table}"' for table in filled]
    with transaction.atomic(), tampering(), connection.cursor() as cursor:
        cursor.execute(";".join(again))


@contextlib.contextmanager
def submitted_at(moment: datetime) -> Iterator[None]:
    """Runs that are submitted meanwhile were submitted at this moment; nothing can change that later."""
    created = Run._meta.get_field("created")
    now = created._get_default
    created._get_default = lambda: moment
    try:
        yield
    finally:
        created._get_default = now


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    with django_db_blocker.unblock(), pytest.MonkeyPatch.context() as patched:
        go_back = _emptied()
        patched.setattr(TransactionTestCase, "_fixture_teardown", lambda case: go_back())
        yield
    if hasattr(connection, "close_pool"):
        connection.close_pool()  # PostgreSQL drops no database that a pooled connection still uses


@pytest.fixture(scope="session", autouse=True)
def _quick_passwords() -> Iterator[None]:
    """A slow hash for every test's users would be a minute of the suite. Servers in processes of their own keep it."""
    with override_settings(PASSWORD_HASHERS=["django.contrib.auth.hashers.MD5PasswordHasher"]):
        yield


@pytest.fixture(autouse=True)
def _no_connection_stays_behind() -> Iterator[None]:
    """Async ORM calls share one thread, whose connection would outlive the test."""
    yield
    SyncToAsync.single_thread_executor.submit(connections.close_all).result()
    reader.close()


@pytest.fixture
async def writer() -> AsyncIterator[Writer]:
    writer = Writer("test")
    yield writer
    await writer.close()


@pytest.fixture
def models() -> ScriptedModels:
    return ScriptedModels()


@pytest.fixture
def mira(db: None) -> User:
    return User.objects.create_user("mira", password="a long enough secret")


@pytest.fixture
def noor(db: None) -> User:
    return User.objects.create_user("noor", password="a long enough secret")


@pytest.fixture
def reviewer(db: None) -> User:
    return User.objects.create_superuser("reviewer", password="a long enough secret")


def allow(user: User, *names: str) -> User:
    """The user with these permissions of its own, as in `engine.view_run`, read again."""
    given = [Permission.objects.get(content_type__app_label=a, codename=c) for a, c in (n.split(".") for n in names)]
    user.user_permissions.add(*given)
    return User.objects.get(pk=user.pk)


@pytest.fixture
def judgement(mira: User) -> Judgement:
    """One that waits to be judged, by agents that ask three different models."""
    return Judgement.objects.submit(owner=mira, content=JAPAN, agents=agents("openai/a", "openai/b", "openai/c"))


@pytest.fixture
def council(db: None) -> Council:
    agents = [{"name": n, "model": "", "criteria": f"Criteria of {n}.", "fallback": ""} for n in NAMES]
    return Council.objects.found(name="Magi", agents=agents, owner=None)


@pytest.fixture
def provider(settings: Any) -> None:
    settings.PROVIDERS = {"openai": {"base_url": "http://127.0.0.1:9/v1", "api_key": "sk-canary-1234567890"}}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "db" in item.fixturenames or item.get_closest_marker("django_db"):
            item.add_marker("database")
    # workers share the files, in this order: those that take longest must not come last
    longest = "accessibility chaos browser injection faults live_updates live_page simulation".split()
    places = {f"test_{name}.py": place for place, name in enumerate(longest)}
    items.sort(key=lambda item: places.get(item.path.name, 50 + ("acceptance" not in item.path.parts)))


def only_on(vendor: str) -> Callable[[Any], Any]:
    """Of a test that says nothing on the other database: there it does not exist. It stands above all marks."""
    return lambda test: test if connection.vendor == vendor else None


# ---- what the machine must have -------------------------------------------------------------------------------

REQUIRED = set(filter(None, os.environ.get("MAGI_TEST_REQUIRE", "").split(",")))


def need(what: str, there: bool, reason: str) -> None:
    if there:
        return
    if what in REQUIRED:
        pytest.fail(f"{reason}, and MAGI_TEST_REQUIRE asks for it")
    pytest.skip(reason)


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture(scope="session")
def chromium() -> str:
    path = program()
    need("browser", bool(path), "Chromium is not installed")
    return path


@pytest.fixture(scope="session")
def nginx() -> str:
    path = shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin") or ""
    need("nginx", bool(path and shutil.which("openssl")), "nginx or openssl is not installed")
    return path


@pytest.fixture(scope="session")
def litellm() -> str:
    """The program of a LiteLLM proxy in an environment of its own: it needs an older openai than we do."""
    path = os.environ.get("MAGI_TEST_LITELLM", "")
    need("litellm", bool(path), "MAGI_TEST_LITELLM names no LiteLLM proxy")
    return path


@pytest.fixture(scope="session")
def redis_url() -> str:
    need("redis", _listens(6379), "no Redis listens on port 6379")
    return "redis://127.0.0.1:6379/9"


@pytest.fixture(scope="session")
def postgres_url() -> str:
    need("postgres", _listens(5432), "no PostgreSQL listens on port 5432")
    return os.environ.get("MAGI_TEST_POSTGRES", "postgres://postgres@127.0.0.1:5432/postgres")


@pytest.fixture(scope="session")
def own_servers() -> None:
    """Servers of its own can be started by a test that stops and crashes them."""
    need("postgres", services.available(), "PostgreSQL, Redis or setpriv is not installed")
