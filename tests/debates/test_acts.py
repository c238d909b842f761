"""What people did to a debate, with numbers that are not those of messages, and who did it."""

import re
from xml.etree import ElementTree

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from debates import responses
from debates.management.commands.debate import Command
from debates.models import writes
from debates.record.xml_export import render_debate_xml
from debates.rules.state import SteeringKind, TurnReason
from tests.debates.recount import acts_in
from tests.debates.table import Table
from tests.debates.talks import HIRE, RAJIV

pytestmark = pytest.mark.django_db


@pytest.fixture
def table(mira: User) -> Table:
    table = Table(mira, 3)
    table.note()
    table.chair("What about the budget?")
    table.say(1, "It is in the plan.", verdict=HIRE, reasoning="As I see it.", why=TurnReason.CALL)
    table.steer(SteeringKind.EXTEND, amount=20, after=3)
    writes.save_member_failure(table.pk, RAJIV)
    table.say(2, "Then I am for it.", verdict=HIRE, reasoning="As it is paid.", why=TurnReason.CALL)
    return table


def test_the_command_line_tells_acts_behind_the_message_after_which_they_came(table: Table):
    said = [text.strip() for _, text in Command().new_lines(table.row)]
    assert [text.partition(". ")[0] for text in said] == ["1", "2", "3", "Act 1", "Act 2", "4"]
    assert said[3:5] == [
        "Act 1. M. Okafor, chair: 20 messages more: up to 80.",
        "Act 2. Timekeeper: Rajiv Menon is given up.",
    ]


def test_the_record_numbers_acts_apart_from_messages(table: Table, page: Client):
    html = " ".join(page.get(reverse("debate-record", args=[table.pk])).content.decode().split())
    assert "20 messages more: up to 80. (act 1)" in html
    assert "Rajiv Menon is given up. (act 2)" in html


@pytest.mark.parametrize("where", ["live", "record"])
def test_notes_and_acts_of_a_transcript_have_the_numbers_that_prompts_and_record_give_them(where, table, page):
    html = page.get(reverse(f"debate-{where}", args=[table.pk])).content.decode().partition("<ol")[2]
    events = re.findall(r'<p class="event">.*?</p>', html, re.DOTALL)
    called = [re.findall(r'<small class="mono">(.*?)</small>', one) for one in events]
    assert [[], *called][-3:] == [["message 1"], ["act 1"], ["act 2"]]
    assert re.findall(r'class="msg__n">(\d)', html) == ["2", "3", "4"]


def test_the_xml_and_the_api_say_who_did_it_and_after_which_message(table: Table):
    root = ElementTree.fromstring(render_debate_xml(table.row))
    told = [(one.number, one.after, one.kind, one.by) for one in acts_in(root)]
    assert told == [(1, 3, "extend", "M. Okafor"), (2, 3, "give_up", "Timekeeper")]
    assert told == [
        (one["number"], one["after"], one["kind"], one["by"]) for one in responses.debate_fields(table.row)["acts"]
    ]
    assert [one.attrib["by"] for one in root.iterfind("Messages/Message") if "by" in one.attrib] == ["M. Okafor"]
