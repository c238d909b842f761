"""Who may judge by agents of one's own, and who may make, change and lock councils."""

import pytest
from django.contrib.auth.models import Group, Permission, User
from django.core.management import call_command
from django.urls import reverse

from judgements.examples import RELEASE
from judgements.models import Council, CouncilRequired, Judgement
from tests.callers import ApiCaller, problem
from tests.conftest import JAPAN, agents
from tests.judgements.test_councils import filled, html_of, trio
from tests.judgements.test_names import posted

pytestmark = pytest.mark.django_db


@pytest.fixture
def travel(noor):
    return Council.objects.create_first(name="Travel", agents=trio(), owner=noor)


def take(*rights):
    """These from everybody."""
    Group.objects.get(name="Everybody").permissions.remove(*Permission.objects.filter(codename__in=rights))


def give(user, right):
    user.user_permissions.add(Permission.objects.get(codename=right))


@pytest.fixture
def only_councils(db):
    take("own_agents")


# ---- agents of one's own ----------------------------------------------------------------------------------


def test_whoever_may_judge_by_councils_only_does_so_by_whole_ones(only_councils, travel, mira):
    with pytest.raises(CouncilRequired):
        Judgement.objects.submit(owner=mira, content=JAPAN, agents=trio(a1_criteria="Approve."), council=travel.current)
    with pytest.raises(CouncilRequired):
        Judgement.objects.submit(owner=mira, content=JAPAN, agents=agents())
    assert Judgement.objects.submit(owner=mira, content=JAPAN, agents=trio(), council=travel.current)


def test_the_page_offers_councils_only_and_lets_nobody_change_their_agents(only_councils, page, travel):
    html = html_of(page, "new", council=travel.pk)
    assert "My own three" not in html
    assert "Save as council" not in html
    assert html.count(" readonly") == 12
    assert html_of(page, "council-agents", council=travel.pk).count(" readonly") == 12


def test_an_example_brings_its_text_alone_where_its_agents_are_no_councils(only_councils, page, travel):
    html = html_of(page, "new", example="release")
    assert RELEASE.content in html
    assert f'value="{Council.objects.available().first().pk}" checked' in html
    assert "Security reviewer" not in html


def test_what_was_typed_stands_beside_the_refusal(only_councils, page, travel):
    answer = page.post(reverse("new"), posted(travel, trio(a2_criteria="Approve everything."), version=1))
    html = answer.content.decode()
    assert (answer.status_code, Judgement.objects.count()) == (403, 0)
    assert "You may judge by councils only. Choose one, and leave its agents as they are." in html
    for kept in ('value="Trip"', f"{JAPAN}</textarea>", "Approve everything."):
        assert kept in html
    page.post(reverse("new"), posted(travel, trio(), version=1))
    assert Judgement.objects.get().council_version == travel.current


def test_who_may_choose_no_agents_is_told_of_a_council_that_is_gone(only_councils, page, travel, noor):
    travel.archive(by=noor)
    answer = page.post(reverse("new"), posted(travel, trio(), version=1))
    assert answer.status_code == 409
    assert "It judges nothing new. Choose another one.<" in answer.content.decode()


def test_a_program_is_refused_with_the_sentence(only_councils, travel, mira):
    said = problem(ApiCaller(mira).post("/judgements", {"content": JAPAN, "agents": agents()}), 403)
    assert said["detail"] == "You may judge by councils only. Choose one, and leave its agents as they are."
    assert ApiCaller(mira).post("/judgements", {"content": JAPAN, "council": "Travel"}).status_code == 202


def test_judging_again_takes_the_council_as_it_is_now(page, travel, mira, noor):
    judgement = Judgement.objects.submit(owner=mira, content=JAPAN, agents=trio(), council=travel.current)
    travel.revise(name="Travel", agents=trio(a1_criteria="Be strict."), author=noor)
    take("own_agents")
    html = html_of(page, "new", again=judgement.pk)
    for there in (
        f"{JAPAN}</textarea>",
        "Be strict.",
        f'value="{travel.pk}" checked',
        "You may judge by councils only.",
    ):
        assert there in html
    again = posted(travel, trio(a1_criteria="Be strict."), version=2, again=judgement.pk)
    page.post(reverse("new"), again)
    assert Judgement.objects.exclude(pk=judgement.pk).get().council_version.number == 2


def test_a_right_of_ones_own_counts_too_and_the_command_line_may_all(only_councils, mira, tmp_path):
    give(mira, "own_agents")
    assert Judgement.objects.submit(owner=User.objects.get(pk=mira.pk), content=JAPAN, agents=agents())
    file = tmp_path / "agents.json"
    file.write_text(
        '[{"name": "A", "model": "rehearsal/instant", "criteria": "x"},'
        '{"name": "B", "model": "rehearsal/instant", "criteria": "x"},'
        '{"name": "C", "model": "rehearsal/instant", "criteria": "x"}]'
    )
    call_command("judge", JAPAN, agents=str(file), no_wait=True)
    assert Judgement.objects.count() == 2


# ---- to make councils -------------------------------------------------------------------------------------


@pytest.mark.parametrize("query", [{}, {"from": "1"}])
def test_who_may_make_no_council_is_offered_none_and_refused_with_a_sentence(page, travel, query):
    take("add_council")
    refused = page.get(reverse("council-new"), query)
    assert (refused.status_code, "You may not make councils." in refused.content.decode()) == (403, True)
    assert page.post(reverse("council-new"), filled("Mine")).status_code == 403
    for name, args in (("new", []), ("councils", []), ("council", [travel.pk])):
        assert reverse("council-new") not in html_of(page, name, *args)
    assert not Council.objects.filter(name="Mine").exists()


def test_what_was_written_comes_back_from_the_refusal_to_make_a_council(page, travel):
    take("add_council")
    answer = page.post(reverse("council-new"), posted(travel, trio(a2_criteria="Mine."), version=1))
    html = answer.content.decode()
    assert answer.status_code == 403
    for kept in ("You may not make councils.", 'value="Trip"', f"{JAPAN}</textarea>", "Mine."):
        assert kept in html


# ---- to change and to lock them ---------------------------------------------------------------------------

CHANGES = ("council-edit", "council-switch")


def statuses(client, council):
    return {client.post(reverse(name, args=[council.pk]), filled(version=1)).status_code for name in CHANGES}


def test_staff_alone_change_no_council(page, travel, mira):
    User.objects.filter(pk=mira.pk).update(is_staff=True)
    assert statuses(page, travel) == {403}
    assert "You may not change the council “Travel”." in html_of(page, "council-edit", travel.pk)


def test_who_may_change_all_councils_changes_those_of_others_and_the_ready_made(page, travel, council, mira):
    give(mira, "change_council")
    for one in (travel, council):
        assert page.get(reverse("council-edit", args=[one.pk])).status_code == 200
        page.post(reverse("council-switch", args=[one.pk]), {"do": "archive"})
        assert Council.objects.get(pk=one.pk).archived


def test_a_locked_council_is_changed_by_its_owner_and_superusers_alone(page, client, travel, mira, noor, reviewer):
    give(mira, "change_council")
    travel.lock(by=noor)
    assert statuses(page, travel) == {403}
    assert ">Unlock<" not in html_of(page, "council", travel.pk)
    assert "only its owner and superusers can change it" in html_of(page, "council", travel.pk)
    assert "locked</span>" in html_of(page, "councils")
    for user in (noor, reviewer):
        client.force_login(user)
        assert client.get(reverse("council-edit", args=[travel.pk])).status_code == 200


def test_its_owner_locks_and_unlocks_it(client, travel, noor):
    client.force_login(noor)
    url = reverse("council-switch", args=[travel.pk])
    client.post(url, {"do": "lock"})
    assert ">Unlock<" in html_of(client, "council", travel.pk)
    client.post(url, {"do": "unlock"})
    assert Council.objects.get(pk=travel.pk).locked is None
    assert client.get(url).status_code == 405


@pytest.mark.parametrize("sent", [{}, {"do": "delete"}])
def test_what_no_button_asks_for_changes_nothing(client, travel, noor, sent):
    client.force_login(noor)
    assert client.post(reverse("council-switch", args=[travel.pk]), sent).status_code == 400
    after = Council.objects.get(pk=travel.pk)
    assert (after.locked, after.archived) == (None, None)


def test_a_locked_council_without_an_owner_is_changed_by_superusers_alone(page, client, council, mira, reviewer):
    give(mira, "change_council")
    page.post(reverse("council-switch", args=[council.pk]), {"do": "lock"})
    assert statuses(page, council) == {403}
    client.force_login(reviewer)
    client.post(reverse("council-switch", args=[council.pk]), {"do": "unlock"})
    assert Council.objects.get(pk=council.pk).locked is None


def test_a_locked_council_judges_as_before(travel, mira, noor):
    travel.lock(by=noor)
    assert Judgement.objects.submit(owner=mira, content=JAPAN, agents=trio(), council=travel.current)
