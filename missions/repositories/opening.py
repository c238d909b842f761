"""A program that opens an uploaded repository inside a sandbox. It needs only the standard library and git.

Only the .git folder is unpacked. Its settings may run any program: there is nothing else in the sandbox.
"""

import json
import os
import stat
import subprocess
import sys
import tarfile
import zipfile

UPLOAD, OUT, ROOT = "/workspace/upload", "/workspace/out", "/workspace/opened"
LARGEST, ENTRIES = 800_000_000, 200_000


def main() -> str:
    os.makedirs(OUT)
    with open(UPLOAD, "rb") as file:
        begin = file.read(16)
    place = _fetched() if begin.startswith(b"# v") else _unpacked()
    if not place:
        return "There is no repository of git in it."
    return _give(place)


def _git(place: str, *words: str, **more: object) -> "subprocess.CompletedProcess[bytes]":
    env = {"PATH": "/usr/bin:/bin", "HOME": "/home/agent", "GIT_NO_LAZY_FETCH": "1"}
    command = ["/usr/bin/git", f"--git-dir={place}", "-c", "safe.directory=*", "-c", "core.fsmonitor=false", *words]
    return subprocess.run(command, env=env, capture_output=True, check=False, **more)  # type: ignore[call-overload]  # noqa: S603


def _fetched() -> str:
    place = f"{ROOT}/.git"
    os.makedirs(ROOT)
    _git(place, "init", "--quiet", "--bare", place)
    every = ["+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*"]
    done = _git(place, "fetch", "--quiet", "--no-tags", "--update-head-ok", UPLOAD, *every)
    if done.returncode:
        sys.exit(_last(done.stderr))
    lines = [line.split() for line in _git(place, "ls-remote", UPLOAD).stdout.decode().splitlines()]
    listed = {line[1]: line[0] for line in lines}
    heads = [one for one in listed if one.startswith("refs/heads/")]
    same = [one for one in heads if listed[one] == listed.get("HEAD", listed[one])]
    usual = [f"refs/heads/{one}" for one in ("main", "master")]
    if found := [one for one in (*usual, *sorted(same)) if one in same]:
        _git(place, "symbolic-ref", "HEAD", found[0])
    return place


def _unpacked() -> str:
    """Unpack the .git folder nearest to the root; return its path, or an empty string."""
    if zipfile.is_zipfile(UPLOAD):
        with zipfile.ZipFile(UPLOAD) as archive:
            infos = archive.infolist()
            prefix = _prefix([one.filename for one in infos])
            for info in infos if prefix else ():
                kind = stat.S_IFMT(info.external_attr >> 16)
                if _belongs(info.filename, prefix) and kind in (0, stat.S_IFREG, stat.S_IFDIR):
                    archive.extract(info, ROOT)
    else:
        with tarfile.open(UPLOAD) as packed:
            members = packed.getmembers()
            prefix = _prefix([one.name for one in members])
            for member in members if prefix else ():
                if _belongs(member.name, prefix) and (member.isreg() or member.isdir()):
                    member.mode = 0o755 if member.isdir() else 0o644
                    packed.extract(member, ROOT)
    return os.path.normpath(f"{ROOT}/{prefix}") if prefix else ""


def _prefix(names: "list[str]") -> str:
    if len(names) > ENTRIES:
        sys.exit(f"It has more than {ENTRIES:,} entries.")
    found = [one.removesuffix("HEAD") for one in names if one == ".git/HEAD" or one.endswith("/.git/HEAD")]
    return min(found, key=lambda one: (one.count("/"), one), default="")


def _belongs(name: str, prefix: str) -> bool:
    return name.startswith(prefix) and ".." not in name.split("/") and not name.startswith("/")


def _give(place: str) -> str:
    if _git(place, "rev-parse", "--verify", "HEAD^{commit}").returncode:
        return "There is no commit in it."
    listed = _git(place, "rev-list", "--objects", "--all", "HEAD")
    with open(f"{OUT}/pack", "wb") as pack:
        packed = _git(place, "pack-objects", "--quiet", "--stdout", input=listed.stdout)
        pack.write(packed.stdout)
    if listed.returncode or packed.returncode:
        return _last(listed.stderr or packed.stderr)
    branch = _git(place, "symbolic-ref", "--quiet", "HEAD").stdout.decode(errors="replace").strip()
    refs = _git(place, "for-each-ref", "--format=%(objectname) %(refname)", "refs/heads", "refs/tags").stdout
    head = _git(place, "rev-parse", "HEAD").stdout.strip()
    with open(f"{OUT}/refs", "wb") as file:
        file.write(refs + head + b" HEAD\n")
    with open(f"{OUT}/shallow", "wb") as file:
        file.write(_shallow(place))
    with open(f"{OUT}/about.json", "w") as said:
        json.dump({"branch": branch.removeprefix("refs/heads/")}, said)
    return ""


def _shallow(place: str) -> bytes:
    try:
        with open(f"{place}/shallow", "rb") as file:
            return file.read(10_000_000)
    except OSError:
        return b""


def _last(errors: bytes) -> str:
    return errors.decode(errors="replace").strip()[-300:] or "It cannot be read."


if __name__ == "__main__":
    sys.exit(main() or 0)
