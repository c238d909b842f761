"""The cast of the tests: people, a judgement's agents, and a model that answers from a script."""

import asyncio
import contextlib
import gc
import json
import os
import shutil
import socket
import threading
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar
from uuid import UUID

import pytest
from asgiref.sync import SyncToAsync, sync_to_async
from django.contrib.auth.models import Permission, User
from django.db import connection, connections, transaction
from django.test import Client, override_settings

from engine.audit import sealing
from engine.db import cached_sql, reader
from engine.llm.errors import CallFailed
from engine.llm.queues import ProviderQueue
from engine.llm.response_format import ChatMessage, PreviewText, RequestMode, ResponseFormat
from engine.llm.streaming import ModelReply
from engine.models import Run
from engine.queue.worker import Worker
from engine.runtime.writer import Writer
from judgements.models import Council, Judgement
from magi_site.static_files import StaticFilesMiddleware
from tests import services
from tests.acceptance.chromium import program
from tests.callers import ApiCaller

EVERYTHING = bool(os.environ.get("MAGI_TEST_EVERYTHING"))  # `make test-all` sets it
REQUIRED = set(filter(None, os.environ.get("MAGI_TEST_REQUIRE", "").split(",")))

# MAGI_TEST_EXAMPLES=100000 makes the property tests long; the suite is quick and the same every time
examples = int(os.environ.get("MAGI_TEST_EXAMPLES", 0))

pytest_plugins = [
    "tests.databases",
    "tests.others",
    "tests.scenes",
    "tests.shared_transaction",
    "tests.debates.recount",
]

T = TypeVar("T")
JAPAN = "I am going to travel to Japan next week."
NAMES = ("Melchior", "Balthasar", "Casper")
QUEUED_OR_RUNNING = (Run.Status.QUEUED, Run.Status.RUNNING)
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
        self.asked: list[tuple[str, list[ChatMessage]]] = []
        self.streamed: list[bool] = []  # whether each of them had to be
        self.queues: dict[str, ProviderQueue] = {}

    def will(self, model: str, *answers: str | CallFailed) -> None:
        self.script[model] += [says(a) if a in ("approve", "reject") else a for a in answers]

    async def load(self) -> None:
        pass

    def queue(self, model: str) -> ProviderQueue:
        return self.queues.setdefault(model.partition("/")[0], ProviderQueue())

    def request_mode(self, model: str) -> RequestMode:
        return RequestMode()

    async def ask(
        self,
        model: str,
        messages: list[ChatMessage],
        form: ResponseFormat[Any],
        on_growth: PreviewText,
        way: RequestMode,
    ) -> ModelReply:
        self.asked.append((model, messages))
        self.streamed.append(way.streams)
        await asyncio.sleep(0)
        answer = self.script[model].pop(0) if self.script[model] else says("approve")
        if isinstance(answer, CallFailed):
            raise answer
        return ModelReply(text=answer, finish="stop", model=f"{model}-2026")

    async def close(self) -> None:
        pass


async def perform(run_id: object, models: ScriptedModels | None = None) -> Run:
    """Let an engine perform one run to its end, or until it waits for somebody."""
    engine = Worker(models=models)
    performing = asyncio.create_task(engine.run())
    try:
        async with asyncio.timeout(60):
            while (run := await Run.objects.aget(pk=run_id)).status in QUEUED_OR_RUNNING:
                while (await standing(run_id))[0] in QUEUED_OR_RUNNING:
                    await asyncio.sleep(0.01)
    finally:
        await engine.stop(grace=0)
        await performing
    return run


async def standing(run_id: object) -> tuple[str, int]:
    """A run's status and revision: to whoever asks a hundred times a second, its whole row would be dear."""
    [(status, revision)] = await sync_to_async(cached_sql.select)(
        Run, "pk", [UUID(str(run_id))], ["status", "revision"]
    )
    return status, revision


def claim(worker: str, places: int = 1, *args: Any, **options: Any) -> list[Run]:
    """What an engine does of a claim, in one transaction."""
    with transaction.atomic():
        claimed = Run.objects.claim(worker, places, *args, **options)
        sealing.seal_ended(claimed.failed)
    return claimed.runs


def at_once(*work: Callable[[], T], refused: type[Exception]) -> list[T | Exception]:
    """What each of these comes to, done or refused, in threads that begin together."""
    assert not connection.in_atomic_block, "they would take turns in one transaction: django_db(transaction=True)"
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
def submitted_at(moment: datetime) -> Iterator[None]:
    """Runs that are submitted meanwhile were submitted at this moment; nothing can change that later."""
    created = Run._meta.get_field("created")
    now = created._get_default
    created._get_default = lambda: moment
    try:
        yield
    finally:
        created._get_default = now


@pytest.fixture(scope="session", autouse=True)
def _quick_passwords() -> Iterator[None]:
    """A slow hash for every test's users would be a minute of the suite. Servers in processes of their own keep it."""
    with override_settings(PASSWORD_HASHERS=["django.contrib.auth.hashers.MD5PasswordHasher"]):
        yield


@pytest.fixture(scope="session", autouse=True)
def _engines_only_perform_runs() -> Iterator[None]:
    """Not what they do beside: each would look for letters, hooks and terminals at its start, a tenth of a short run's
    time. Tests of these call them; servers in processes of their own do them."""
    with override_settings(STARTUP_TASKS=[]):
        yield


@pytest.fixture(scope="session", autouse=True)
def _static_files_are_found_once() -> Iterator[None]:
    """Every client of a test starts the site anew; that it looks through all folders for files would take 10 ms."""
    found: dict[str, Any] = {}
    look = StaticFilesMiddleware.add_files_from_finders

    def add(site: StaticFilesMiddleware) -> None:
        if not found:
            look(site)
            found.update(site.files)
        site.files.update(found)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(StaticFilesMiddleware, "add_files_from_finders", add)
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


PEOPLE = ("mira", "noor", "reviewer")


def person(name: str) -> User:
    """One of the cast, under the same number in every test and scene, which no sequence comes to."""
    found = User.objects.filter(username=name).first()
    make = User.objects.create_superuser if name == "reviewer" else User.objects.create_user
    return found or make(name, password="a long enough secret", pk=9_000 + PEOPLE.index(name))


@pytest.fixture
def mira(db: None) -> User:
    return person("mira")


@pytest.fixture
def noor(db: None) -> User:
    return person("noor")


@pytest.fixture
def reviewer(db: None) -> User:
    return person("reviewer")


@pytest.fixture
def page(client: Client, mira: User) -> Client:
    """A browser in which Mira has signed in."""
    client.force_login(mira)
    return client


@pytest.fixture
def mira_calls(mira: User) -> ApiCaller:
    return ApiCaller(mira)


def allow(user: User, *names: str) -> User:
    """The user with these permissions of its own, as in `engine.view_run`, read again."""
    given = [Permission.objects.get(content_type__app_label=a, codename=c) for a, c in (n.split(".") for n in names)]
    user.user_permissions.add(*given)
    return User.objects.get(pk=user.pk)


@pytest.fixture
def judgement(mira: User) -> Judgement:
    """One that waits to be judged, by agents that ask three different models."""
    return submitted(mira)


def submitted(owner: User) -> Judgement:
    return Judgement.objects.submit(owner=owner, content=JAPAN, agents=agents("openai/a", "openai/b", "openai/c"))


def judged(owner: User, models: ScriptedModels | None = None) -> Judgement:
    """As the fixture `judgement`, and over; approved, unless the models have something else to say."""
    judgement = submitted(owner)
    asyncio.run(perform(judgement.pk, models or ScriptedModels()))
    judgement.run.refresh_from_db()
    return judgement


@pytest.fixture
def council(db: None) -> Council:
    return founded()


def founded() -> Council:
    agents = [{"name": n, "model": "", "criteria": f"Criteria of {n}.", "fallback": ""} for n in NAMES]
    return Council.objects.create_first(name="Magi", agents=agents, owner=None)


@pytest.fixture
def provider(settings: Any) -> None:
    settings.PROVIDERS = {"openai": {"base_url": "http://127.0.0.1:9/v1", "api_key": "sk-canary-1234567890"}}


def commits(item: pytest.Item) -> bool:
    mark = item.get_closest_marker("django_db")
    return "transactional_db" in item.fixturenames or bool(mark and mark.kwargs.get("transaction"))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addini("postgresql", "beginnings of the names of tests that are repeated on PostgreSQL", "linelist")


def pytest_configure(config: pytest.Config) -> None:
    """A repetition on PostgreSQL ends at once, with the reason, where none can be asked."""
    set_examples()
    if connection.vendor != "postgresql" or listens(5432):
        return
    pytest.exit("PostgreSQL: SKIPPED, none listens on port 5432", returncode=int("postgres" in REQUIRED))


def set_examples() -> None:
    from hypothesis import HealthCheck, settings  # here: scenes of other processes need it not, and it takes 0.3 s

    everywhere = list(HealthCheck)
    settings.register_profile("long", max_examples=examples or 100, deadline=None, suppress_health_check=everywhere)
    settings.register_profile("suite", deadline=None, derandomize=True)
    settings.load_profile("long" if examples else "suite")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """What has no test for PostgreSQL need not be loaded to find that out: two thirds of a minute."""
    if not config.getoption("markexpr").startswith("postgresql") or collection_path.suffix != ".py":
        return None
    name = collection_path.relative_to(config.rootpath).as_posix()
    of_it = any(name.startswith(one) or one.startswith(f"{name}::") for one in config.getini("postgresql"))
    return None if of_it or "mark.postgresql" in collection_path.read_text() else True


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> Iterator[None]:
    repeated = tuple(config.getini("postgresql"))
    for item in items:
        database = "db" in item.fixturenames or item.get_closest_marker("django_db")
        if database:
            item.add_marker("database")
        if database and item.nodeid.startswith(repeated):
            item.add_marker("postgresql")
        if commits(item):
            item.add_marker("commits")
    yield  # pytest-django would begin with what opens the database
    # workers share the files, in this order: those that take longest must not come last
    longest = """
        accessibility chaos floods browser injection faults live_updates live_page simulation
        tampering walk forgeries
    """.split()
    places = {f"test_{name}.py": place for place, name in enumerate(longest)}
    items.sort(key=lambda item: places.get(item.path.name, 50 + ("acceptance" not in item.path.parts)))


def pytest_collection_finish() -> None:
    """What is loaded by now stays: to look through it for garbage again and again would take a twelfth of the time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


def some_of(rows: Iterable[T], number: int) -> list[T]:
    """So many of these, spread over them, and all of them under `make test-all`. For `parametrize`."""
    rows = list(rows)
    return rows if EVERYTHING else [rows[place * len(rows) // number] for place in range(min(number, len(rows)))]


def only_on(vendor: str) -> Callable[[Any], Any]:
    """Of a test that says nothing on the other database: there it does not exist. It stands above all marks."""
    return lambda test: test if connection.vendor == vendor else None


# ---- what the machine must have -------------------------------------------------------------------------------


def need(what: str, there: bool, reason: str) -> None:
    if there:
        return
    if what in REQUIRED:
        pytest.fail(f"{reason}, and MAGI_TEST_REQUIRE asks for it")
    pytest.skip(reason)


def listens(port: int) -> bool:
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
    need("redis", listens(6379), "no Redis listens on port 6379")
    return "redis://127.0.0.1:6379/9"


@pytest.fixture(scope="session")
def postgres_url() -> str:
    need("postgres", listens(5432), "no PostgreSQL listens on port 5432")
    return os.environ.get("MAGI_TEST_POSTGRES", "postgres://postgres@127.0.0.1:5432/postgres")


@pytest.fixture(scope="session")
def own_servers() -> None:
    """Servers of its own can be started by a test that stops and crashes them."""
    need("postgres", services.available(), "PostgreSQL, Redis or setpriv is not installed")
