"""The library's list of tools: what each does, who has it, how often it was used, and what no model sees yet."""

import json
from datetime import timedelta

import pytest
from django.contrib.auth.models import Permission
from django.urls import reverse
from django.utils import timezone

from engine.models import McpTool, Run, ToolCall, account_key
from engine.models.mcp_tools import ListedTool, ToolListing
from plans.models import Team
from tests.plans.scenes import AGENTS, team

pytestmark = pytest.mark.django_db

SCHEMA = {"type": "object", "properties": {"to": {"type": "string", "description": "Who gets it."}}, "required": ["to"]}
LETTER = ListedTool("letter", "Sends a letter to somebody.", SCHEMA)


@pytest.fixture
def server(settings):
    """A server of others whose one tool was looked at."""
    settings.MCP_SERVERS = {"others": {"command": ("/no/such/program",)}}
    McpTool.objects.record_listing("others", ToolListing([LETTER]))
    return McpTool.objects.get()


@pytest.fixture
def used(mira):
    def use(owner=mira, days=0, **values):
        asked = {"owner": owner, "account": account_key(owner), "asked_by": owner.username}
        run = Run.objects.create(procedure="plan", created=timezone.now() - timedelta(days=days), **asked)
        values = {"tool": "mail.draft", "definition": "0", "effect": "writes", "status": "done"} | values
        return ToolCall.objects.create(run=run, step="1", number=1, source="toolbox.mail", **values)

    return use


def row_of(client, tool, **asked):
    html = client.get(reverse("tools"), asked).content.decode()
    start = html.index(f">{tool}</span>")
    return html[start : html.index("</tr>", start)]


def test_a_tool_says_what_it_does_and_takes(page):
    row = row_of(page, "mail.send")
    assert ("reaches out" in row, "Arguments" in row, ">subject</span>" in row) == (True, True, True)


def test_who_has_it_are_the_teams_that_are_offered(page):
    team()
    assert ">Desk</a>" in row_of(page, "mail.draft")
    Team.objects.get(name="Desk").archive(None)
    assert ">Desk</a>" not in row_of(page, "mail.draft")


def test_more_than_five_who_have_it_are_counted(page):
    Team.objects.update(archived=timezone.now())
    for number in range(7):
        team(name=f"Desk {number}", agents=AGENTS)
    assert "and 2 more" in row_of(page, "mail.draft")


def test_it_counts_the_uses_that_one_may_see(page, mira, noor, used):
    used()
    used()
    used(noor)
    assert "<b>2</b>" in row_of(page, "mail.draft")


def test_what_is_long_ago_is_not_counted(page, used):
    used(days=91)
    assert "never" in row_of(page, "mail.draft")


def test_the_last_failure_leads_to_its_run(page, used):
    call = used(status="failed", error="The server is away.\nMore of it.")
    row = row_of(page, "mail.draft")
    assert reverse("plan-live", args=[call.run_id]) in row
    assert ("The server is away." in row, "More of it." in row) == (True, False)


def test_what_a_server_offers_stands_there_before_anybody_has_classed_it(page, server):
    row = row_of(page, "mcp.others.letter")
    assert ("Nobody has said yet what it does." in row, "Class it" in row) == (True, False)


def test_who_may_class_it_is_led_there(page, mira, server):
    mira.user_permissions.add(Permission.objects.get(codename="class_tool"))
    assert reverse("admin:engine_mcptool_change", args=[server.pk]) in row_of(page, "mcp.others.letter")


def test_what_is_classed_stands_among_all_others(page, server):
    server.classify("writes", True, True, None, server.definition)
    row = row_of(page, "mcp.others.letter")
    assert ("brings text of strangers" in row, "may be done twice" in row, "Who gets it." in row) == (True, True, True)


def test_one_that_is_described_otherwise_says_so(page, server):
    server.classify("writes", True, True, None, server.definition)
    McpTool.objects.record_listing("others", ToolListing([ListedTool("letter", "Sends all letters.", SCHEMA)]))
    assert "describes it otherwise than it was classed" in row_of(page, "mcp.others.letter")


def test_what_could_not_be_taken_at_the_last_look_stands_there_with_the_reason(page, server):
    listing = ToolListing([LETTER], ["draw has no schema of an object"])
    assert McpTool.objects.differs_from("others", listing)
    McpTool.objects.record_listing("others", listing)
    assert not McpTool.objects.differs_from("others", listing)
    told = [page.get(reverse("tools"), asked).content.decode() for asked in ({}, {"q": "draw"}, {"q": "letter"})]
    assert ["Left out: draw has no schema of an object." in html for html in told] == [True, True, False]
    McpTool.objects.record_listing("others", ToolListing([LETTER]))
    assert "Left out:" not in page.get(reverse("tools")).content.decode()


def test_a_server_at_which_nobody_looked_says_so(page, settings):
    settings.MCP_SERVERS = {"others": {"command": ("/no/such/program",)}}
    assert "No tool of this server was looked at yet." in page.get(reverse("tools")).content.decode()


def test_tools_are_found_by_the_beginnings_of_words(page):
    html = page.get(reverse("tools"), {"q": "calc"}).content.decode()
    assert ("figures.calculate" in html, "mail.send" in html) == (True, False)
    assert "Nothing is found." in page.get(reverse("tools"), {"q": "zeppelin"}).content.decode()


def test_a_schema_that_others_wrote_is_shown_whatever_is_in_it(page, settings):
    settings.MCP_SERVERS = {"others": {"command": ("/no/such/program",)}}
    odd = {"type": "object", "properties": {"<b>": True, "x": {"anyOf": [{"type": "null"}, True]}}}
    McpTool.objects.record_listing("others", ToolListing([ListedTool("odd", json.dumps("<script>"), odd)]))
    McpTool.objects.get().classify("reads", False, True, None, McpTool.objects.get().definition)
    row = row_of(page, "mcp.others.odd")
    assert ("<script>" in row, "&lt;b&gt;" in row) == (False, True)


def test_the_library_leads_to_it(page):
    assert f'href="{reverse("tools")}"' in page.get(reverse("library")).content.decode()
