"""Who is asked for a search of the web, as the environment says it, and what is wrong with that."""

import pytest
from pydantic import SecretStr

from magi_site.search_provider import search_provider, search_provider_problem

KEY = SecretStr("k3y")


def test_a_provider_has_its_address_and_its_key():
    assert search_provider("", None, None) == {}
    assert search_provider("mcp.finder.find", None, None) == {"tool": "mcp.finder.find"}
    searxng = {"provider": "searxng", "address": "https://search.example/x", "key": ""}
    assert search_provider("searxng:https://search.example/x", KEY, None) == searxng
    assert search_provider("brave", KEY, None)["address"] == "https://api.search.brave.com"
    assert search_provider("tavily:http://127.0.0.1:8080", None, KEY)["address"] == "http://127.0.0.1:8080"


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
    assert why in search_provider_problem(said, None, None)
    assert search_provider_problem("brave", KEY, None) == search_provider_problem("mcp.finder.find", None, None) == ""
