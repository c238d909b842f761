"""What leads out of a sandbox, asked by whoever is inside: nothing that is said to it breaks it."""

import socket
import threading

import pytest

from missions.terminals.proxy import MOST_AT_ONCE, Proxy, asked_for


@pytest.mark.parametrize("target", ["a", "a:", ":1", "a:-5", "a:" + "9" * 30, "a:1x"])
def test_what_is_no_host_with_a_port_is_refused_and_never_written_down(target):
    inside, outside = socket.socketpair()
    with inside, outside:
        inside.sendall(f"CONNECT {target} HTTP/1.1\r\n\r\n".encode())
        with pytest.raises(ValueError, match="CONNECT"):
            asked_for(outside)
        assert inside.recv(100).startswith(b"HTTP/1.1 405")


def test_whoever_floods_it_waits_for_a_place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    before = threading.active_count()
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("sock")
        server.listen(4 * MOST_AT_ONCE)
        serving = threading.Thread(target=Proxy({"hosts": [], "inner": []}).serve, args=[server])
        serving.start()
        clients = [socket.socket(socket.AF_UNIX) for _ in range(3 * MOST_AT_ONCE)]
        for client in clients:
            client.connect("sock")
        clients[-1].settimeout(0.3)
        with pytest.raises(TimeoutError):
            clients[-1].recv(1)
        assert threading.active_count() - before <= MOST_AT_ONCE + 1
        (tmp_path / "end").touch()
        for client in clients:
            client.close()
        serving.join()
