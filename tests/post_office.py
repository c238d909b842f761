"""A mail server in a process of its own, that keeps what it takes and fails as it is told.

`python -m tests.post_office MANNER` prints its port and serves until it is killed; each letter that it took is a line
of JSON on its output. MANNER: takes, refuses, busy, vanishes (takes the whole letter and goes away without a word),
hangs (the same, and says nothing for ever), mumbles and rambles (the same, and answers without a number, or without an
end), unknown (knows no recipient).
"""

import asyncio
import contextlib
import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any


class SmtpConnection:
    def __init__(self, manner: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.manner, self.reader, self.writer = manner, reader, writer
        self.to: list[str] = []

    def say(self, line: str) -> None:
        self.writer.write(f"{line}\r\n".encode())

    async def serve(self) -> None:
        self.say("220 post office")
        while line := (await self.reader.readline()).decode().strip():
            word = line.split()[0].upper()
            if word == "QUIT":
                self.say("221 bye")
                break
            if not await getattr(self, word.lower(), self.other)(line):
                break
        self.writer.close()

    async def other(self, line: str) -> bool:
        self.say("250 ok")
        return True

    async def mail(self, line: str) -> bool:
        self.say({"refuses": "550 not from you", "busy": "450 come again"}.get(self.manner, "250 ok"))
        return True

    async def rcpt(self, line: str) -> bool:
        self.to.append(line)
        self.say("550 nobody of that name" if self.manner == "unknown" else "250 ok")
        return True

    async def data(self, line: str) -> bool:
        self.say("354 go on")
        letter = (await self.reader.readuntil(b"\r\n.\r\n")).decode()
        print(json.dumps({"to": self.to, "letter": letter}), flush=True)
        if self.manner == "hangs":
            await asyncio.sleep(3600)
        if self.manner == "vanishes":
            return False
        self.say({"mumbles": "well, taken", "rambles": "250-" + 10_000 * "m"}.get(self.manner, "250 taken"))
        return True


async def main(manner: str) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            await SmtpConnection(manner, reader, writer).serve()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


class PostOffice:
    def __init__(self, process: "subprocess.Popen[str]") -> None:
        assert process.stdout
        self._process, self._out = process, process.stdout
        self.url = f"smtp://127.0.0.1:{int(self._out.readline())}?from=magi@magi.example"

    def next(self) -> dict[str, Any]:
        """The next one that it takes, when it has."""
        return json.loads(self._out.readline())

    def close(self) -> list[dict[str, Any]]:
        """What it took."""
        self._process.kill()
        return [json.loads(line) for line in self._process.communicate()[0].splitlines()]


@contextlib.contextmanager
def post_office(manner: str = "takes") -> Iterator[PostOffice]:
    command = [sys.executable, "-m", "tests.post_office", manner]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield PostOffice(process)
        finally:
            process.kill()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
