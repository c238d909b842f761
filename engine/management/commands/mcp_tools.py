from argparse import ArgumentParser
from collections.abc import Iterator
from typing import Any

from django.core.management.base import CommandError

from engine import console, mcp
from engine.models import McpTool
from engine.runtime import definition_check

LINE = 100  # characters of a description


class Command(console.ConsoleCommand):
    help = "Look at the tools of an MCP server, and show how each is classed. Who classes them does so in the admin."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("server", help="its name in MAGI_MCP_SERVERS")

    def handle(self, *, server: str, **options: Any) -> None:
        known = mcp.servers()
        if server not in known:
            names = f"It names {', '.join(known)}." if known else "It names none."
            raise CommandError(f"MAGI_MCP_SERVERS names no server {server}. {names}")
        try:
            listing = definition_check.refresh_listing(known[server])
        except mcp.ServerUnavailable as away:
            raise CommandError(str(away)) from away
        for row in McpTool.objects.filter(server=server):
            self.stdout.write("\n".join(_lines(row)))
        for one in listing.left_out:
            self.stdout.write(f"Left out: {one}.")


def _lines(row: McpTool) -> Iterator[str]:
    yield f"{row}: {row.status}"
    yield f"    {' '.join(row.description.split())[:LINE] or 'No description.'}"
