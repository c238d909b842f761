"""What a council is and was is evidence: whoever changes it past the pages is found."""

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from engine.audit.full_verification import verify_all
from engine.ledger.entries import AuditEntry
from judgements.models import COUNCILS, Council, CouncilChange, CouncilMember, CouncilVersion
from tests.conftest import NAMES
from tests.databases import tampering

pytestmark = pytest.mark.django_db


def trio(criteria="Be fair."):
    return [{"name": name, "model": "", "criteria": criteria, "fallback": ""} for name in NAMES]


def problems():
    return [str(problem) for problem in verify_all().faults]


@pytest.fixture
def spend(mira):
    return Council.objects.create_first(name="Spend", agents=trio(), owner=mira)


def row(council):
    return Council.objects.filter(pk=council.pk)


def test_each_change_is_on_record_with_who_made_it(spend, mira, noor):
    spend.revise(name="Spending", agents=trio("Be strict."), author=mira)
    spend.keep_for(90, noor)
    spend.lock(mira)
    spend.unlock(mira)
    spend.archive(noor)
    spend.bring_back(mira)
    made = list(spend.changes.values_list("kind", "by"))
    assert made == [
        *[("founded", "mira"), ("revised", "mira"), ("kept", "noor"), ("locked", "mira")],
        *[("unlocked", "mira"), ("archived", "noor"), ("brought back", "mira")],
    ]
    assert AuditEntry.objects.filter(run=COUNCILS).count() == CouncilChange.objects.count()
    assert problems() == []


def test_what_changes_nothing_is_no_change(spend, mira):
    spend.keep_for(spend.retention_days, mira)
    spend.bring_back(mira)
    spend.unlock(mira)
    spend.revise(name="Spend", agents=trio(), author=mira)
    assert spend.changes.count() == 1


def test_a_version_that_was_put_in_is_found(spend):
    version = CouncilVersion.objects.create(council=spend, number=2, name="Spend")
    seated = zip("ABC", trio("Approve."), strict=True)
    CouncilMember.objects.bulk_create(CouncilMember(version=version, seat=seat, **agent) for seat, agent in seated)
    assert len(problems()) == 1
    row(spend).update(current=version)
    assert len(problems()) == 2


@pytest.mark.parametrize(
    "values",
    [{"name": "Spent"}, {"retention_days": 1}, {"archived": timezone.now()}, {"locked": timezone.now()}],
    ids=lambda values: next(iter(values)),
)
def test_what_it_is_otherwise_now_is_found(spend, values):
    row(spend).update(**values)
    assert len(problems()) == 1
    assert next(iter(values)) in problems()[0]


def test_a_sentence_names_the_council_that_was_changed(spend):
    row(spend).update(retention_days=1)
    assert problems()[0].startswith(f"The retention days of council {spend.pk} (Spend) was changed after ")


def test_another_owner_is_found(spend, noor):
    row(spend).update(owner=noor)
    assert "owner" in problems()[0]


def test_a_council_that_was_taken_from_its_owner_is_found(spend):
    row(spend).update(owner=None)
    assert "owner" in problems()[0]


def test_the_agents_of_another_council_are_found(spend, mira):
    other = Council.objects.create_first(name="Rubber stamp", agents=trio("Approve."), owner=mira)
    with tampering():
        row(spend).update(current=None)
        row(other).update(current=spend.current)
        row(spend).update(current=other.current)
    assert len(problems()) == 2
    with tampering():
        for version, of, name in ((spend.current, other, other.name), (other.current, spend, spend.name)):
            CouncilVersion.objects.filter(pk=version.pk).update(council=of, name=name, number=9 + of.pk)
    assert problems()


def test_another_name_of_a_version_is_found(spend):
    with tampering():
        CouncilVersion.objects.filter(pk=spend.current.pk).update(name="Safety Committee")
    assert len(problems()) == 1


def test_an_owner_whose_account_was_deleted_is_no_change(spend):
    User.objects.get(username="mira").delete()
    assert problems() == []


def test_a_council_that_nobody_made_is_found(mira):
    Council.objects.create(name="Rubber stamp", owner=mira)
    assert len(problems()) == 1


def test_other_criteria_are_found(spend):
    with tampering():
        CouncilMember.objects.filter(version=spend.current, seat="B").update(criteria="Approve.")
    assert len(problems()) == 1


def test_a_change_that_was_taken_away_is_found(spend, mira):
    spend.archive(mira)
    with tampering():
        spend.changes.last().delete()
        row(spend).update(archived=None)
    assert problems()


def test_a_change_that_was_made_up_is_found(spend, mira):
    change = spend.changes.get()
    change.pk, change.kind = None, "kept"
    change.save()
    assert len(problems()) == 1
