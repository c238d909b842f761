"""What leads out of a sandbox, asked by whoever is inside: nothing that is said to it breaks it."""

import socket
import threading

import pytest

from engine.web.public_sockets import PublicSockets
from engine.web.url_policy import is_internal_host
from missions.terminals import egress_proxy, launcher
from missions.terminals.egress_proxy import MOST_AT_ONCE, EgressProxy, requested_host
from tests.missions.commands import until

# as resolvers write them; beside each the network that it is of
NOT_PUBLIC = {
    **{"0.0.0.0": "unspecified", "0.1.2.3": "this network", "10.0.0.1": "private", "172.31.255.255": "private"},
    **{"192.168.1.1": "private", "127.0.0.1": "loopback", "127.255.255.254": "loopback", "169.254.169.254": "link"},
    **{"100.64.0.1": "shared", "100.127.255.255": "shared", "192.0.0.8": "protocols", "192.0.0.170": "protocols"},
    **{"192.0.2.1": "documentation", "198.51.100.7": "documentation", "203.0.113.9": "documentation"},
    **{"198.18.0.1": "benchmarks", "198.19.255.255": "benchmarks", "192.88.99.1": "relays of 6to4"},
    **{"224.0.0.1": "multicast", "239.255.255.250": "multicast", "240.0.0.1": "reserved", "255.255.255.255": "all"},
    **{"::": "unspecified", "::1": "loopback", "fe80::1": "link", "fe80::1%eth0": "link with a zone"},
    **{"fec0::1": "site", "fc00::1": "private", "fd00:ec2::254": "private", "ff02::1": "multicast"},
    **{
        "ff0e::1": "multicast for all",
        "100::1": "discarded",
        "2001:db8::1": "documentation",
        "3fff::1": "documentation",
    },
    **{"2001:2::1": "benchmarks", "2001:10::1": "protocols", "2001:20::1": "protocols", "5f00::1": "segment routing"},
    **{"::ffff:10.0.0.1": "mapped", "::ffff:a9fe:a9fe": "mapped", "::ffff:224.0.0.1": "mapped multicast"},
    **{"::ffff:0:127.0.0.1": "translated", "::127.0.0.1": "compatible", "::a00:1": "compatible"},
    **{"64:ff9b::10.0.0.1": "NAT64", "64:ff9b::7f00:1": "NAT64", "64:ff9b:1::808:808": "NAT64 of a network"},
    **{"2002:7f00:1::": "6to4", "2002:c0a8:101::": "6to4", "2002:e000:1::": "6to4 multicast"},
    **{"2001:0:4136:e378:8000:63bf:80ff:fffe": "Teredo", "2001:0:a00:1::f7f7:f7f7": "Teredo"},
    **{"4000::1": "not given out", "8000::1": "not given out"},
}
# forms that resolvers never give: programs read them in different ways
ODD = """127.1 127.0.1 2130706433 0x7f000001 0x7f.1 0177.0.0.1 017700000001 0 010.0.0.1 10.1 0xa9fea9fe 2852039166
127.0.0.1. 127.0.0.01 134744072""".split()
# for a resolver these are 8.0.0.1, 8.8.8.8, a link of this machine, and a name
LEADS_ELSEWHERE = ("010.0.0.1", "134744072", "fe80::1%eth0", "127.0.0.1.")
PUBLIC = """8.8.8.8 93.184.216.34 1.1.1.1 100.63.255.255 100.128.0.1 172.32.0.1 192.0.1.1 198.20.0.1 223.255.255.255
2606:4700:4700::1111 2a00:1450:4001::1 ::ffff:8.8.8.8 64:ff9b::8.8.8.8 2002:808:808:: 2001:4860:4860::8888""".split()
FORMS = (*NOT_PUBLIC, *ODD, *PUBLIC)


class Elsewhere(socket.socket):
    """A socket that is connected wherever it is said to be, and sends nothing."""

    def connect(self, address):
        pass


def reached_by_proxy(address, monkeypatch):
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    found = [(family, socket.SOCK_STREAM, 6, "", (address, 443))]
    monkeypatch.setattr(egress_proxy.socket, "getaddrinfo", lambda *_, **__: found)
    try:
        EgressProxy({"hosts": [f"{address}:443"], "inner": []})._reached(address, 443).close()
    except PermissionError:
        return False
    return True


def reached_by_pages(address):
    sockets = PublicSockets(anywhere=False)
    try:
        sockets(
            (socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, 443))
        ).close()
    except OSError:
        assert sockets.refused
        return False
    return True


def test_pages_hooks_and_commands_reach_the_same_addresses(monkeypatch):
    monkeypatch.setattr(egress_proxy.socket, "socket", Elsewhere)
    said = {
        form: (reached_by_pages(form), reached_by_proxy(form, monkeypatch), not is_internal_host(form))
        for form in FORMS
    }
    wrong = {form: answers for form, answers in said.items() if set(answers) != {form in PUBLIC}}
    assert (wrong, len(said)) == ({}, len(FORMS))


def test_the_proxy_as_a_program_reaches_nothing_that_is_not_public(workshop):
    """Approved by name and written in any form: it is the address where it leads that counts."""
    forms = [form for form in (*NOT_PUBLIC, *ODD) if form not in LEADS_ELSEWHERE]
    request = {"hosts": [f"{form}:443" for form in forms], "inner": []}
    spool = workshop.launcher.prepare("m2") / "workspace"  # a folder of the user whose program it is
    launcher.launch_supervisor(egress_proxy, spool, request, files=[egress_proxy.RULE])
    until((spool / egress_proxy.ADDRESS).exists)
    said = {}
    for form in forms:
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(spool / egress_proxy.ADDRESS))
            client.sendall(f"CONNECT {f'[{form}]' if ':' in form else form}:443 HTTP/1.1\r\n\r\n".encode())
            said[form] = client.recv(100).decode().partition("\r\n")[0]
    (spool / "end").touch()
    assert {form: answer for form, answer in said.items() if answer != "HTTP/1.1 403 Not approved"} == {}


@pytest.mark.parametrize("target", ["a", "a:", ":1", "a:-5", "a:" + "9" * 30, "a:1x"])
def test_what_is_no_host_with_a_port_is_refused_and_never_written_down(target):
    inside, outside = socket.socketpair()
    with inside, outside:
        inside.sendall(f"CONNECT {target} HTTP/1.1\r\n\r\n".encode())
        with pytest.raises(ValueError, match="CONNECT"):
            requested_host(outside)
        assert inside.recv(100).startswith(b"HTTP/1.1 405")


def test_whoever_floods_it_waits_for_a_place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    before = threading.active_count()
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("sock")
        server.listen(4 * MOST_AT_ONCE)
        serving = threading.Thread(target=EgressProxy({"hosts": [], "inner": []}).serve, args=[server])
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
