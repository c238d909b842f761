import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.decorators import permission_required
from django.contrib.auth.models import AnonymousUser, Group, Permission, User
from django.http import HttpRequest, HttpResponse
from django.test import AsyncClient
from django.urls import include, path

from magi_site.groups import EVERYBODY, REVIEWERS, create_groups

pytestmark = pytest.mark.django_db


def again(user: User) -> User:
    """Without what the object remembers of its rights."""
    return User.objects.get(pk=user.pk)


def test_everybody_makes_councils_and_panels_and_judges_by_agents_of_ones_own(mira: User) -> None:
    assert mira.has_perm("judgements.add_council")
    assert mira.has_perm("debates.add_panel")
    assert mira.has_perm("plans.add_team")
    assert mira.has_perm("missions.add_crew")
    assert mira.has_perm("inquiries.add_roster")
    assert mira.has_perm("judgements.own_agents")
    assert not mira.has_perm("engine.view_run")


def test_an_administrator_takes_a_right_from_all(mira: User) -> None:
    right = Permission.objects.get(codename="own_agents")
    Group.objects.get(name=EVERYBODY).permissions.remove(right)
    assert not again(mira).has_perm("judgements.own_agents")


def test_without_the_group_nobody_has_anything_by_it(mira: User) -> None:
    Group.objects.get(name=EVERYBODY).delete()
    assert not again(mira).has_perm("judgements.add_council")


def test_a_disabled_account_has_no_rights_of_everybody(mira: User) -> None:
    User.objects.filter(pk=mira.pk).update(is_active=False)
    assert not again(mira).has_perm("judgements.add_council")


def test_reviewers_see_export_and_review_but_neither_steer_nor_redact(mira: User) -> None:
    mira.groups.add(Group.objects.get(name=REVIEWERS))
    rights = again(mira).get_all_permissions()
    assert {"engine.view_run", "engine.export_run", "engine.add_review"} <= rights
    assert not rights & {"engine.steer_run", "engine.redact_run", "judgements.issue_receipt"}


def test_a_group_that_was_changed_is_left_as_it_is(mira: User) -> None:
    Group.objects.get(name=EVERYBODY).permissions.clear()
    create_groups()
    assert not again(mira).has_perm("judgements.add_council")


def test_a_right_of_everybody_opens_its_part_of_the_admin_and_no_other(mira: User) -> None:
    assert mira.has_module_perms("judgements")
    assert not mira.has_module_perms("auth")


async def named(request: HttpRequest, right: str) -> HttpResponse:
    return await permission_required(right, raise_exception=True)(answer)(request)


async def answer(request: HttpRequest) -> HttpResponse:
    return HttpResponse("done")


urlpatterns = [path("needs/<right>", named), path("", include("magi_site.urls"))]


@pytest.mark.urls(__name__)
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(("right", "status"), [("judgements.add_council", 200), ("engine.view_run", 403)])
async def test_an_async_view_lets_in_whom_another_view_lets_in(mira: User, right: str, status: int) -> None:
    client = AsyncClient()
    await client.aforce_login(mira)
    assert (await client.get(f"/needs/{right}")).status_code == status


@pytest.mark.django_db(transaction=True)
async def test_both_ways_to_ask_for_rights_say_the_same(mira: User) -> None:
    rights = await mira.aget_all_permissions()
    assert "judgements.add_council" in rights
    assert await mira.ahas_module_perms("judgements")
    assert not await mira.ahas_module_perms("auth")
    assert not await AnonymousUser().ahas_perm("judgements.add_council")
    assert rights == await sync_to_async(lambda: again(mira).get_all_permissions())()
