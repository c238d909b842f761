"""A server of others that is reached by HTTP does no more to us than one that we have started."""

import gzip
import subprocess
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from engine import mcp
from tests import mcp_forks
from tests.acceptance.site import free_port
from tests.engine.mcp.test_sessions import said
from tests.mcp_folder import Folder
from tests.waiting import wait_until


@contextmanager
def serving(folder, port):
    with subprocess.Popen(mcp_forks.command(folder.path, port)) as process:
        try:
            answers(f"http://127.0.0.1:{port}/", process)
            yield
        finally:
            process.kill()


def answers(url, process):
    def answered():
        assert process.poll() is None, "the server has ended"
        with suppress(OSError):
            try:
                return urlopen(url, timeout=5)
            except HTTPError as error:  # which is an answer
                return error

    wait_until(answered, f"an answer of {url}")


@pytest.fixture(scope="module", params=["a stream", "JSON"])
def standing(request, tmp_path_factory):
    """A server that stands, and how it answers."""
    folder, port = Folder(tmp_path_factory.mktemp("others")), free_port()
    folder.say(json=request.param == "JSON")
    with serving(folder, port):
        yield folder, port


@pytest.fixture
async def remote(standing, settings):
    folder, port = standing
    (folder.path / "calls").unlink(missing_ok=True)
    folder.say(call="", text="Done.", long=None)
    headers = {"Authorization": "Bearer swordfish-1234"}
    settings.MCP_SERVERS = {"remote": {"url": f"http://127.0.0.1:{port}/mcp", "timeout": 20.0, "headers": headers}}
    yield mcp.servers()["remote"]
    await mcp.close()


async def test_a_call_is_made_once_with_the_header_that_is_its_secret(remote, standing):
    folder, _ = standing
    folder.say(text="You said swordfish-1234.")
    assert await said(remote) == "You said [key]."
    assert [(one["name"], one["told"]) for one in folder.calls] == [("letter", "Bearer swordfish-1234")]


async def test_more_than_ten_megabytes_end_the_answer(remote, standing):
    standing[0].say(long=11 * 1024 * 1024)
    with pytest.raises(mcp.CallInterrupted, match="more than 10 MB at once"):
        await said(remote)
    assert len(standing[0].calls) == 1


async def test_five_megabytes_are_read(remote, standing):
    standing[0].say(long=5 * 1024 * 1024)
    assert len(await said(remote)) == 5 * 1024 * 1024


async def test_one_that_hangs_is_given_up_at_its_time(remote, standing, settings):
    settings.MCP_SERVERS["remote"]["timeout"] = 5.0
    standing[0].say(call="hang")
    with pytest.raises(mcp.CallInterrupted, match="did not answer within 5 s"):
        await said(mcp.servers()["remote"])


async def test_one_that_is_not_there_is_said(settings):
    settings.MCP_SERVERS = {"remote": {"url": f"http://127.0.0.1:{free_port()}/mcp"}}
    with pytest.raises(mcp.ServerUnavailable, match=r"The MCP server remote cannot be reached"):
        await mcp.fetch_tool_list(mcp.servers()["remote"])


async def test_one_that_dies_in_mid_call_has_perhaps_done_it_and_is_asked_again_when_it_is_back(tmp_path, settings):
    folder, port = Folder(tmp_path), free_port()
    settings.MCP_SERVERS = {"remote": {"url": f"http://127.0.0.1:{port}/mcp", "timeout": 20.0}}
    folder.say(call="die")
    with serving(folder, port), pytest.raises(mcp.CallInterrupted, match="gave no answer"):
        await said(mcp.servers()["remote"])
    folder.say(call="")
    with serving(folder, port):
        assert await said(mcp.servers()["remote"]) == "Done: letter."
        await mcp.close()
    assert len(folder.calls) == 2


class Packed(BaseHTTPRequestHandler):
    def do_POST(self):
        body = gzip.compress(b" " * 1_000)
        self.send_response(200)
        for name, value in (("content-encoding", "gzip"), ("content-length", str(len(body)))):
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


async def test_an_answer_that_is_packed_is_not_opened(settings):
    with ThreadingHTTPServer(("127.0.0.1", 0), Packed) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        settings.MCP_SERVERS = {"packed": {"url": f"http://127.0.0.1:{server.server_port}/mcp", "timeout": 5.0}}
        with pytest.raises(mcp.ServerUnavailable, match="it packs its answers although it was asked not to"):
            await mcp.fetch_tool_list(mcp.servers()["packed"])
        server.shutdown()
