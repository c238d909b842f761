"""The doors beside pages and API, walked by everybody: links, badges, MCP, hooks, and what operators are told."""

import json
import re
from typing import Any
from uuid import uuid4

from magi_site.models import Token
from runs.sharing import badges, links
from tests.everybody import CANARY, SOUGHT, EverybodyCast
from tests.everybody import cast as cast
from tests.routes import PEOPLE
from tests.test_walk import ask, tells

CSRF = re.compile(r'name="csrfmiddlewaretoken" value="\w+"')


def test_whoever_has_a_link_or_a_badge_sees_what_that_shows_and_nobody_when_it_has_ended(cast: EverybodyCast) -> None:
    run, owner = cast.judgement.run, cast.users["owner"]
    link, badge = links.create_link(run, owner, CANARY, 1), badges.create_badge(owner, 1, "Gate", run)
    for address, never in ((f"/shared/{link.secret}/", f"{CANARY} note"), (f"/badge/{badge.secret}.svg", CANARY)):
        for who in PEOPLE:
            sign, text = ask(cast, who, "GET", address)
            assert (sign, never in text, str(run.pk) in text) == ("o", False, False), (who, address)
    links.revoke_share_link(link, owner)
    badges.revoke_badge(badge, owner)
    for address in (f"/shared/{link.secret}/", f"/badge/{badge.secret}.svg"):
        assert {ask(cast, who, "GET", address)[0] for who in PEOPLE} == {"n"}


def test_whoever_may_not_see_a_judgement_hears_nothing_of_it_through_mcp(cast: EverybodyCast) -> None:
    there, nowhere = str(cast.judgement.pk), str(uuid4())
    for method, asked in told_by_mcp(there):
        said = {who: ask_mcp(cast, who, method, asked) for who in PEOPLE}
        assert [who for who in PEOPLE if tells(who, said[who])] == []
        assert CANARY in said["owner"]
        elsewhere = ask_mcp(cast, "stranger", method, json.loads(json.dumps(asked).replace(there, nowhere)))
        assert said["stranger"].replace(there, nowhere) == elsewhere


def told_by_mcp(pk: str) -> list[tuple[str, dict[str, Any]]]:
    """All that reads, of all kinds."""
    return [
        ("tools/call", {"name": "look", "arguments": {"id": pk}}),
        ("tools/call", {"name": "list_runs", "arguments": {"q": SOUGHT}}),
        ("resources/list", {}),
        ("resources/read", {"uri": f"magi://runs/{pk}"}),
        ("resources/read", {"uri": f"magi://runs/{pk}/record"}),
    ]


def ask_mcp(cast: EverybodyCast, who: str, method: str, asked: dict[str, Any]) -> str:
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": asked}
    headers = {"Accept": "application/json, text/event-stream"}
    sign, text = ask(cast, who, "POST", "/mcp", data=json.dumps(message), headers=headers)
    assert sign == ("l" if who in ("nobody", "disabled") else "o")
    return text


def test_hooks_and_badges_of_others_runs_are_refused_as_those_of_none(cast: EverybodyCast) -> None:
    there, nowhere = str(cast.judgement.pk), str(uuid4())
    Token.objects.filter(owner=cast.users["stranger"]).update(scopes="tell")

    def asked(pk: str) -> list[tuple[str, str]]:
        hook = json.dumps({"address": "https://example.org/hook", "run": pk})
        badge = {"of": f"run:{pk}", "words": "Gate", "days": "1"}
        said = [("/api/v1/webhooks", hook), ("/library/badges/", badge)]
        answers = [ask(cast, "stranger", "POST", to, data=data) for to, data in said]
        return [(sign, CSRF.sub("", text)) for sign, text in answers]

    for one, none in zip(asked(there), asked(nowhere), strict=True):
        assert one == (none[0], none[1].replace(nowhere, there))


def test_figures_for_operators_tell_no_text_of_anybody(cast: EverybodyCast, settings: Any) -> None:
    settings.METRICS_TOKEN = "figures"
    answer = cast.client.get("/metrics", headers={"Authorization": "Bearer figures"}).content.decode()
    assert "magi_runs{" in answer
    assert not {CANARY, SOUGHT, "owner", str(cast.judgement.pk)} & set(re.findall(r"[\w-]+", answer))
