"""Confinement by Landlock without namespaces: files by path, TCP, abstract sockets and signals, with a seccomp filter
and resource limits. It is only probed and reported; no command runs in it.

    python3 -I -S landlock.py '{"folder": "/some/workspace", "filter": "...", "limits": {...}, "program": [...]}'

This is a program that uses only the standard library: it confines itself and executes the given program.

Why so: missions/DESIGN.md, The sandbox.
"""

import base64
import ctypes
import json
import os
import resource
import struct
import sys
from typing import Any

CREATE, ADD, RESTRICT = 444, 445, 446
VERSION, BENEATH = 1, 1  # LANDLOCK_CREATE_RULESET_VERSION, LANDLOCK_RULE_PATH_BENEATH
MIN_ABI = 6  # the first that restricts abstract sockets and signals
EXECUTE, WRITE, READ, LIST, TRUNCATE = 1 << 0, 1 << 1, 1 << 2, 1 << 3, 1 << 14
EVERY_FILE, EVERY_PORT, EVERY_SCOPE = (1 << 16) - 1, 0b11, 0b11
NO_NEW_PRIVILEGES, FILTER_CALLS, BY_FILTER = 38, 22, 2  # arguments of prctl
PROBED_PATHS = ("/usr", "/proc", "/etc/alternatives", "/etc/ld.so.cache", "/etc/ssl")
DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty")
LIBC = ctypes.CDLL(None, use_errno=True)


def landlock_problem() -> str:
    """Empty if the kernel has a sufficient Landlock, otherwise a sentence with the reason."""
    version = LIBC.syscall(CREATE, None, 0, VERSION)
    if version < 0:
        return "This kernel has no Landlock, or it is switched off."
    return "" if version >= MIN_ABI else f"This kernel has version {version} of Landlock, and {MIN_ABI} is needed."


def restrict_to_folder(folder: str) -> None:
    """Restrict this process and its children irrevocably. Raises OSError."""
    asked = ctypes.create_string_buffer(struct.pack("=QQQ", EVERY_FILE, EVERY_PORT, EVERY_SCOPE))
    rules = _done(LIBC.syscall(CREATE, asked, ctypes.c_size_t(24), 0))
    for place in PROBED_PATHS:
        _let(rules, place, EXECUTE | READ | LIST)
    for place in DEVICES:
        _let(rules, place, READ | WRITE)
    _let(rules, folder, EVERY_FILE)
    _done(LIBC.prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0))
    _done(LIBC.syscall(RESTRICT, rules, 0))
    os.close(rules)


def _let(rules: int, place: str, what: int) -> None:
    if not os.path.exists(place):
        return
    there = os.open(place, os.O_PATH | os.O_CLOEXEC)
    if not os.path.isdir(place):
        what &= EXECUTE | WRITE | READ | TRUNCATE
    beneath = ctypes.create_string_buffer(struct.pack("=Qi", what, there))
    _done(LIBC.syscall(ADD, rules, BENEATH, beneath, 0))
    os.close(there)


def install_filter(program: bytes) -> None:
    held = ctypes.create_string_buffer(program, len(program))
    about = ctypes.create_string_buffer(struct.pack("=HxxxxxxQ", len(program) // 8, ctypes.addressof(held)))
    _done(LIBC.prctl(FILTER_CALLS, BY_FILTER, about, 0, 0))


def _done(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def main(asked: dict[str, Any]) -> None:
    os.chdir(asked["folder"])
    for name, most in asked["limits"].items():
        resource.setrlimit(getattr(resource, f"RLIMIT_{name}"), (most, most))
    restrict_to_folder(asked["folder"])
    install_filter(base64.b64decode(asked["filter"]))
    os.execve(asked["program"][0], asked["program"], {"PATH": "/usr/bin:/bin", "HOME": asked["folder"]})  # noqa: S606


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
