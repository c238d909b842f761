"""One record is given to people with an account, and taken back."""

import asyncio

import pytest
from django.contrib.auth.models import Group, Permission
from django.db import OperationalError, connection
from django.test import Client
from django.urls import reverse

from engine.audit.full_verification import verify_all
from engine.models import Review
from magi_site.models import Token
from runs import run_actions
from runs.history.query import RunHistory
from runs.models import AccessGrant, BadgeLink, ShareLink
from runs.record import redaction
from runs.rights import EXPORT, SEE, SHARE, STEER
from runs.sharing import badges, links
from runs.sharing.grants import grant_access, revoke_access
from tests.conftest import ScriptedModels, perform, submitted

pytestmark = pytest.mark.django_db
committed = pytest.mark.django_db(transaction=True)  # by threads of their own


@pytest.fixture
def run(approved_judgement):
    return approved_judgement.run


def anew(user):
    return type(user).objects.get(pk=user.pk)


def sees(user, run):
    """By every way of asking."""
    user = anew(user)
    one, many = SEE.covers(user, run), SEE.within(type(run).objects.all(), user).filter(pk=run.pk).exists()
    assert one == many == (user.pk in SEE.covering([user], run))
    return one


def test_who_is_given_a_record_sees_it_until_it_is_taken_back(run, mira, noor):
    assert not sees(noor, run)
    given = grant_access(run, mira, "noor")
    assert sees(noor, run)
    revoke_access(given, mira)
    assert not sees(noor, run)


def test_it_stands_in_their_history_and_its_words_are_found(run, mira, noor):
    grant_access(run, mira, "noor")
    for sought in ({}, {"q": run.title}):
        assert [row.id for row in RunHistory(anew(noor), sought).page().rows] == [str(run.pk)]


def test_a_group_is_given_it_as_it_is_today(run, mira, noor):
    release = Group.objects.create(name="Release")
    with pytest.raises(ValueError, match="Nobody is a member"):
        grant_access(run, mira, "Release")
    noor.groups.add(release)
    grant_access(run, mira, "Release")
    assert sees(noor, run)
    noor.groups.remove(release)
    assert not sees(noor, run)


@pytest.mark.parametrize(
    ("said", "to"), [("person noor", "noor"), ("group noor", "group noor"), ("Group noor", "group noor")]
)
def test_of_a_person_and_a_group_of_one_name_it_is_asked_who_is_meant(run, mira, noor, said, to):
    noor.groups.add(Group.objects.create(name="noor"))
    with pytest.raises(ValueError, match="write “person noor” or “group noor”"):
        grant_access(run, mira, "noor")
    assert grant_access(run, mira, said).to == to


def test_a_group_may_be_called_a_group(run, mira, noor):
    noor.groups.add(Group.objects.create(name="group Release"))
    assert grant_access(run, mira, "group Release").group.name == "group Release"


def test_they_may_neither_steer_it_nor_pass_it_on_and_take_it_as_a_file_by_right_alone(run, mira, noor):
    grant_access(run, mira, "noor")
    assert not any(right.covers(anew(noor), run) for right in (STEER, SHARE, EXPORT))
    noor.user_permissions.add(Permission.objects.get(codename="export_run"))
    assert EXPORT.covers(anew(noor), run)
    assert not SHARE.covers(anew(noor), run)


def test_it_ends_with_the_texts_and_with_the_right_of_who_gave_it(run, mira, noor, reviewer):
    grant_access(run, reviewer, "noor")
    reviewer.groups.clear()
    reviewer.user_permissions.clear()
    type(reviewer).objects.filter(pk=reviewer.pk).update(is_superuser=False)
    assert not sees(noor, run)
    AccessGrant.objects.all().delete()
    grant_access(run, mira, "noor")
    redaction.redact_run(run.pk, "reviewer", "Asked for.")
    assert not sees(noor, run)


def test_that_it_was_given_and_taken_back_stands_in_the_record(run, mira, noor):
    given = grant_access(run, mira, "noor")
    revoke_access(given, mira)
    assert [review.text.partition(":")[0] for review in Review.objects.filter(run=run)] == [
        "Given to noor",
        f"Taken back from noor, number {given.pk}.",
    ]
    assert not verify_all().faults


def seen_page(run, user):
    client = Client()
    client.force_login(user)
    return " ".join(client.get(reverse("record", args=[run.pk])).content.decode().split())


def looks_of(run, user, page_of=("record",)):
    client = Client()
    client.force_login(user)
    return [client.get(reverse(name, args=[run.pk])).status_code for name in page_of]


def test_that_somebody_looked_stands_in_the_record_once_and_on_the_page_of_who_gave_it(page, run, mira, noor):
    grant_access(run, mira, "noor")
    address = reverse("share", args=[run.pk])
    assert "Has not looked yet" in page.get(address).content.decode()
    assert looks_of(run, noor, ("live", "record", "fragments", "replay-frames")) == [200] * 4
    looks_of(run, mira)
    notes = [(review.by, review.text) for review in Review.objects.filter(run=run)][1:]
    assert notes == [("noor", "Looked at, as it was given to noor.")]
    assert "mira gave you this record. Your view" in seen_page(run, noor)
    assert "gave you this record" not in seen_page(run, mira)
    assert "Looked" in page.get(address).content.decode()
    assert not verify_all().faults


def test_of_a_group_it_is_said_who_looked_and_a_look_by_a_program_counts(page, run, mira, noor):
    noor.groups.add(Group.objects.create(name="Release"))
    grant_access(run, mira, "Release")
    secret = Token.objects.make(noor).secret
    found = Client().get(f"/api/v1/runs/{run.pk}", headers={"Authorization": f"Bearer {secret}"})
    assert found.status_code == 200
    assert "noor looked" in page.get(reverse("share", args=[run.pk])).content.decode()


def test_a_database_that_cannot_be_written_hides_nothing_from_whoever_was_given_it(run, mira, noor):
    grant_access(run, mira, "noor")
    with connection.execute_wrapper(read_only("runs_givenlook")):
        assert looks_of(run, noor) == [200]


def read_only(table):
    def refuse(execute, sql, *more):
        if table in sql and not sql.startswith("SELECT"):
            raise OperationalError("attempt to write a readonly database")
        return execute(sql, *more)

    return refuse


@pytest.mark.parametrize(
    ("name", "said"), [("nobody", "There is nobody"), ("mira", "may see it already"), ("", "Write")]
)
def test_the_page_says_why_it_was_not_given(page, run, name, said):
    answer = page.post(reverse("share", args=[run.pk]), {"to": name})
    assert said in answer.content.decode()
    assert answer.status_code == 422
    assert not AccessGrant.objects.exists()


def test_it_is_given_and_taken_back_on_the_page(page, run, noor):
    address = reverse("share", args=[run.pk])
    assert page.post(address, {"to": "noor"}).status_code == 302
    assert "Take back" in page.get(address).content.decode()
    page.post(reverse("take-back", args=[run.pk, AccessGrant.objects.get().pk]))
    assert not sees(noor, run)


def test_what_is_not_over_is_given_to_nobody(mira, noor):
    with pytest.raises(ValueError, match="nobody knows yet how it ends"):
        grant_access(submitted(mira).run, mira, "noor")


@committed
def test_what_is_tried_again_is_seen_and_a_look_once_it_is_over(failed, mira, noor):
    grant_access(failed.run, mira, "noor")
    run_actions.retry(failed, mira)
    assert looks_of(failed, noor) == [200]
    assert not Review.objects.filter(author=noor).exists()
    asyncio.run(perform(failed.pk, ScriptedModels()))
    looks_of(failed, noor)
    assert Review.objects.get(author=noor).text == "Looked at, as it was given to noor."


def test_what_is_tried_again_is_taken_back_all_the_same(failed, mira, noor):
    given, link = grant_access(failed.run, mira, "noor"), links.create_link(failed.run, mira, "", 14)
    badge = badges.create_badge(mira, 30, "Gate", failed.run)
    run_actions.retry(failed, mira)
    revoke_access(given, mira)
    links.revoke_share_link(link, mira)
    badges.revoke_badge(badge, mira)
    assert not any(rows.objects.filter(ended=None).exists() for rows in (AccessGrant, ShareLink, BadgeLink))
