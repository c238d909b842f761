"""Where people look at tools of others and say what they do: admin, command and doctor."""

import io

import pytest
from django.contrib.auth.models import Permission, User
from django.core.management import CommandError, call_command
from django.test import override_settings
from django.urls import reverse

from engine import doctor, mcp
from engine.models import McpTool
from engine.runtime import definition_check

pytestmark = pytest.mark.django_db

LIST = "admin:engine_mcptool_changelist"
OTHERWISE = {"letter": "Sends a letter to everybody at once."}


@pytest.fixture
def keeper(client):
    """Who may class tools, and nothing else."""
    keeper = User.objects.create_user("kaede", is_staff=True)
    keeper.user_permissions.add(Permission.objects.get(codename="class_tool"))
    client.force_login(keeper)
    return keeper


@pytest.fixture
def letter(served):
    """A tool that was looked at and is not classed."""
    definition_check.refresh_listing(mcp.servers()["others"])
    return McpTool.objects.get(name="letter")


def page_of(row):
    return reverse("admin:engine_mcptool_change", args=[row.pk])


def said(**more):
    return {"effect": "reaches_out", "outside": "on"} | more


def told(*words):
    out = io.StringIO()
    call_command("mcp_tools", *words, stdout=out)
    return out.getvalue()


def test_who_may_class_says_what_a_tool_does(client, keeper, letter):
    html = client.get(page_of(letter)).content.decode()
    assert "Sends a letter to somebody." in html
    assert client.post(page_of(letter), said(definition=letter.definition)).status_code == 302
    letter.refresh_from_db()
    assert (letter.is_enabled, letter.effect, letter.allowed_by, letter.outside) == (True, "reaches_out", "kaede", True)


def test_what_the_server_says_of_itself_only_fills_in_the_form(client, keeper, served, folder):
    folder.say(lies=True)
    client.post(reverse("admin:look_at_mcp"))
    row = McpTool.objects.get(name="letter")
    assert (row.hinted, row.effect, row.is_enabled) == ("reads", "", False)
    assert 'value="reads" id="id_effect_1" checked' in client.get(page_of(row)).content.decode()


def test_who_has_read_another_description_classes_nothing(client, keeper, letter, folder):
    folder.say(descriptions=OTHERWISE)
    client.post(reverse("admin:look_at_mcp"))
    answer = client.post(page_of(letter), said(definition=letter.definition))
    assert "describes it otherwise by now" in answer.content.decode()
    assert not McpTool.objects.get(name="letter").is_enabled


def test_a_tool_is_switched_off_again(client, keeper, letter):
    letter.classify("reads", False, True, keeper, letter.definition)
    client.post(page_of(letter), said(effect="", definition=letter.definition))
    letter.refresh_from_db()
    assert (letter.is_enabled, letter.status[:3]) == (False, "off")


def test_staff_without_the_permission_sees_none(client, letter):
    client.force_login(User.objects.create_user("sato", is_staff=True))
    assert client.get(page_of(letter)).status_code == 403
    assert client.post(reverse("admin:look_at_mcp")).status_code == 403


def test_looking_again_names_a_server_that_is_away(client, keeper, settings):
    settings.MCP_SERVERS = {"none": {"command": ("/no/such/program",)}}
    html = client.post(reverse("admin:look_at_mcp"), follow=True).content.decode()
    assert "none cannot be reached" in html


def test_the_command_shows_how_each_is_classed(letter):
    assert "mcp.others.letter: off: nobody has said what it does (the server says: reaches out)" in told("others")
    letter.classify("writes", True, False, None, letter.definition)
    assert "mcp.others.letter: on: writes, may be done twice, says the command line" in told("others")


def test_the_command_names_what_is_described_otherwise(letter, folder):
    letter.classify("writes", True, False, None, letter.definition)
    folder.say(descriptions=OTHERWISE)
    assert "mcp.others.letter: off: it is described otherwise than it was classed" in told("others")


def test_the_command_names_the_servers_there_are(served):
    with pytest.raises(CommandError, match=r"names no server other\. It names others\."):
        told("other")


async def test_the_doctor_tries_each_server(others, classed, folder):
    assert "Reachable, 2 tools, 0 of them on. Say what the others do" in (await finding()).sentence
    await classed()
    assert "Reachable, 2 tools, 2 of them on." in (await finding()).sentence
    folder.say(descriptions=OTHERWISE)
    found = await finding()
    assert (found.well, "and off: letter." in found.sentence) == (False, True)


async def test_the_doctor_says_what_helps_where_one_is_away(settings):
    settings.MCP_SERVERS = {"others": {"command": ("/no/such/program",)}}
    found = await finding()
    assert (found.well, "Check its entry of MAGI_MCP_SERVERS" in found.sentence) == (False, True)


async def finding():
    with override_settings(DOCTOR_CHECKS=[]):  # which have nothing to do with it
        return next(one for one in await doctor.run_checks() if one.subject == "MCP server others")
