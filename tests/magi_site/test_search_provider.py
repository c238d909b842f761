"""Who is asked for a search of the web, as the environment says it, and what is wrong with that."""

import pytest
from pydantic import SecretStr

from magi_site.search_provider import search_by, search_complaint

KEY = SecretStr("k3y")


def test_a_provider_has_its_address_and_its_key():
    assert search_by("", None, None) == {}
    assert search_by("mcp.finder.find", None, None) == {"tool": "mcp.finder.find"}
    searxng = {"provider": "searxng", "address": "https://search.example/x", "key": ""}
    assert search_by("searxng:https://search.example/x", KEY, None) == searxng
    assert search_by("brave", KEY, None)["address"] == "https://api.search.brave.com"
    assert search_by("tavily:http://127.0.0.1:8080", None, KEY)["address"] == "http://127.0.0.1:8080"


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("google", "is none of"),
        ("mcp.finder", "is none of"),
        ("searxng", "no address"),
        ("searxng:search.example", "must be an address"),
        ("brave", "BRAVE_API_KEY is missing"),
        ("tavily", "TAVILY_API_KEY is missing"),
    ],
)
def test_what_cannot_be_asked_is_said_at_the_start(said, why):
    assert why in search_complaint(said, None, None)
    assert search_complaint("brave", KEY, None) == search_complaint("mcp.finder.find", None, None) == ""
