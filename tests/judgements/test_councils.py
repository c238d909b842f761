import re
from functools import partial

import pytest
from django.db import IntegrityError
from django.test import Client
from django.urls import reverse

from judgements.forms import CouncilSubmission
from judgements.models import Council, CouncilVersion, Judgement
from runs.presets import PresetChanged
from tests.conftest import JAPAN, agents, at_once

pytestmark = pytest.mark.django_db


def trio(**changes):
    """Three agents as a council keeps them; `a2_name="Bal"` changes a part of one."""
    members = [{**agent, "fallback": ""} for agent in agents()]
    for place, value in changes.items():
        members[int(place[1]) - 1][place[3:]] = value
    return members


def filled(name="Travel", **changes):
    data = {"name": name}
    for number, agent in enumerate(trio(), start=1):
        data |= {f"a{number}-{key}": value for key, value in agent.items()}
    return data | changes


@pytest.fixture
def travel(mira):
    return Council.objects.create_first(name="Travel", agents=trio(), owner=mira)


def html_of(client, name, *args, **query):
    return client.get(reverse(name, args=args), query).content.decode()


def judged_by(version, owner, **values):
    return Judgement.objects.submit(owner=owner, content=JAPAN, agents=version.agents(), council=version, **values)


# ---- one council -------------------------------------------------------------------------------------------


def test_a_council_shows_its_agents_versions_and_newest_judgements(page, travel, mira):
    travel.revise(name="Travel", agents=trio(a3_name="Caspar", a1_criteria="Be\nstrict."), author=mira)
    for number in range(12):
        judged_by(travel.current, mira, title=f"Trip {number}")
    html = html_of(page, "council", travel.pk)
    for text in (
        "Be\nstrict.",
        "Criteria of Melchior changed.",
        "Casper was renamed to Caspar.",
        "The newest 10 of 12.",
    ):
        assert text in html
    assert "Trip 11" in html
    assert "Trip 1<" not in html
    assert f"{reverse('history')}?council={travel.pk}" in html


def test_a_council_takes_no_query_per_version_or_judgement(page, travel, mira, django_assert_num_queries):
    for number in range(5):
        travel.revise(name="Travel", agents=trio(a1_criteria=f"Try {number}."), author=mira)
        judged_by(travel.current, mira)
    # session, user, its rights, council, versions, their members, changes, number of judgements, the newest, their
    # votes, where one was asked, what waits
    with django_assert_num_queries(13):
        page.get(reverse("council", args=[travel.pk]))


def test_a_version_stays_readable_after_the_next(page, travel, mira):
    travel.revise(name="Trips", agents=trio(a1_criteria="Be strict."), author=mira)
    html = html_of(page, "council-version", travel.pk, 1)
    assert "Travel, version 1" in html
    assert "Criteria of Melchior." in html
    assert "Be strict." not in html


@pytest.mark.parametrize("args", [(10**30,), (0,), (10**30, 1), (1, 10**30)])
def test_a_council_or_version_that_is_none_does_not_exist(page, travel, args):
    name = "council" if len(args) == 1 else "council-version"
    assert page.get(reverse(name, args=args)).status_code == 404


def test_what_people_wrote_is_never_markup(page, mira):
    evil = "<img src=x onerror=y>"
    council = Council.objects.create_first(name=evil, agents=trio(a1_name=evil, a2_criteria=evil), owner=mira)
    council.revise(name=f"{evil}2", agents=trio(a1_name=f"{evil}3"), author=mira)
    for name, args in (("library", []), ("council", [council.pk]), ("council-version", [council.pk, 1])):
        assert "<img" not in html_of(page, name, *args)


# ---- to make one -------------------------------------------------------------------------------------------


def test_everybody_may_make_a_council_and_owns_it(page, mira):
    answer = page.post(reverse("council-new"), filled(**{"a2-criteria": "one\r\ntwo"}))
    council = Council.objects.get(name="Travel")
    assert answer["Location"] == reverse("council", args=[council.pk])
    assert (council.owner, council.current.number, council.current.author) == (mira, 1, mira)
    assert council.agents()[1]["criteria"] == "one\ntwo"


def test_a_model_that_is_left_open_follows_the_default_one(page, settings):
    page.post(reverse("council-new"), filled(**{"a1-model": ""}))
    council = Council.objects.get(name="Travel")
    settings.DEFAULT_MODEL = "rehearsal/other"
    assert [agent["model"] for agent in council.agents()] == [
        "rehearsal/other",
        "rehearsal/instant",
        "rehearsal/instant",
    ]


def test_no_fallback_stands_in_for_itself_though_the_model_is_left_open(page, settings):
    posted = filled(**{"a1-model": "", "a1-fallback": settings.DEFAULT_MODEL})
    assert "The fallback is the model itself." in page.post(reverse("council-new"), posted).content.decode()


@pytest.mark.parametrize("name", ["Travel", "tra\u200bvel", " TRAVEL "])
def test_a_name_that_is_taken_is_said_under_its_field(page, travel, name):
    html = page.post(reverse("council-new"), filled(name)).content.decode()
    assert "Another council has this name." in html
    assert 'aria-invalid="true" aria-describedby="name-err"' in html
    assert Council.objects.filter(owner__isnull=False).count() == 1


def test_a_name_that_is_taken_between_check_and_commit_is_said_too(travel, mira):
    submission = CouncilSubmission(filled("Late"))
    assert submission.is_valid()
    Council.objects.create_first(name="Late", agents=trio(), owner=mira)
    with pytest.raises(IntegrityError):
        Council.objects.create_first(owner=mira, **submission.values())
    with pytest.raises(IntegrityError):
        travel.revise(author=mira, **submission.values())
    submission.refuse_name()
    assert [problem.label for problem in submission.problems] == ["Name"]
    assert travel.versions.count() == 1


def test_the_name_of_an_archived_council_is_taken_too(page, travel):
    travel.archive(by=None)
    assert "An archived council has this name." in page.post(reverse("council-new"), filled()).content.decode()


def test_a_council_has_a_name_and_three_whole_agents(page):
    posted = filled(" ", **{"a1-name": "", "a3-name": "Balthasar", "a2-criteria": ""})
    html = page.post(reverse("council-new"), posted).content.decode()
    assert "4 things to correct before the council can be saved" in html
    assert '<a href="#name">Name</a>: Give the council a name.' in html
    assert '<a href="#a2-criteria">Agent 2, criteria</a>' in html
    assert not Council.objects.filter(owner__isnull=False).exists()


def test_a_copy_is_a_new_page_with_the_same_agents(page, travel):
    html = html_of(page, "council-new", **{"from": travel.pk})
    assert 'value="Copy of Travel"' in html
    assert "Criteria of Casper." in html


# ---- to change one -----------------------------------------------------------------------------------------


def test_a_change_makes_a_version_and_what_was_judged_keeps_its_own(page, travel, mira):
    judgement = judged_by(travel.current, mira)
    page.post(reverse("council-edit", args=[travel.pk]), filled("Trips", version=1, **{"a1-criteria": "Be strict."}))
    travel.refresh_from_db()
    assert (travel.name, travel.current.number, travel.current.author) == ("Trips", 2, mira)
    judgement.refresh_from_db()
    assert str(judgement.council_version) == "Travel, version 1"
    assert judgement.council_version.agents()[0]["criteria"] == "Criteria of Melchior."


def test_saving_without_a_change_makes_no_version(page, travel):
    answer = page.post(reverse("council-edit", args=[travel.pk]), filled(version=1), follow=True)
    assert travel.versions.count() == 1
    assert "Nothing was changed." in answer.content.decode()


def test_a_change_of_an_older_version_overwrites_nothing(page, travel, noor):
    travel.revise(name="Travel", agents=trio(a2_criteria="Be kind."), author=noor)
    url, posted = reverse("council-edit", args=[travel.pk]), filled(version=1, **{"a1-criteria": "Be strict."})
    answer = page.post(url, posted)
    html = answer.content.decode()
    assert answer.status_code == 409
    assert "Nothing was saved: noor saved version 2 meanwhile" in html
    assert "Criteria of Balthasar changed." in html
    assert "Be strict." in html
    assert travel.versions.count() == 2
    assert '<input type="hidden" name="version" value="2">' in html
    assert page.post(url, posted | {"version": 2})["Location"] == reverse("council", args=[travel.pk])


@pytest.mark.parametrize("version", ["", "x", "-1", "9" * 5000])
def test_a_change_of_no_version_overwrites_nothing(page, travel, version):
    posted = filled(version=version, **{"a1-criteria": "Be strict."})
    assert page.post(reverse("council-edit", args=[travel.pk]), posted).status_code == 409


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_two_changes_at_once_get_two_numbers_or_one_is_refused(travel, mira):
    def revise(number, opened):
        agents = trio(a1_criteria=f"Try {number}.")
        return Council.objects.get(pk=travel.pk).revise(name="Travel", agents=agents, author=mira, opened=opened).number

    work = [partial(revise, n, 1 if n == 0 else None) for n in range(4)]
    outcomes = at_once(*work, refused=PresetChanged)
    assert sorted(one for one in outcomes if isinstance(one, int)) in ([2, 3, 4], [2, 3, 4, 5])
    travel.refresh_from_db()
    assert travel.current == travel.versions.first()


def test_a_council_whose_new_name_was_taken_keeps_its_own(travel, council, mira):
    with pytest.raises(IntegrityError):
        travel.revise(name=council.name, agents=trio(), author=mira)
    assert (travel.name, travel.current.number, travel.versions.count()) == ("Travel", 1, 1)


def test_only_its_owner_and_staff_change_a_council(client, travel, noor, reviewer):
    client.force_login(noor)
    for name in ("council-edit", "council-switch"):
        assert client.post(reverse(name, args=[travel.pk]), filled(version=1)).status_code == 403
    assert client.get(reverse("council-edit", args=[travel.pk])).status_code == 403
    html = html_of(client, "council", travel.pk)
    assert ">Edit<" not in html
    assert ">Duplicate<" in html
    client.force_login(reviewer)
    assert client.get(reverse("council-edit", args=[travel.pk])).status_code == 200


def test_the_ready_made_ones_are_changed_by_staff_alone(page, council, reviewer):
    assert page.get(reverse("council-edit", args=[council.pk])).status_code == 403
    page.force_login(reviewer)
    assert page.get(reverse("council-edit", args=[council.pk])).status_code == 200


# ---- to archive one ----------------------------------------------------------------------------------------


def test_an_archived_council_is_not_offered_but_stays_readable_and_can_come_back(page, travel, mira):
    judgement = judged_by(travel.current, mira)
    url = reverse("council-switch", args=[travel.pk])
    page.post(url, {"do": "archive"})
    assert f'name="council" value="{travel.pk}"' not in html_of(page, "new")
    html = html_of(page, "council", travel.pk)
    assert "not offered for new judgements" in html
    assert "Start judgement" not in html
    assert Judgement.objects.get(pk=judgement.pk).council_version == travel.current
    page.post(url, {"do": "bring back"})
    assert f'name="council" value="{travel.pk}"' in html_of(page, "new")


def test_archiving_is_never_a_link_and_never_another_sites(page, travel, mira):
    assert page.get(reverse("council-switch", args=[travel.pk])).status_code == 405
    client = Client(enforce_csrf_checks=True)
    client.force_login(mira)
    for name, args in (("council-new", []), ("council-edit", [travel.pk]), ("council-switch", [travel.pk])):
        assert client.post(reverse(name, args=args), filled(version=1)).status_code == 403


# ---- from the input page and back --------------------------------------------------------------------------


def test_a_link_starts_the_input_page_with_its_council(page, travel):
    html = html_of(page, "new", council=travel.pk)
    assert f'name="council" value="{travel.pk}" checked' in html
    assert "Criteria of Casper." in html


def test_what_was_written_is_carried_through_saving_its_agents_as_a_council(page):
    written = {"title": "Trip", "content": "Go\r\nsoon", "council": "", **filled()}
    del written["name"]
    html = page.post(reverse("council-new"), written).content.decode()
    assert '<input type="hidden" name="content" value="Go\nsoon">' in html
    assert "Criteria of Casper." in html
    assert "to correct" not in html
    html = page.post(reverse("council-new"), written | {"name": "Travel"}).content.decode()
    council = Council.objects.get(name="Travel")
    assert f'name="council" value="{council.pk}" checked' in html
    assert 'value="Trip"' in html
    assert "Go\nsoon</textarea>" in html
    assert not Judgement.objects.exists()


def test_a_model_that_its_council_leaves_open_stays_open_when_it_is_saved_again(page, mira, settings):
    council = Council.objects.create_first(name="Open", agents=trio(a1_model=""), owner=mira)
    written = filled(council=council.pk, content="", **{f"a{n}-model": settings.DEFAULT_MODEL for n in (1, 2, 3)})
    del written["name"]
    html = page.post(reverse("council-new"), written).content.decode()
    models = re.findall(r'name="a\d-model"[^>]*value="(.*?)"', html)
    assert models == ["", settings.DEFAULT_MODEL, settings.DEFAULT_MODEL]


def test_who_goes_back_without_saving_finds_what_was_written(page):
    written = {"content": "Go", "council": "", **filled("", **{"a1-name": "Half"}), "back": "1"}
    html = page.post(reverse("council-new"), written).content.decode()
    assert "Go</textarea>" in html
    assert 'value="Half"' in html
    assert CouncilVersion.objects.filter(author__isnull=False).count() == 0


def test_the_admin_leads_to_the_council(client, reviewer, travel):
    client.force_login(reviewer)
    html = client.get(reverse("admin:judgements_council_change", args=[travel.pk])).content.decode()
    assert f'href="{reverse("council", args=[travel.pk])}"' in html
