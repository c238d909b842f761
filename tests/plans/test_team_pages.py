"""The pages of teams: what one holds, how it is written anew, and who may."""

import json

import pytest
from django.contrib.auth.models import Permission
from django.core.files.uploadedfile import SimpleUploadedFile

from plans.models import Team

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def people(db):
    """Where tests before these emptied the tables, the ready-made ones are gone."""
    agents = [
        {"name": "People partner", "description": "Looks after people.", "tools": ["people.find", "people.add"]},
        {"name": "Letters", "description": "Writes letters.", "tools": ["mail.send"]},
    ]
    Team.objects.filter(name="People").exists() or Team.objects.create_first(name="People", owner=None, agents=agents)


def team(name="People"):
    return Team.objects.with_content().get(name=name)


def written(page, pk):
    return page.get(f"/teams/{pk}/file/").json()


def test_a_team_shows_its_agents_their_tools_and_whom_it_asks(page):
    html = page.get(f"/teams/{team().pk}/").content.decode()
    for said in ("People partner", "people.add", "writes", "External actions, word by word", "Version 1"):
        assert said in html, said
    assert page.get(f"/teams/{team().pk}/versions/1/").status_code == 200
    assert page.get(f"/teams/{team().pk}/versions/2/").status_code == 404


def test_the_library_has_them_and_uses_one_for_a_new_plan(page):
    html = page.get("/teams/").content.decode()
    assert f'href="/plans/new/?team={team().pk}"' in html
    assert "People partner, " in html


@pytest.mark.parametrize("as_file", [True, False])
def test_a_team_is_made_of_a_text_or_a_file_and_belongs_to_who_made_it(page, mira, as_file):
    text = json.dumps(written(page, team().pk) | {"name": "Mine"})
    sent = {"file": SimpleUploadedFile("t.json", text.encode()), "text": ""} if as_file else {"text": text}
    assert page.post("/teams/new/", sent).status_code == 302
    assert (team("Mine").owner, team("Mine").current.held()) == (mira, team().current.held())


@pytest.mark.parametrize(("change", "said"), [({"name": "People"}, "Another team"), ({"agents": []}, "agents")])
def test_what_is_wrong_comes_back_with_why(page, change, said):
    text = json.dumps(written(page, team().pk) | {"name": "Mine"} | change)
    refused = page.post("/teams/new/", {"text": text})
    assert (refused.status_code, said in refused.content.decode()) == (422, True)
    assert not Team.objects.filter(name="Mine").exists()


@pytest.mark.parametrize("sent", [b"\xff\xfe\x00", b" " * 800_001])
def test_a_file_that_cannot_be_one_is_refused_and_what_was_typed_stays(page, sent):
    refused = page.post("/teams/new/", {"file": SimpleUploadedFile("t.json", sent), "text": "My own."})
    assert (refused.status_code, "My own." in refused.content.decode()) == (422, True)


def test_a_new_version_says_what_changed_and_an_overtaken_one_changes_nothing(client, reviewer):
    client.force_login(reviewer)
    held = written(client, team().pk)
    held["agents"][0]["tools"].append("mail.draft")
    sent = {"text": json.dumps(held), "version": 1}
    assert client.post(f"/teams/{team().pk}/edit/", sent).status_code == 302
    assert "People partner has mail.draft now." in client.get(f"/teams/{team().pk}/").content.decode()
    late = client.post(f"/teams/{team().pk}/edit/", {"text": json.dumps(held | {"description": "x"}), "version": 1})
    assert (late.status_code, team().number) == (409, 2)


def test_who_may_not_make_or_change_one_does_not(page):
    assert page.get(f"/teams/{team().pk}/edit/").status_code == 403
    Permission.objects.get(codename="add_team").group_set.clear()
    assert page.post("/teams/new/", {"text": "{}"}).status_code == 403
