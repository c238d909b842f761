"""Who may change users and groups in the admin gives nobody, oneself included, more than one has."""

from contextlib import ExitStack
from typing import Any

import pytest
from django.contrib.auth.models import Group, Permission, User
from django.test import Client
from django.urls import reverse

from magi_site import sign_in
from magi_site.groups import EVERYBODY, REVIEWERS
from tests.conftest import allow

pytestmark = pytest.mark.django_db

CLERK = tuple(f"auth.{deed}_{what}" for deed in ("add", "change", "delete", "view") for what in ("user", "group"))


@pytest.fixture
def clerk(db: None) -> User:
    """Looks after accounts, and has a single right beside."""
    return allow(User.objects.create_user("clerk", is_staff=True), *CLERK, "engine.view_run")


@pytest.fixture
def desk(clerk: User, client: Client) -> Client:
    client.force_login(clerk)
    return client


def save(desk: Client, user: User, **changes: Any) -> int:
    """The status of the answer to a user's form."""
    fields = {"username": user.username, "is_active": "on", "date_joined_0": "2026-01-01", "date_joined_1": "00:00:00"}
    return desk.post(reverse("admin:auth_user_change", args=[user.pk]), fields | changes).status_code


def right(name: str) -> int:
    return Permission.objects.get(codename=name).pk


def test_nobody_makes_oneself_a_superuser(desk: Client, clerk: User) -> None:
    save(
        desk,
        clerk,
        is_staff="on",
        is_superuser="on",
        user_permissions=list(clerk.user_permissions.values_list("pk", flat=True)),
    )
    assert not User.objects.get(pk=clerk.pk).is_superuser


@pytest.mark.parametrize("whose", ["clerk", "mira"])
def test_nobody_gives_a_permission_that_one_has_not(desk: Client, clerk: User, mira: User, whose: str) -> None:
    user = User.objects.get(username=whose)
    save(desk, user, is_staff="on", user_permissions=[right("redact_run")])
    assert not User.objects.get(pk=user.pk).has_perm("engine.redact_run")
    assert save(desk, mira, user_permissions=[right("view_run")]) == 302
    assert User.objects.get(pk=mira.pk).has_perm("engine.view_run")


def test_a_group_is_given_by_who_has_all_that_it_gives(desk: Client, clerk: User, mira: User) -> None:
    reviewers = Group.objects.get(name=REVIEWERS)
    save(desk, mira, groups=[reviewers.pk])
    assert not mira.groups.exists()
    allow(clerk, "engine.export_run", "engine.add_review")
    assert save(desk, mira, groups=[reviewers.pk]) == 302
    assert mira.groups.get() == reviewers


@pytest.mark.parametrize("more", ["superuser", "rights", "disabled"])
def test_whoever_has_more_is_out_of_reach(desk: Client, mira: User, more: str) -> None:
    User.objects.filter(pk=mira.pk).update(is_superuser=more == "superuser", is_active=more != "disabled")
    allow(mira, *(["engine.redact_run"] if more != "superuser" else []))
    for name in ("change", "delete"):
        assert desk.post(reverse(f"admin:auth_user_{name}", args=[mira.pk]), {"post": "yes"}).status_code == 403
    new = {"password1": "a long enough secret 2", "password2": "a long enough secret 2"}
    assert desk.post(reverse("admin:auth_user_password_change", args=[mira.pk]), new).status_code == 403
    chosen = {"action": "delete_selected", "_selected_action": [mira.pk], "post": "yes"}
    desk.post(reverse("admin:auth_user_changelist"), chosen)
    mira.refresh_from_db()
    assert mira.check_password("a long enough secret")


def test_a_group_gets_only_what_its_editor_has(desk: Client) -> None:
    everybody, reviewers = Group.objects.get(name=EVERYBODY), Group.objects.get(name=REVIEWERS)
    new = desk.post(reverse("admin:auth_group_add"), {"name": "Mine", "permissions": [right("steer_run")]})
    assert (new.status_code, Group.objects.filter(name="Mine").exists()) == (200, False)
    fields = {"name": EVERYBODY, "permissions": [right("redact_run")]}
    desk.post(reverse("admin:auth_group_change", args=[everybody.pk]), fields)
    assert not everybody.permissions.filter(codename="redact_run").exists()
    answer = desk.post(reverse("admin:auth_group_change", args=[reviewers.pk]), {"name": REVIEWERS})
    assert (answer.status_code, reviewers.permissions.count()) == (403, 3)


SECRET = {"usable_password": "true", "password1": "a long enough secret", "password2": "a long enough secret"}


def setting_a_password(user: User) -> list[tuple[str, dict[str, str]]]:
    """In both ways that the admin has: the form's address and what is sent."""
    change = reverse("admin:auth_user_password_change", args=[user.pk])
    return [(reverse("admin:auth_user_add"), {"username": "new"} | SECRET), (change, SECRET)]


def hashes() -> list[str]:
    return list(User.objects.order_by("pk").values_list("password", flat=True))


def test_staff_set_passwords_in_the_line_of_those_who_are_signed_in(desk: Client, mira: User) -> None:
    before = hashes()
    with ExitStack() as others:
        for _ in range(1 + sign_in.MAX_QUEUED):
            others.enter_context(sign_in.KNOWN_BROWSER_QUEUE.all)
        for address, sent in setting_a_password(mira):
            page = desk.post(address, sent, follow=True)
            assert (page.redirect_chain, "Try again in a few seconds." in page.content.decode()) == (
                [(address, 302)],
                True,
            )
    assert hashes() == before
    assert [desk.post(address, sent).status_code for address, sent in setting_a_password(mira)] == [302, 302]
    assert len(set(hashes()) - set(before)) == 2


def test_staff_set_no_password_that_nobody_could_sign_in_with(desk: Client, mira: User) -> None:
    long = {"password1": "x" * 5000, "password2": "x" * 5000}
    before = hashes()
    for address, sent in setting_a_password(mira):
        assert "at most 4096 characters" in desk.post(address, sent | long).content.decode()
    assert hashes() == before


def test_a_superuser_gives_whatever_there_is(client: Client, reviewer: User, mira: User) -> None:
    client.force_login(reviewer)
    assert save(client, mira, is_superuser="on", user_permissions=[right("redact_run")]) == 302
    assert User.objects.get(pk=mira.pk).is_superuser
