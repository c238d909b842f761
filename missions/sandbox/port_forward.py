"""Forwards a port on loopback to the proxy's socket, inside the sandbox of a command with network.

    python3 -I -S port_forward.py PORT SOCKET PROGRAM...

It forks a child that forwards, and executes the program. The child ends with the sandbox.

Why so: missions/DESIGN.md, The sandbox.
"""

import contextlib
import os
import socket
import sys
import threading

CHUNK = 65_536


def copy_bytes(one: socket.socket, other: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := one.recv(CHUNK):
            other.sendall(data)
    with contextlib.suppress(OSError):
        other.shutdown(socket.SHUT_WR)


def forward_connection(client: socket.socket, address: str) -> None:
    with client, socket.socket(socket.AF_UNIX) as there, contextlib.suppress(OSError):
        there.connect(address)
        back = threading.Thread(target=copy_bytes, args=[there, client])
        back.start()
        copy_bytes(client, there)
        back.join()


def serve(server: socket.socket, address: str) -> None:
    while True:
        client, _ = server.accept()
        threading.Thread(target=forward_connection, args=[client, address], daemon=True).start()


if __name__ == "__main__":
    listening = socket.create_server(("127.0.0.1", int(sys.argv[1])))
    if os.fork() == 0:
        os.setsid()  # keeps keys and signals of the terminal's foreground group away from it
        nothing = os.open("/dev/null", os.O_RDWR)
        for number in range(3):
            os.dup2(nothing, number)
        serve(listening, sys.argv[2])
    listening.close()
    os.execv(sys.argv[3], sys.argv[3:])  # noqa: S606
