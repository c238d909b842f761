"""MAGI_MCP_SERVERS: two ways to reach a server, and every secret by the name of its variable."""

import pytest

from tests.magi_site.test_providers import environment  # noqa: F401 - it is a fixture


@pytest.fixture
def servers(environment):  # noqa: F811
    def read(**declared):
        return {name: one.server() for name, one in environment(MAGI_MCP_SERVERS=declared).MAGI_MCP_SERVERS.items()}

    return read


def test_a_server_is_started_by_a_command_with_the_secrets_that_are_named(servers, monkeypatch):
    monkeypatch.setenv("MINE", "swordfish")
    found = servers(calendar={"command": ["serve", "--quiet"], "env": {"TOKEN": "MINE"}})["calendar"]
    assert (found["command"], found["env"], found["timeout"]) == (("serve", "--quiet"), {"TOKEN": "swordfish"}, 60)


def test_or_it_is_reached_at_an_address_with_headers(servers, monkeypatch):
    monkeypatch.setenv("AUTH", "Bearer swordfish\n")
    declared = {"url": "https://tickets.example/mcp", "headers_env": {"Authorization": "AUTH"}, "timeout": 5}
    found = servers(tickets=declared)["tickets"]
    assert (found["headers"], found["timeout"]) == ({"Authorization": "Bearer swordfish"}, 5)


@pytest.mark.parametrize(
    ("declared", "said"),
    {
        "neither": ({"a": {}}, "needs either a command or a url"),
        "both": ({"a": {"command": ["x"], "url": "http://h/mcp"}}, "needs either a command or a url"),
        "no name": ({"a.b": {"command": ["x"]}}, "cannot name a server"),
        "no variable": ({"a": {"command": ["x"], "env": {"T": "NO_SUCH"}}}, "names a variable that is not set"),
        "no address": ({"a": {"url": "ftp://h"}}, "must be an address like"),
        "headers of a command": ({"a": {"command": ["x"], "headers_env": {"T": "PATH"}}}, "headers_env to a url"),
        "a misspelt word": ({"a": {"comand": ["x"]}}, "Extra inputs"),
        "no time": ({"a": {"command": ["x"], "timeout": 0}}, "greater than 0"),
    }.values(),
)
def test_what_cannot_be_meant_is_said_at_the_start(servers, declared, said):
    with pytest.raises(ValueError, match=said):
        servers(**declared)
