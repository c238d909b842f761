"""Who may see what the members said alone before a person at the table does, and the trace that it leaves."""

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.urls import reverse

from debates import moderation
from debates.models import Debate, SteeringAction
from engine.audit.entries_from_rows import entries_of_chains
from engine.audit.full_verification import verify_all
from engine.models import Run
from runs.run_actions import cancel

from .scenes import waiting
from .table import Table

pytestmark = pytest.mark.django_db

ALONE = "The 2023 study cannot be repeated"
TOLD = "looks at what the members said alone."


@pytest.fixture
def elin(mira: User) -> User:
    return User.objects.create_user("elin")


@pytest.fixture
def table(mira: User, elin: User) -> Table:
    table = waiting(mira, elin)
    table.alone(1, "HIRE ON CONDITIONS", f"{ALONE} with the data that are public.", 60)
    return table


@pytest.fixture
def staff(db: None) -> Client:
    """A browser of its own: `page` is the chair's."""
    own = Client()
    own.force_login(User.objects.create_superuser("ruth"))
    return own


def address(table: Table) -> str:
    return reverse("debate-alone", args=[table.pk])


def live(page: Client, table: Table) -> str:
    return page.get(reverse("debate-live", args=[table.pk])).content.decode()


def may_look(user: User) -> None:
    user.user_permissions.add(Permission.objects.get(codename="look_at_firsts"))


def test_nothing_is_shown_before_the_look_is_on_record(staff: Client, table: Table):
    assert ALONE not in staff.get(address(table)).content.decode()
    assert not SteeringAction.objects.filter(act="look").exists()
    assert address(table) in live(staff, table)
    assert ALONE in staff.post(address(table), follow=True).content.decode()
    [look] = SteeringAction.objects.filter(act="look")
    assert look.by_name == "ruth"
    assert look.done


def test_the_look_is_one_entry_of_the_record_however_often_it_is_done(staff: Client, table: Table):
    staff.post(address(table))
    staff.post(address(table))
    [told] = [one.facts for one in entries_of_chains([table.pk])[table.pk]["debate.steered"]]
    assert (told["act"], told["by"], told["verdict"]) == ("look", "ruth", None)
    assert not any("no entry tells of" in fault.text for fault in verify_all().faults)  # it is sealed


def test_all_who_see_the_debate_read_who_looked(staff: Client, page: Client, table: Table):
    staff.post(address(table))
    html = live(page, table)
    assert f"<b>ruth</b> {TOLD}" in html
    assert ALONE not in html


def test_the_record_says_afterwards_who_looked(staff: Client, page: Client, table: Table):
    staff.post(address(table))
    cancel(Debate.objects.with_members().get(pk=table.pk), None)
    html = page.get(reverse("debate-record", args=[table.pk])).content.decode()
    assert "ruth" in html
    assert TOLD.capitalize() in html


def test_an_owner_without_the_right_sees_neither_the_page_nor_the_way_to_it(page: Client, table: Table):
    assert page.get(address(table)).status_code == page.post(address(table)).status_code == 403
    assert address(table) not in live(page, table)
    assert not SteeringAction.objects.exists()


def test_whoever_sits_at_the_table_cannot_look_whatever_their_rights(client: Client, elin: User, table: Table):
    elin.is_superuser = True
    elin.save()
    client.force_login(elin)
    answer = client.post(address(table))
    assert (answer.status_code, moderation.SEATED_TEXT in answer.content.decode()) == (409, True)
    assert ALONE not in answer.content.decode()
    assert not SteeringAction.objects.exists()


def test_an_owner_with_the_right_looks_at_its_own_debate(page: Client, mira: User, table: Table):
    may_look(mira)
    assert ALONE in page.post(address(table), follow=True).content.decode()
    assert SteeringAction.objects.get().by == mira


def test_where_nothing_is_hidden_there_is_nothing_to_look_at(staff: Client, table: Table):
    Run.objects.filter(pk=table.pk).update(status="finished")
    assert staff.get(address(table)).url == reverse("debate-live", args=[table.pk])
    with pytest.raises(moderation.ModerationRefused):
        moderation.read_first_statements(table.pk, User.objects.get(username="ruth"))
