"""What a client starts as its server: it hands its files and environment to a fork of `tests.mcp_forks`, which serves.

It ends when the fork does and takes it along when it is killed. It loads as little as it can, for it is started often.
"""

import array
import json
import os
import socket
import sys

FILES = (0, 1, 2)


def main(place: str, words: list[str]) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as forks:
        forks.connect(place)
        told = json.dumps({"words": words, "env": dict(os.environ), "cwd": os.getcwd()}).encode()
        forks.sendmsg([told], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", FILES))])
        forks.recv(1)  # nothing comes: it ends


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
