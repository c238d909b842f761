"""Links, badges and given records are what the notes of their run tell of them, or `verify_record` names them."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import Group
from django.utils import timezone

from engine.audit.verification import verify_one
from engine.models import Review
from runs import reviews, show_notes
from runs.models import AccessGrant, BadgeLink, ShareLink
from runs.sharing import badges, grants, links
from tests.columns import turned
from tests.conftest import judged, person
from tests.databases import copied, tampering

pytestmark = pytest.mark.django_db

NO_EVIDENCE = {
    **dict.fromkeys(("digest", "made"), "whoever changes the secret can read the record; its note has its own time"),
    "until": "its minute is noted",
    **dict.fromkeys(("words", "shelf", "key"), "words of its maker, and of what else than a run a badge shows"),
}


def make_two():
    judged(person("noor"))  # another one, to which rows could be moved
    return judged(person("mira")).run


@pytest.fixture(scope="module")
def two_runs():
    return copied(make_two)


@pytest.fixture
def run(two_runs, mira, noor):
    return two_runs()


def shown(run, mira):
    return [
        links.create_link(run, mira, "Ada", 14),
        badges.create_badge(mira, 14, "Gate", run),
        grants.grant_access(run, mira, "noor"),
        grants.grant_access(run, mira, Group.objects.get_or_create(name="Board")[0].name),
    ]


def end(row, by):
    door = {ShareLink: links.revoke_share_link, BadgeLink: badges.revoke_badge, AccessGrant: grants.revoke_access}
    door[type(row)](row, by)


def as_noted_before(monkeypatch):
    """As before notes told accounts and numbers."""
    for module in (links, badges, grants):
        monkeypatch.setattr(module, "made_note", show_notes._made_before)
    monkeypatch.setattr(grants, "ended_note", lambda row: f"Taken back from {row.to}.")


def faults(row):
    row.refresh_from_db()
    return [fault.text for fault in verify_one(row.run_id)[2]]


def test_a_change_of_any_column_is_noticed_or_named(run, mira, noor, reviewer):
    reviewer.groups.add(Group.objects.create(name="Board"))
    Group.objects.create(name="Others")
    unnoticed = set()
    with tampering():
        for row in shown(run, mira):
            assert faults(row) == []
            unnoticed |= {column for column, _ in turned(row) if not faults(row)}
    assert unnoticed <= set(NO_EVIDENCE)


@pytest.mark.parametrize("before", [False, True])
def test_what_was_ended_and_shows_it_again_is_named(run, mira, noor, reviewer, monkeypatch, before):
    reviewer.groups.add(Group.objects.create(name="Board"))
    if before:
        as_noted_before(monkeypatch)
    rows = shown(run, mira)
    for row in rows:
        end(row, mira)
        assert faults(row) == []
    for row in rows:
        type(row).objects.filter(pk=row.pk).update(ended=None)
        assert faults(row) == [f"{show_notes._name(row)} was ended and shows it again."]
        type(row).objects.filter(pk=row.pk).update(ended=timezone.now())


def test_one_that_was_put_in_or_made_longer_is_named(run, mira):
    rows = [links.create_link(run, mira, "", 14), badges.create_badge(mira, 14, "Gate", run)]
    for row in rows:
        type(row).objects.filter(pk=row.pk).update(until=row.until + timedelta(minutes=1))
        assert faults(row) == [f"{show_notes._name(row)} shows it otherwise than is noted."]
        type(row).objects.filter(pk=row.pk).update(until=row.until - timedelta(minutes=1))  # `faults` has read it
    more = ShareLink.new(run, mira, "", 14)
    more.save()
    assert faults(more) == [f"Link {more.pk} shows it otherwise than is noted."]


def test_what_was_shown_before_notes_told_accounts_is_intact_and_held_against_its_author(
    run, mira, noor, reviewer, monkeypatch
):
    reviewer.groups.add(Group.objects.create(name="Board"))
    as_noted_before(monkeypatch)
    for row in shown(run, mira):
        assert faults(row) == []
        type(row).objects.filter(pk=row.pk).update(by=noor)
        assert faults(row) == [f"{show_notes._name(row)} shows it otherwise than is noted."]
        type(row).objects.filter(pk=row.pk).update(by=mira)


def test_who_was_given_it_twice_before_has_it_once(run, mira, noor, monkeypatch):
    with monkeypatch.context() as patched:
        as_noted_before(patched)
        first = grants.grant_access(run, mira, "noor")
        grants.revoke_access(first, mira)
        second = grants.grant_access(run, mira, "noor")
    assert faults(second) == []
    grants.revoke_access(second, mira)
    third = grants.grant_access(run, mira, "noor")
    assert faults(third) == []
    grants.revoke_access(third, mira)
    AccessGrant.objects.filter(pk=first.pk).update(ended=None)
    assert faults(first) == [f"Given record {first.pk} was ended and shows it again."]


def test_people_who_are_renamed_and_deleted_change_nothing(run, mira, noor, reviewer):
    reviewer.groups.add(Group.objects.create(name="Board"))
    rows = shown(run, mira)
    mira.username, noor.first_name = "other", "Noor"
    mira.save()
    noor.save()
    assert faults(rows[0]) == []
    noor.delete()
    assert faults(rows[0]) == []


@pytest.mark.parametrize(
    "text",
    [
        "Link 3 ended.",
        " Badge 1 ended.\n",
        "Link 9 made: it shows this record, read only, until 1 May 2027, 10:00 UTC.",
        "Taken back from noor.",
        "Given to noor: to be seen until it is taken back. Account 1 shows it.",
    ],
)
def test_nobody_writes_a_note_that_reads_as_one_about_a_link(run, mira, text):
    with pytest.raises(ValueError, match="write yours in others"):
        reviews.add_review(run, mira, text)
    assert not Review.objects.exists()
    reviews.add_review(run, mira, f"He said: {text}")
