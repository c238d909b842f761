"""Whoever was given a record has looked at it once any door has shown it to them."""

import asyncio

import pytest
from django.contrib.auth.models import Group
from django.db import connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext

from engine.models import Gate, Letter, Review, Run
from engine.policy import parse_policy
from judgements.models import Judgement
from runs.access_log import log_view, log_views
from runs.models import GrantView
from runs.rights import SEE
from runs.sharing.grants import grant_access
from tests.callers import bearer
from tests.conftest import ScriptedModels, agents, allow, perform, person
from tests.contract import played
from tests.databases import copied
from tests.judgements.open_pages import LivePage, until
from tests.judgements.redacted import shown

pytestmark = pytest.mark.django_db
committed = pytest.mark.django_db(transaction=True)  # by threads of their own


MARKER = "quetzalcoatl"
LOOKED = "Looked at, as it was given to noor."
SHOWING = [
    "/judgements/{pk}/",
    "/judgements/{pk}/record/",
    "/judgements/{pk}/record.json",
    "/judgements/{pk}/replay.html",
    "/judgements/{pk}/replay/",
    "/judgements/export.jsonl",
    "/runs/export.jsonl",
    "/runs/compare/?a={pk}&b={own}",
    "/runs/compare/?a={own}&b={pk}",
    "/?again={pk}",
    "/judgements/{later}/",
    "/api/v1/runs?full=1",
    "/api/v1/judgements?full=1",
    "/api/v1/judgements?q=Japan&full=1",
    "/api/v1/runs/{pk}",
    "/api/v1/judgements/{pk}",
    "/api/v1/runs/{pk}/record",
]
LISTING = ["/judgements/", "/runs/", "/runs/?q=Japan", "/judgements/{own}/"]


@pytest.fixture
def run(approved_judgement):
    return approved_judgement.run


def asked(owner, content, **more):
    three = agents("openai/a", "openai/b", "openai/c")
    made = Judgement.objects.submit(owner=owner, title="Release", content=content, agents=three, **more)
    asyncio.run(perform(made.pk, ScriptedModels()))
    return made


def make_three():
    """One to be given, one of noor's own, and one of hers that judged again what was to be given."""
    mira, noor = person("mira"), person("noor")
    first = asked(mira, f"Send {MARKER} to Japan.")
    return first, asked(noor, "Send a letter to Japan."), asked(noor, "Send a card to Japan.", earlier=first)


@pytest.fixture(scope="module")
def three():
    return copied(make_three)


@pytest.fixture
def given(three, mira, noor):
    """The addresses of doors have these; noor may go through every one of them."""
    first, own, later = three()
    grant_access(first.run, mira, "noor")
    allow(noor, "engine.export_run")
    return {"pk": first.pk, "own": own.pk, "later": later.pk}


def through(door, user, **names):
    """What stands behind it."""
    client = Client(headers=bearer(user)) if door.startswith("/api/") else Client()
    if not door.startswith("/api/"):
        client.force_login(user)
    return shown(client, door.format(**names))


def looks():
    return Review.objects.filter(text=LOOKED).count()


def test_a_look_is_on_record_by_whichever_door(given, noor):
    wrong = []
    for door in SHOWING:
        with transaction.atomic():
            wrong += [door] if looks() or MARKER not in through(door, noor, **given) or looks() != 1 else []
            transaction.set_rollback(True)
    assert wrong == []


@committed
def test_an_open_page_that_asks_for_all_of_it_is_a_look(given, noor):
    async def watched():
        page = await LivePage(noor).open(given["pk"])
        await until(lambda: "approve" in page.shown)
        page.feed.leave(page.watcher)

    asyncio.run(watched())
    assert looks() == 1


def test_a_title_in_a_list_is_no_look(given, noor):
    for door in LISTING:
        assert MARKER not in through(door, noor, **given), door
        assert not looks(), door


def test_a_look_at_a_gate_is_one(run, mira, noor):
    asked_for = {"kind": "question", "title": "Which?", "text": MARKER, "policy": parse_policy(None)}
    gate = Gate.objects.open(None, run=run, step="said", **asked_for)
    grant_access(run, mira, "noor")
    for number, door in enumerate(("/gates/{pk}/", "/api/v1/gates/{pk}"), 1):
        assert MARKER in through(door, noor, pk=gate.pk)
        assert GrantView.objects.get().times == number


def test_a_look_at_its_letters_is_one(run, mira, noor):
    Letter.objects.write(Letter.State.SENT, run.pk, ["ada@example.org"], "Five", MARKER)
    grant_access(run, mira, "noor")
    assert MARKER in through("/library/outbox/", noor)
    assert looks() == 1


AGAIN = {"debate": "/debates/new/?again={pk}", "mission": "/missions/new/?follows={pk}"}


@pytest.fixture(scope="module", params=AGAIN)
def of_a_kind(request):
    return copied(lambda: played(request.param, person("mira")))


def test_to_begin_another_from_it_is_a_look(of_a_kind, mira, noor):
    run = of_a_kind()
    grant_access(run, mira, "noor")
    through(AGAIN[run.procedure], noor, pk=run.pk)
    assert looks() == 1


def test_of_whom_nothing_was_given_no_list_asks_more_of_the_database(run, noor, reviewer):
    assert not SEE.within(Run.objects.all(), noor).exists()  # the list itself
    SEE.reach(reviewer)
    with CaptureQueriesContext(connection) as queries:
        log_views([run.pk], noor)
        log_views([run.pk], reviewer)
    assert not queries.captured_queries


def anew(user):
    return type(user).objects.get(pk=user.pk)


def given_twice(run, by, user, then_by):
    """By name, and then in a group."""
    user.groups.add(Group.objects.create(name="Release"))
    return grant_access(run, by, user.username), grant_access(run, then_by, "Release")


def test_a_look_counts_for_what_was_given_by_name_before_what_a_group_was_given(run, mira, noor):
    by_name, _ = given_twice(run, mira, noor, mira)
    log_view(run, anew(noor))
    assert GrantView.objects.get().given == by_name


def test_a_look_counts_for_nothing_whose_giver_may_not_give_it_any_more(run, mira, noor, reviewer):
    _, to_the_group = given_twice(run, reviewer, noor, mira)
    type(reviewer).objects.filter(pk=reviewer.pk).update(is_superuser=False)
    log_view(run, anew(noor))
    assert GrantView.objects.get().given == to_the_group
