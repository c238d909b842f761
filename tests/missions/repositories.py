"""Ten repositories as people have them, each made by git in a moment, and what a crew does in each."""

import os
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

WHO = {"GIT_AUTHOR_NAME": "Mira", "GIT_AUTHOR_EMAIL": "mira@example.org", "GIT_AUTHOR_DATE": "1700000000 +0000"}
WHO |= {name.replace("AUTHOR", "COMMITTER"): said for name, said in WHO.items()}
PICTURE = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 40
POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:%s\nsize 12345\n" % (b"4d7a" * 16)


def git(place: Path, *words: str, given: bytes | None = None) -> str:
    env = {"PATH": os.environ["PATH"], "HOME": "/nowhere", "GIT_CONFIG_NOSYSTEM": "1", **WHO}
    command = ["git", "-c", "protocol.file.allow=always", *words]
    done = subprocess.run(command, cwd=place, env=env, input=given, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode().strip()


def begun(place: Path) -> Path:
    place.mkdir(parents=True)
    git(place, "init", "--quiet", "--initial-branch=main")
    return place


def put(place: Path, **files: bytes) -> None:
    for name, data in files.items():
        path = place / name.replace("__", "/").replace("_dot_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def commit(place: Path, message: str) -> None:
    git(place, "add", "--all")
    git(place, "commit", "--quiet", "--message", message)


def python_package(place: Path) -> None:
    begun(place)
    put(place, house__init_dot_py=b"", README_dot_md=b"A house.\n", _dot_gitignore=b"__pycache__/\n")
    put(place, house__sums_dot_py=b"def total(numbers):\n    return sum(numbers[1:])\n")
    commit(place, "Count")
    test = b"from house.sums import total\n\n\ndef test_total():\n    assert total([1, 2]) == 3\n\n\ntest_total()\n"
    put(place, test_sums_dot_py=test)
    commit(place, "Test it")


def c_project(place: Path) -> None:
    begun(place)
    put(place, Makefile=b"all: hello\n\nhello: hello.c\n\tcc -o hello hello.c\n", _dot_gitignore=b"hello\n")
    put(place, hello_dot_c=b'#include <stdio.h>\n\nint main(void)\n{\n\tputs("helo");\n\treturn 0;\n}\n')
    commit(place, "Say hello")


def binaries(place: Path) -> None:
    begun(place)
    put(place, picture_dot_png=PICTURE, run_dot_sh=b"#!/bin/sh\necho one\n", plain_dot_txt=b"one\n")
    (place / "run.sh").chmod(0o755)
    (place / "link").symlink_to("plain.txt")
    put(place, deep__data_dot_bin=bytes(5_000))
    commit(place, "Pictures and programs")


def many(place: Path) -> None:
    """20,000 files, by a stream: git add would take its time."""
    begun(place)
    lines = [b"commit refs/heads/main\ncommitter Mira <mira@example.org> 1700000000 +0000\ndata 4\nMany"]
    for number in range(20_000):
        data = b"file %d\n" % number
        lines.append(b"M 100644 inline d%02d/f%05d.txt\ndata %d\n%s" % (number % 100, number, len(data), data))
    git(place, "fast-import", "--quiet", given=b"\n".join(lines) + b"\n")
    git(place, "reset", "--quiet", "--hard")


def submodules(place: Path) -> None:
    other = begun(place.with_name(f"{place.name}-other"))
    put(other, inner_dot_txt=b"inner\n")
    commit(other, "Inner")
    begun(place)
    put(place, plain_dot_txt=b"one\n")
    git(place, "submodule", "--quiet", "add", str(other), "vendor/other")
    commit(place, "With a submodule")


def crlf(place: Path) -> None:
    begun(place)
    git(place, "config", "core.autocrlf", "false")
    put(place, windows_dot_txt=b"one\r\ntwo\r\nthree\r\n", mixed_dot_txt=b"one\ntwo\r\n")
    commit(place, "From Windows")
    put(place, _dot_gitattributes=b"*.txt text\n*.bat text eol=crlf\n", run_dot_bat=b"echo one\r\n")
    git(place, "add", ".gitattributes", "run.bat")
    git(place, "commit", "--quiet", "--message", "With attributes")


def link_out(place: Path) -> None:
    begun(place)
    put(place, plain_dot_txt=b"one\n", deep__inner_dot_txt=b"inner\n")
    (place / "out").symlink_to("/etc/passwd")
    (place / "deep" / "up").symlink_to("../../elsewhere")
    (place / "deep" / "inside").symlink_to("../plain.txt")
    commit(place, "Links")


def one_commit(place: Path) -> None:
    begun(place)
    put(place, plain_dot_txt=b"one\n")
    commit(place, "One")


def shallow(place: Path) -> None:
    whole = begun(place.with_name(f"{place.name}-whole"))
    for number in range(5):
        put(whole, plain_dot_txt=b"one\n" + b"line\n" * number)
        commit(whole, f"Number {number}")
    git(place.parent, "clone", "--quiet", "--depth=2", f"file://{whole}", place.name)


def pointers(place: Path) -> None:
    begun(place)
    put(place, _dot_gitattributes=b"*.psd filter=lfs diff=lfs merge=lfs -text\n", plain_dot_txt=b"one\n")
    commit(place, "Attributes")
    blob = git(place, "hash-object", "-w", "--stdin", "--no-filters", given=POINTER)
    git(place, "update-index", "--add", "--cacheinfo", f"100644,{blob},art.psd")
    git(place, "commit", "--quiet", "--message", "A pointer")


def elsewhere(place: Path) -> Path:
    """A clone of it by somebody who went on meanwhile."""
    there = place.with_name("elsewhere")
    git(place.parent, "clone", "--quiet", "--no-local", "--no-checkout", str(place), str(there))
    (there / ".git" / "info").mkdir(exist_ok=True)
    (there / ".git" / "info" / "attributes").write_text("* -text -filter\n")
    git(there, "checkout", "--quiet", "main")
    put(there, meanwhile_dot_txt=b"meanwhile\n")
    commit(there, "Meanwhile")
    return there


@dataclass(frozen=True)
class Sample:
    """`does`: commands of the crew, which change exactly `changed`; `left_out`: what its workspace is made without."""

    make: Callable[[Path], None]
    does: tuple[str, ...]
    changed: frozenset[str]
    left_out: frozenset[str] = frozenset()
    check: str = "true"
    holds: dict[str, bytes] = field(default_factory=dict)


def _edits(path: str, said: str = "two") -> tuple[str, ...]:
    return (f"echo {said} >> {path}",)


SAMPLES = {
    "python package": Sample(
        python_package,
        (
            "python3 test_sums.py",
            "sed -i 's/numbers.1:./numbers/' house/sums.py",
            "git commit -qam 'Count from the first'",
        ),
        frozenset({"house/sums.py"}),
        check="python3 test_sums.py",
    ),
    "C project": Sample(
        c_project, ("sed -i s/helo/hello/ hello.c && make && ./hello",), frozenset({"hello.c"}), check="make && ./hello"
    ),
    "binaries and modes": Sample(
        binaries,
        ("chmod +x plain.txt && printf 'a\\0b' > new.bin", "git add -A && git commit -qm One", "echo two >> run.sh"),
        frozenset({"plain.txt", "new.bin", "run.sh"}),
        holds={"new.bin": b"a\0b"},
    ),
    "20,000 files": Sample(many, _edits("d07/f00007.txt"), frozenset({"d07/f00007.txt"})),
    "submodules": Sample(
        submodules,
        ("rm -rf vendor && git add -A && echo two >> plain.txt && git commit -qam Without",),
        frozenset({"plain.txt"}),
        frozenset({"vendor/other"}),
    ),
    "CRLF": Sample(
        crlf,
        ("sed -i 's/two/2/' windows.txt",),
        frozenset({"windows.txt"}),
        holds={"windows.txt": b"one\r\n2\r\nthree\r\n", "mixed.txt": b"one\ntwo\r\n"},
    ),
    "links that lead out": Sample(
        link_out,
        ("git update-index --no-skip-worktree out deep/up", "echo two >> plain.txt"),
        frozenset({"plain.txt"}),
        frozenset({"out", "deep/up"}),
    ),
    "one commit": Sample(one_commit, _edits("plain.txt"), frozenset({"plain.txt"})),
    "shallow": Sample(shallow, _edits("plain.txt"), frozenset({"plain.txt"})),
    "LFS pointers": Sample(pointers, _edits("plain.txt"), frozenset({"plain.txt"}), holds={"art.psd": POINTER}),
}
