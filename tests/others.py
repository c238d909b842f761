"""A server of others, as tests of any part begin with it."""

import pytest
from asgiref.sync import sync_to_async

from engine import mcp
from engine.models import McpTool
from tests import mcp_forks
from tests.mcp_folder import Folder


@pytest.fixture
def folder(tmp_path):
    return Folder(tmp_path)


@pytest.fixture
def served(settings, folder):
    """A server of others that is started for each session with it."""
    settings.MCP_SERVERS = {"others": {"command": mcp_forks.command(folder.path), "timeout": 20.0}}


@pytest.fixture
async def others(served):
    yield mcp.servers()["others"]
    await mcp.close()


@pytest.fixture
def classed(others):
    """The server's tools, as they are described now, classed."""

    async def class_them(effect="reaches_out", repeatable=False, outside=True):
        listing = await mcp.fetch_tool_list(others)
        await sync_to_async(class_all)(listing, effect, repeatable, outside)

    return class_them


def class_all(listing, *how):
    McpTool.objects.record_listing("others", listing)
    for row in McpTool.objects.all():
        assert row.classify(*how, None, row.definition)
