"""A judgement bears a council's name only if the council judges it as it is now, whichever door it came by."""

import threading

import pytest
from django.core.management import CommandError, call_command
from django.db import connections, transaction
from django.urls import reverse

from judgements import procedure
from judgements.models import Council, CouncilChanged, Judgement
from tests.callers import ApiCaller, fields, problem
from tests.conftest import JAPAN, agents
from tests.judgements.test_councils import trio

pytestmark = pytest.mark.django_db


@pytest.fixture
def travel(mira):
    return Council.objects.create_first(name="Travel", agents=trio(), owner=mira)


@pytest.fixture
def first(travel, mira):
    """Its first version, which a second one has followed."""
    version = travel.current
    travel.revise(name="Travel", agents=trio(a1_criteria="Be strict."), author=mira)
    return version


def submit(owner, version, **changes):
    values = {"owner": owner, "content": JAPAN, "agents": version.agents(), "council": version}
    return Judgement.objects.submit(**values | changes)


def posted(council, agents, **changes):
    data = {"title": "Trip", "content": JAPAN, "council": council.pk, **changes}
    for number, agent in enumerate(agents, start=1):
        data |= {f"a{number}-{key}": value for key, value in agent.items()}
    return data


# ---- where all doors lead ---------------------------------------------------------------------------------


def test_the_current_version_gives_its_name(travel, mira):
    assert submit(mira, travel.current).council_version == travel.current


def test_agents_that_were_edited_give_no_name(travel, mira):
    assert submit(mira, travel.current, agents=trio(a2_criteria="Others.")).council_version is None


@pytest.mark.parametrize("owner", ["mira", None])
def test_an_older_version_judges_nothing(first, mira, owner):
    with pytest.raises(CouncilChanged, match="Now it is “Travel”, version 2"):
        submit(owner and mira, first)
    assert not Judgement.objects.exists()


def test_an_archived_council_judges_nothing_until_it_is_back(travel, mira):
    travel.archive(by=mira)
    with pytest.raises(CouncilChanged, match="was archived meanwhile"):
        submit(mira, travel.current)
    travel.bring_back(by=mira)
    assert submit(mira, travel.current).council_version == travel.current


def test_a_council_with_another_name_is_another_version(travel, mira):
    version = travel.current
    travel.revise(name="Trips", agents=trio(), author=mira)
    with pytest.raises(CouncilChanged, match="Now it is “Trips”, version 2"):
        submit(mira, version)


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("change", ["revise", "archive"])
def test_a_change_in_the_same_instant_waits_or_is_heeded(travel, mira, change):
    """The change is committed while the submission is on its way: before, and it is refused; or only after it."""
    opened, changing, ended = travel.current, threading.Event(), []

    def alter():
        try:
            with transaction.atomic():
                if change == "revise":
                    travel.revise(name="Travel", agents=trio(a1_criteria="Be strict."), author=mira)
                else:
                    travel.archive(by=mira)
                changing.set()
                threading.Event().wait(0.5)
            ended.append("changed")
        finally:
            connections.close_all()

    thread = threading.Thread(target=alter)
    thread.start()
    changing.wait(10)
    with pytest.raises(CouncilChanged):
        submit(mira, opened)
    thread.join()
    assert ended == ["changed"]


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_a_submission_on_its_way_holds_the_council_for_nobody_but_who_changes_it(travel, mira):
    order, submitted = [], threading.Event()

    def alter():
        submitted.wait(10)
        try:
            Council.objects.get(pk=travel.pk).archive(by=mira)
            order.append("archived")
        finally:
            connections.close_all()

    thread = threading.Thread(target=alter)
    thread.start()
    with transaction.atomic():
        submit(mira, travel.current)
        submitted.set()
        threading.Event().wait(0.5)
        order.append("submitted")
    thread.join()
    assert order == ["submitted", "archived"]


# ---- the page ---------------------------------------------------------------------------------------------


def test_the_page_says_which_version_its_agents_came_from(page, travel, first):
    carried = '<input type="hidden" name="version" value="2">'
    assert carried in page.get(reverse("new"), {"council": travel.pk}).content.decode()
    assert carried in page.get(reverse("council-agents"), {"council": travel.pk}).content.decode()
    assert 'name="version"' not in page.get(reverse("council-agents"), {"council": ""}).content.decode()


def test_who_sends_what_was_current_is_told_what_changed_and_loses_nothing(page, travel, first):
    answer = page.post(reverse("new"), posted(travel, first.agents(), version=1))
    html = answer.content.decode()
    assert (answer.status_code, Judgement.objects.count()) == (409, 0)
    assert "The council “Travel” was changed meanwhile. Now it is “Travel”, version 2." in html
    assert "Criteria of Melchior changed." in html
    for kept in ('value="Trip"', f"{JAPAN}</textarea>", f'name="council" value="{travel.pk}" checked', "Be strict."):
        assert kept in html
    page.post(reverse("new"), posted(travel, Council.objects.get(pk=travel.pk).agents(), version=2))
    assert Judgement.objects.get().council_version.number == 2


@pytest.mark.parametrize("version", ["1", "", "7"])
def test_the_first_version_of_an_archived_council_is_nobodys_choice(page, travel, first, mira, version):
    travel.archive(by=mira)
    answer = page.post(reverse("new"), posted(travel, first.agents(), version=version))
    html = answer.content.decode()
    assert (answer.status_code, Judgement.objects.count()) == (409, 0)
    assert "The council “Travel” was archived meanwhile." in html
    assert 'name="council" value="" checked' in html
    for kept in ('value="Trip"', f"{JAPAN}</textarea>", "Criteria of Melchior."):
        assert kept in html


def test_agents_of_an_older_version_under_the_number_of_the_current_one_give_no_name(page, travel, first):
    page.post(reverse("new"), posted(travel, first.agents(), version=2))
    assert Judgement.objects.get().council_version is None


def test_who_edits_the_agents_of_what_changed_judges_without_its_name(page, travel, first):
    page.post(reverse("new"), posted(travel, trio(a3_name="Caspar"), version=1))
    assert Judgement.objects.get().council_version is None


def test_a_council_that_was_archived_is_said_beside_other_things_too(page, travel, mira):
    travel.archive(by=mira)
    html = page.post(reverse("new"), posted(travel, trio(), version=1, content="")).content.decode()
    assert "Write what is to be decided." in html
    assert "The council “Travel” was archived meanwhile." in html


def test_the_version_is_carried_through_the_detour_to_save_a_council(page, travel):
    html = page.post(reverse("council-new"), posted(travel, trio(), version=1)).content.decode()
    assert '<input type="hidden" name="version" value="1">' in html
    back = page.post(reverse("council-new"), posted(travel, trio(), version=1, back="1")).content.decode()
    assert '<input type="hidden" name="version" value="1">' in back


def test_judging_again_what_an_older_version_judged_has_its_agents_and_no_name(page, travel, mira):
    judgement = submit(mira, travel.current)
    travel.revise(name="Travel", agents=trio(a1_criteria="Be strict."), author=mira)
    html = page.get(reverse("new"), {"again": judgement.pk}).content.decode()
    assert "Criteria of Melchior." in html
    assert 'name="version"' not in html
    page.post(reverse("new"), posted(travel, trio()) | {"council": "", "again": judgement.pk})
    assert Judgement.objects.exclude(pk=judgement.pk).get().council_version is None


# ---- the API ----------------------------------------------------------------------------------------------


def test_a_program_gets_the_current_version_and_may_name_the_one_it_means(first, travel, mira):
    asked, call = {"content": JAPAN, "council": "Travel"}, ApiCaller(mira).post
    assert call("/judgements", asked).json()["council_version"] == 2
    assert call("/judgements", asked | {"version": 2}).json()["council_version"] == 2
    assert call("/judgements", asked | {"council": travel.pk}).json()["council"] == "Travel"
    said = problem(call("/judgements", asked | {"version": 1}), 409)
    assert said["detail"] == "“Travel” has version 2 now, not 1. Nothing was submitted."


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"version": 0}, "version"),
        ({"version": "2"}, "version"),
        ({"version": True}, "version"),
        ({"council": True}, "council"),
        ({"council": 10**30}, "council"),
        ({"council": -1}, "council"),
        ({"council": None, "agents": agents(), "version": 1}, "version"),
    ],
)
def test_a_council_or_version_that_is_none_is_named(travel, mira, change, path):
    assert path in fields(ApiCaller(mira).post("/judgements", {"content": JAPAN, "council": "Travel"} | change))


def test_an_archived_council_is_named_by_nobody(travel, mira):
    travel.archive(by=mira)
    for name in ("Travel", travel.pk):
        assert "council" in fields(ApiCaller(mira).post("/judgements", {"content": JAPAN, "council": name}))


def test_a_key_brings_what_was_submitted_though_the_council_has_changed(travel, mira):
    opened, values = travel.current, {"owner": mira, "key": "k", "request_hash": "h", "content": JAPAN}
    values |= {"agents": trio(), "council": opened}
    judgement = procedure.submit(**values)
    travel.revise(name="Travel", agents=trio(a1_criteria="Be strict."), author=mira)
    assert procedure.submit(**values) == judgement
    with pytest.raises(CouncilChanged):
        procedure.submit(**values | {"key": "other"})


# ---- the command line -------------------------------------------------------------------------------------


def test_the_command_line_asks_no_archived_council(travel, mira):
    travel.archive(by=mira)
    with pytest.raises(CommandError, match="There is no council “Travel”") as refused:
        call_command("judge", JAPAN, council="Travel", no_wait=True)
    assert refused.value.returncode == 64
