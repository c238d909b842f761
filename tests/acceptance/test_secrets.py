"""Canary keys in every variable that takes one: they appear nowhere."""

import json
import sqlite3
import urllib.request
from http.cookiejar import CookieJar

from tests.acceptance.site import ServedSite, manage
from tests.conftest import JAPAN, agents
from tests.endpoint import ScriptedEndpoint

CANARIES = {
    name: f"sk-canary-{number}-7f3a9c"
    for number, name in enumerate(
        (
            "OPENAI_API_KEY",
            "ANTHROPIC_API_KEY",
            "GEMINI_API_KEY",
            "OPENROUTER_API_KEY",
            "AZURE_OPENAI_API_KEY",
            "ACME_KEY",
        )
    )
}
LEAKS = [  # an endpoint that says the key back, in every place where something of it is kept
    {"behaviour": "status", "status": 401, "body": {"error": {"message": f"Bad key {CANARIES['ACME_KEY']}"}}},
    {"behaviour": "status", "status": 500, "body": f"Authorization: Bearer {CANARIES['ACME_KEY']}"},
    {"behaviour": "good", "reason": f"Your key is {CANARIES['ACME_KEY']}, is it not?"},
    {"behaviour": "raw", "content": f"no JSON but {CANARIES['ACME_KEY']}"},
    {"behaviour": "error_in_200", "error": "invalid_api_key"},
]
PAGES = (
    "/",
    "/judgements/",
    "/judgements/models/",
    "/admin/",
    "/admin/judgements/judgement/",
    "/admin/doctor/",
    "/nowhere/",
)


def test_no_key_is_in_a_page_a_row_a_log_or_an_output(tmp_path):
    with ScriptedEndpoint() as endpoint:
        endpoint.script(queue=LEAKS * 3)
        providers = {"acme": {"base_url": endpoint.base_url, "api_key_env": "ACME_KEY"}}
        env = CANARIES | {"MAGI_PROVIDERS": json.dumps(providers), "AZURE_OPENAI_ENDPOINT": "http://127.0.0.1:9"}
        env |= {"OPENAI_BASE_URL": "http://127.0.0.1:9/v1", "MAGI_CALL_TIMEOUT": "5"}
        with ServedSite(tmp_path, **env) as site:
            outputs = [judged(site, tmp_path) for _ in range(2)] + [manage("doctor", env=site.env)]
            said = [done.stdout + done.stderr for done in outputs] + pages(site)
        said += [site.log.read_text(), *rows(tmp_path / "magi.sqlite3")]
    assert any("[key]" in text for text in said)
    assert [key for key in CANARIES.values() if any(key in text for text in said)] == []


def judged(site, folder):
    (folder / "agents.json").write_text(json.dumps(agents(*["acme/model"] * 3)))
    return manage("judge", "--json", JAPAN, "--agents", f"{folder}/agents.json", env=site.env)


def pages(site):
    visitor = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))
    visitor.open(site.link, timeout=60)
    with sqlite3.connect(site.log.parent / "magi.sqlite3") as database:
        ids = [row[0] for row in database.execute("SELECT id FROM engine_run")]
    paths = [f"/judgements/{pk}/" for pk in ids] + [f"/admin/judgements/judgement/{pk}/change/" for pk in ids]
    return [fetched(visitor, site.url + path) for path in (*PAGES, *paths)]


def fetched(visitor, url):
    try:
        with visitor.open(url, timeout=60) as answer:
            return answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.read().decode()


def rows(path):
    with sqlite3.connect(path) as database:
        return list(database.iterdump())
