"""Who may do what: each right is a permission of its own, and to be staff is none."""

import asyncio
from itertools import chain, combinations
from typing import Any

import pytest
from channels.db import database_sync_to_async
from django.contrib.auth.models import AnonymousUser, Group, User
from django.test import AsyncClient, Client
from django.urls import reverse

from engine.models import Run
from judgements.models import Judgement
from judgements.receipts_api import ISSUE_RECEIPTS
from magi_site.groups import EVERYBODY, REVIEWERS
from magi_site.models import Token
from runs import rights, run_actions
from runs.rights import EXPORT, REDACT, REVIEW, SEE, STEER, RunRight
from tests.conftest import agents, allow

pytestmark = pytest.mark.django_db
committed = pytest.mark.django_db(transaction=True)  # by threads of their own

RIGHTS = (SEE, STEER, EXPORT, ISSUE_RECEIPTS, REVIEW, REDACT)


@pytest.fixture
def approved(approved_judgement: Judgement) -> Judgement:
    return approved_judgement


@pytest.fixture
def staff(db: None) -> User:
    """Somebody who may enter the admin, and nothing else."""
    return User.objects.create_user("staff", is_staff=True)


def page_of(user: User) -> Client:
    client = Client(raise_request_exception=False)
    client.force_login(user)
    return client


def calls_of(user: User) -> Client:
    secret = Token.objects.make(user).secret
    return Client(headers={"Authorization": f"Bearer {secret}"}, raise_request_exception=False)


# ---- the rule -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("right", RIGHTS)
def test_the_rule_says_the_same_of_one_row_of_many_and_for_many_users(
    right: RunRight, judgement: Judgement, mira: User, noor: User, reviewer: User, staff: User
) -> None:
    names = [one.permission for one in (SEE, right)]
    for number, some in enumerate(chain.from_iterable(combinations(names, n) for n in range(3))):
        allow(User.objects.create_user(f"u{number}"), *some)
    User.objects.create_user("in the group").groups.add(Group.objects.get(name=REVIEWERS))
    User.objects.create_user("disabled", is_active=False, is_superuser=True)
    everybody = list(User.objects.all())
    by_row = {user.pk for user in everybody if right.covers(user, judgement.run)}
    by_query = {user.pk for user in everybody if Judgement.objects.in_scope(right, user).contains(judgement)}
    assert by_row == by_query == right.covering(everybody, judgement.run)
    assert reviewer.pk in by_row
    assert not {staff.pk, noor.pk} & by_row
    assert not right.covers(AnonymousUser(), judgement.run)


def test_what_everybody_may_counts_for_one_and_for_many(judgement: Judgement, noor: User) -> None:
    assert SEE.covering([noor], judgement.run) == set()
    see = allow(User.objects.create_user("x"), "engine.view_run").user_permissions.get()
    Group.objects.get(name=EVERYBODY).permissions.add(see)
    noor = User.objects.get(pk=noor.pk)
    assert SEE.covers(noor, judgement.run)
    assert SEE.covering([noor], judgement.run) == {noor.pk}


def test_an_owner_with_the_permission_is_among_many(judgement: Judgement, mira: User) -> None:
    assert REDACT.covering([mira], judgement.run) == set()
    assert REDACT.covering([allow(mira, REDACT.permission)], judgement.run) == {mira.pk}


@pytest.mark.parametrize("right", [STEER, EXPORT, ISSUE_RECEIPTS, REVIEW, REDACT])
def test_no_right_reaches_what_one_may_not_see(right: RunRight, judgement: Judgement, noor: User) -> None:
    noor = allow(noor, right.permission)
    assert right.reach(noor) == rights.PermissionReach.OWN
    assert not right.covers(noor, judgement.run)
    assert right.covers(allow(noor, SEE.permission), judgement.run)


@pytest.mark.parametrize(("right", "may"), [(STEER, True), (EXPORT, True), (ISSUE_RECEIPTS, True), (REVIEW, False)])
def test_what_an_owner_may_without_any_permission(right: RunRight, may: bool, judgement: Judgement, mira: User) -> None:
    assert right.covers(mira, judgement.run) is may


# ---- the doors ----------------------------------------------------------------------------------------------


def test_staff_without_permissions_see_their_own_alone(staff: User, judgement: Judgement) -> None:
    own = Judgement.objects.submit(owner=staff, content="Mine.", agents=agents())
    page, calls = page_of(staff), calls_of(staff)
    html = page.get(reverse("history")).content.decode()
    assert own.run.title in html
    assert judgement.run.title not in html
    assert page.get(reverse("live", args=[judgement.pk])).status_code == 404
    assert [one["id"] for one in calls.get("/api/v1/judgements").json()["results"]] == [str(own.pk)]


def test_who_may_see_all_and_no_more_is_told_so(noor: User, approved: Judgement) -> None:
    page, calls = page_of(allow(noor, "engine.view_run")), calls_of(noor)
    assert page.get(reverse("live", args=[approved.pk])).status_code == 200
    for name, deed in (
        ("cancel", "cancel, retry or steer"),
        ("record-file", "take its record"),
        ("redact", "redact it"),
    ):
        answer = page.get(reverse(name, args=[approved.pk]))
        assert (answer.status_code, deed in answer.content.decode()) == (403, True)
    assert page.post(reverse("retry", args=[approved.pk])).status_code == 403
    for path in ("cancel", "retry", "receipt"):
        answer = calls.post(f"/api/v1/judgements/{approved.pk}/{path}", content_type="application/json")
        assert (answer.status_code, "An administrator can" in answer.json()["detail"]) == (403, True)
    assert calls.get(f"/api/v1/judgements/{approved.pk}/record").status_code == 403


@pytest.mark.parametrize(
    ("right", "does"),
    [("engine.steer_run", "cancel"), ("judgements.issue_receipt", "receipt"), ("engine.export_run", "record")],
)
def test_each_permission_opens_its_own_door(right: str, does: str, noor: User, approved: Judgement) -> None:
    calls = calls_of(allow(noor, "engine.view_run", right))
    answers = {
        "cancel": calls.post(f"/api/v1/judgements/{approved.pk}/cancel").status_code,
        "receipt": calls.post(f"/api/v1/judgements/{approved.pk}/receipt", content_type="application/json").status_code,
        "record": calls.get(f"/api/v1/judgements/{approved.pk}/record").status_code,
    }
    opened = {"cancel": 409, "receipt": 201, "record": 200}  # there is nothing to cancel any more
    assert answers == dict.fromkeys(answers, 403) | {does: opened[does]}


def test_an_owner_redacts_only_with_the_permission(mira: User, approved: Judgement) -> None:
    address = reverse("redact", args=[approved.pk])
    assert page_of(mira).post(address, {"reason": "I want it."}).status_code == 403
    assert ">Redact<" not in page_of(mira).get(reverse("record", args=[approved.pk])).content.decode()
    page = page_of(allow(mira, "engine.redact_run"))
    assert ">Redact<" in page.get(reverse("record", args=[approved.pk])).content.decode()
    assert page.post(address, {"reason": "I want it."}).status_code == 302
    assert Run.objects.get(pk=approved.pk).redacted


def test_buttons_are_offered_to_who_may_press_them(noor: User, judgement: Judgement) -> None:
    page = page_of(allow(noor, "engine.view_run"))
    html = page.get(reverse("live", args=[judgement.pk])).content.decode()
    assert "stage--watched" in html
    assert "<dialog" not in html
    page = page_of(allow(noor, "engine.steer_run"))
    html = page.get(reverse("live", args=[judgement.pk])).content.decode()
    assert "stage--watched" not in html
    assert "<dialog" in html


@committed
async def test_an_export_brings_what_one_may_export_and_the_page_says_so(noor: User, judgement: Judgement) -> None:
    await database_sync_to_async(Judgement.objects.submit)(owner=noor, content="Mine.", agents=agents())

    async def exported(*permissions: str) -> tuple[int, bool]:
        page = AsyncClient()
        await page.aforce_login(await database_sync_to_async(allow)(noor, *permissions))
        answer: Any = await page.get(reverse("export", args=["jsonl"]))
        lines = b"".join([part async for part in answer.streaming_content]).splitlines()
        return len(lines), "Your own judgements only" in (await page.get(reverse("history"))).content.decode()

    assert await exported("engine.view_run") == (1, True)
    assert await exported("engine.export_run") == (2, False)


@committed
async def test_a_wait_answers_by_the_rights_at_its_end(noor: User, judgement: Judgement) -> None:
    token = await database_sync_to_async(lambda: Token.objects.make(allow(noor, "engine.view_run")))()
    bearer = {"Authorization": f"Bearer {token.secret}"}
    waiting = asyncio.create_task(AsyncClient().get(f"/api/v1/judgements/{judgement.pk}?wait=20", headers=bearer))
    done, _ = await asyncio.wait([waiting], timeout=0.3)
    assert not done
    await noor.user_permissions.aclear()
    await database_sync_to_async(run_actions.cancel)(judgement, judgement.run.owner)
    assert (await waiting).status_code == 404


def test_a_disabled_owner_does_nothing_with_its_own(mira: User, judgement: Judgement) -> None:
    page, calls = page_of(mira), calls_of(mira)
    User.objects.filter(pk=mira.pk).update(is_active=False)
    assert page.get(reverse("live", args=[judgement.pk])).status_code == 302
    assert calls.post(f"/api/v1/judgements/{judgement.pk}/cancel").status_code == 401
    assert Run.objects.get().status == "queued"


def test_the_doctor_asks_for_its_own_permission(staff: User) -> None:
    page = page_of(staff)
    assert page.get(reverse("doctor")).status_code == 403
    assert "Doctor" not in page.get(reverse("admin:index")).content.decode()
    page = page_of(allow(staff, "engine.use_doctor"))
    assert page.get(reverse("doctor")).status_code == 200
    assert "Doctor" in page.get(reverse("admin:index")).content.decode()
