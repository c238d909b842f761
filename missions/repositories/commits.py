"""The commits of a crew: taken out of its workspace as untrusted objects, checked, and described for approvers.

The sandbox commits and packs; our git checks the pack in a repository of our own. Files that were left out of the
workspace must stay in each commit as they were: a commit that removes them is rewritten with them.

Why so: missions/DESIGN.md, What leaves a mission.
"""

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from uuid import UUID

from .. import workspace
from ..sandbox.bwrap import SHELL
from ..terminals.launcher import LaunchRefused
from ..workspace_files import FileProblem, Workspace
from .checkout import OWN, Beginning, beginning
from .contents import (
    EMPTY,
    LARGEST,
    LEFT_OUT_SHOWN,
    MOST_LISTED,
    TreeEntry,
    blob_sizes,
    blobs,
    entries,
    keep_commit,
    leads_out,
    left_out,
    shown,
    with_entries,
)
from .git import NAME, GitFailed, git, text

DIFF = ("diff", "--no-color", "--no-ext-diff", "--no-textconv", "--no-renames", "--full-index")
SHORT_NAME = 12  # letters of the name of a commit
ORIGIN = "--glob=refs/origin/*"
COMMITS, PACK, FILES = 200, 200_000_000, 5_000  # PACK in bytes
MERGED = 2_000  # commits of other branches of the repository that may be published too
SAVES_WITHIN = 120.0  # seconds
UNMERGED = 9  # exit code of SAVE if there are conflicts
NO_BLOB = sha256(b"").hexdigest(), True
KNOWN = ("tree", "parent", "author", "committer")  # headers of a commit that are described in their own way
# git without the crew's configuration: no hooks, signatures or file monitor
SAVE = f"""cd /workspace || exit 1
git() {{ command git -c core.hooksPath=/dev/null -c core.fsmonitor=false -c commit.gpgSign=false "$@"; }}
[ -z "$(git ls-files --unmerged | head -n 1)" ] || exit {UNMERGED}
git add --all || exit 2
git diff --cached --quiet --no-ext-diff ||
  printf '%s\\n' "$1" | git commit --quiet --no-verify --cleanup=whitespace --file - || exit 3
mkdir -p {OWN}/out && git rev-parse --verify HEAD > "{OWN}/out/$2.tip" || exit 4
set -o pipefail
git rev-list --objects HEAD --not "$3" --remotes=origin | git pack-objects --quiet --stdout > "{OWN}/out/$2.pack"
"""

STEP_HEADS = "step-heads"  # folder in a repository: HEAD after each step, in a file by key; empty if it is unknown
PACK_HEAD = f"""cd /workspace || exit 1
set -o pipefail
mkdir -p {OWN}/out &&
  git rev-list --objects "$1" --not "$2" --remotes=origin | git pack-objects --quiet --stdout > "{OWN}/out/$3.pack"
"""


class CommitsRefused(Exception):
    """The text is a code such as "too_much:" and a sentence for the agent."""


@dataclass(frozen=True)
class ChangedFile:
    """A changed file. `before` is None if it was added, `after` if it was removed."""

    path: bytes
    before: TreeEntry | None
    after: TreeEntry | None
    digest: str
    is_text: bool

    @property
    def word(self) -> str:
        return "added" if self.before is None else "removed" if self.after is None else "changed"

    @cached_property
    def sizes_and_modes(self) -> str:
        return ", ".join(self._about)

    @property
    def _about(self) -> list[str]:
        one = self.after or self.before
        if one is None:
            return []
        about = [f"{one.size:,} bytes", self._modes(one)]
        if self.before and self.after and self.before.size != self.after.size:
            about.append(f"{self.before.size:,} bytes before")
        return [*about, *([] if self.is_text else ["no text"])]

    def _modes(self, one: TreeEntry) -> str:
        if self.before and self.after and self.before.mode != self.after.mode:
            return f"mode {self.before.mode.decode()} to {self.after.mode.decode()}"
        return f"mode {one.mode.decode()}"

    @property
    def shown(self) -> str:
        return shown(self.path)

    @property
    def line(self) -> str:
        size, *rest = self._about
        about = ", ".join([size, f"sha256 {self.digest}", *rest])
        return f"{self.word}: {json.dumps(shown(self.path), ensure_ascii=False)}, {about}"


@dataclass(frozen=True)
class CommitRead:
    name: str
    parent: str
    author: str
    committer: str
    moment: datetime
    message: str
    files: Sequence[ChangedFile]
    others: Sequence[str] = ()  # merged parents
    more: Sequence[str] = ()  # headers that git accepts and does not show: signatures, or anything else

    @property
    def subject(self) -> str:
        return self.message.partition("\n")[0]

    @property
    def line(self) -> str:
        return _in_a_line(self.name, self.others, self.subject)


@dataclass(frozen=True)
class MergedCommit:
    """A commit of another branch of the repository that is published unchanged with the crew's."""

    name: str
    author: str
    moment: datetime
    subject: str
    others: Sequence[str]  # merged parents

    @property
    def line(self) -> str:
        return _in_a_line(self.name, self.others, self.subject)

    @property
    def told(self) -> str:
        said = (json.dumps(one, ensure_ascii=False) for one in (self.author, self.subject))
        merges = "".join(f", merges: {one}" for one in self.others)
        return f"goes along: {self.name}, {self.moment.isoformat()}, author {', message '.join(said)}{merges}"


def _in_a_line(name: str, others: Sequence[str], subject: str) -> str:
    merges = ", ".join(one[:SHORT_NAME] for one in others)
    return f"{name} {f'[merges {merges}] ' if others else ''}{subject}"


@dataclass(frozen=True)
class BranchCommits:
    """The commits of a branch since `base`, the last common commit with the repository's branch; oldest first.

    commits: those of the crew
    merged: those of other branches of the repository
    files: files that differ from `base`
    """

    base: str
    tip: str
    commits: Sequence[CommitRead]
    files: Sequence[ChangedFile]
    merged: Sequence[MergedCommit] = ()


# ---- out of the workspace ---------------------------------------------------------------------------------------


def save(mission: UUID, repository: Path, key: str, message: str) -> str:
    """Commit what the crew has not committed, and take its newest commit into the repository.

    Return that commit. Raises CommitsRefused.
    """
    began = _began(repository)
    name = re.sub(r"[^0-9a-z]", "-", key)
    try:
        done = workspace.run_to_end(
            mission, f"save-{name}", (*SHELL, SAVE, "save", message, name, began.start), SAVES_WITHIN
        )
    except LaunchRefused as refused:
        raise CommitsRefused(f"not_begun: {refused}") from refused
    if done.code == UNMERGED:
        raise CommitsRefused("unmerged: there are conflicts in the workspace. Resolve them and commit first.")
    if done.code:
        raise CommitsRefused(f"git: {done.said or done.code}")
    place = workspace.workspace(mission)
    try:
        tip = place.read(f"{OWN}/out/{name}.tip", 100).decode(errors="replace").strip()
        with place.opened(f"{OWN}/out/{name}.pack", PACK) as pack:
            git(repository, "index-pack", "--strict", "--stdin", "--fix-thin", file=pack)
    except FileProblem as problem:
        raise CommitsRefused(f"git: {problem}") from problem
    except GitFailed as failed:
        raise CommitsRefused(f"git: what it gave is no commit of this repository: {failed}") from failed
    return _whole(repository, tip, began)


def keep_head(mission: UUID, repository: Path, key: str) -> None:
    """Take the crew's HEAD after this step, and its commits, for forks of the step."""
    began, head = _began(repository), head_of(workspace.workspace(mission))
    try:
        if head and head != began.start:
            if text(repository, "cat-file", "-t", head, fails=True) != "commit":
                _take_head(mission, repository, head, f"head-{key.replace('.', '-')}", began)
            head = _whole(repository, head, began)
    except (CommitsRefused, GitFailed):
        head = ""  # the preview of a fork shows that it is unknown
    place = repository / STEP_HEADS / key
    place.parent.mkdir(exist_ok=True)
    temporary = place.with_name(f".{key}.new")
    temporary.write_text(head)
    temporary.rename(place)


def _take_head(mission: UUID, repository: Path, head: str, name: str, began: Beginning) -> None:
    try:
        done = workspace.run_to_end(mission, name, (*SHELL, PACK_HEAD, "pack", head, began.start, name), SAVES_WITHIN)
        if done.code:
            raise CommitsRefused(f"git: {done.said or done.code}")
        with workspace.workspace(mission).opened(f"{OWN}/out/{name}.pack", PACK) as pack:
            git(repository, "index-pack", "--strict", "--stdin", "--fix-thin", file=pack)
    except (LaunchRefused, FileProblem) as problem:
        raise CommitsRefused(f"git: {problem}") from problem


def head_of(place: Workspace) -> str:
    """The commit of HEAD according to the workspace's files; empty if they name none."""
    try:
        said = place.read(".git/HEAD", 1_000).decode(errors="replace").strip()
        if said.startswith("ref: refs/"):
            said = _commit_of(place, said.removeprefix("ref: "))
    except FileProblem:
        return ""
    return said if NAME.fullmatch(said) else ""


def _commit_of(place: Workspace, reference: str) -> str:
    try:
        return place.read(f".git/{reference}", 100).decode(errors="replace").strip()
    except FileProblem:
        packed = place.read(".git/packed-refs").decode(errors="replace").split("\n")
        return next((line[:40] for line in packed if line[41:] == reference), "")


def head_after(repository: Path, keys: Sequence[str]) -> str:
    """HEAD after the last of these steps that has one saved; empty if none has."""
    places = [repository / STEP_HEADS / key for key in reversed(keys)]
    return next((place.read_text() for place in places if place.is_file()), "")


def _began(repository: Path) -> Beginning:
    found = beginning(repository)
    if found is None:
        raise CommitsRefused("not_here: the repository of this mission is on another machine.")
    return found


def _whole(repository: Path, tip: str, began: Beginning) -> str:
    """Check that all objects of the commit are here, and restore left-out files in it. Return the resulting commit.

    Raises CommitsRefused.
    """
    try:
        if not NAME.fullmatch(tip) or text(repository, "cat-file", "-t", tip) != "commit":
            raise CommitsRefused("git: it names no commit.")
        git(repository, "rev-list", "--objects", "--quiet", tip, "--not", ORIGIN)
        return _with_left_out(repository, tip, began)
    except GitFailed as failed:
        raise CommitsRefused(f"git: {failed}") from failed


def _with_left_out(repository: Path, tip: str, began: Beginning) -> str:
    held = entries(repository, began.start)
    without = left_out(repository, held).keys()
    if not without:
        return tip
    rewritten = dict[str, str]()
    for name in _own(repository, tip):
        rewritten[name] = _rewrite(repository, name, without, rewritten)
    return rewritten.get(tip, tip)


def _rewrite(repository: Path, name: str, without: Iterable[bytes], rewritten: Mapping[str, str]) -> str:
    head, _, message = git(repository, "cat-file", "commit", name).partition(b"\n\n")
    lines = head.split(b"\n")
    parents = [line.split()[1].decode() for line in lines if line.startswith(b"parent ")]
    now = [rewritten.get(parent, parent) for parent in parents]
    before = entries(repository, now[0]) if now else {}
    gone = {path: before[path] for path in without if path in before} if now else {}
    tree = text(repository, "rev-parse", f"{name}^{{tree}}")
    if gone:
        held = entries(repository, name)
        gone = {path: one for path, one in gone.items() if path not in held}
    if not gone and now == parents:
        return name
    try:
        tree = with_entries(repository, tree, gone)
    except FileExistsError as error:
        raise CommitsRefused(
            f"left_out: {error} is a folder of the repository, of which something was left out here."
        ) from error
    kept = [line for line in _unsigned(lines) if not line.startswith((b"tree ", b"parent "))]
    first = [f"tree {tree}".encode(), *(f"parent {one}".encode() for one in now)]
    return keep_commit(repository, b"\n".join([*first, *kept]) + b"\n\n" + message)


def _unsigned(lines: Sequence[bytes]) -> Iterator[bytes]:
    """The headers without signatures, which are not valid for another tree. They continue in lines with a blank."""
    signs = False
    for line in lines:
        signs = line.startswith(b"gpgsig") or (signs and line.startswith(b" "))
        if not signs:
            yield line


def _own(repository: Path, tip: str) -> list[str]:
    """Commits that the repository did not have, parents before children. Raises CommitsRefused."""
    most = f"--max-count={COMMITS + 1}"
    found = text(repository, "rev-list", "--topo-order", most, tip, "--not", ORIGIN).split()
    if len(found) > COMMITS:
        raise CommitsRefused(f"too_much: more than {COMMITS} commits. Publish fewer, or put some of them together.")
    return found[::-1]


# ---- content ----------------------------------------------------------------------------------------------------


def read(repository: Path, tip: str) -> BranchCommits:
    """The commits of a branch. Raises CommitsRefused."""
    began = _began(repository)
    try:
        bases = text(repository, "merge-base", tip, began.commit, fails=True).split()
        if not bases:
            raise CommitsRefused("git: this branch has no commit of the repository in its history.")
        base = bases[0]
        own = _own(repository, tip)
        merged = list(_merged(repository, tip, began.commit, own))
        commits = [_commit(repository, name) for name in own]
        return BranchCommits(base, tip, commits, _files(repository, base, tip), merged)
    except GitFailed as failed:
        raise CommitsRefused(f"git: {failed}") from failed


def _merged(repository: Path, tip: str, began: str, own: Collection[str]) -> Iterator[MergedCommit]:
    """Commits of other branches that the branch contains and that are pushed with it. Raises CommitsRefused."""
    most, form = f"--max-count={MERGED + len(own) + 1}", "--format=%H%n%P%n%an <%ae>%n%at%n%s"
    listed = text(repository, "log", "-z", "--topo-order", "--no-show-signature", most, form, tip, f"^{began}")
    found = [one.split("\n") for one in listed.split("\0") if one and one[:40] not in own]
    if len(found) > MERGED:
        raise CommitsRefused(
            f"too_much: more than {MERGED:,} commits of other branches of the repository would go along. Merge less."
        )
    for name, parents, author, seconds, subject in reversed(found):
        _, moment = _who(f"{author} {seconds} +0000")
        yield MergedCommit(name, author, moment, subject, parents.split()[1:])


def _commit(repository: Path, name: str) -> CommitRead:
    head, _, message = git(repository, "cat-file", "commit", name).decode(errors="backslashreplace").partition("\n\n")
    lines = head.split("\n")
    about = {word: rest for word, _, rest in (line.partition(" ") for line in reversed(lines))}
    parents = [line.split()[1] for line in lines if line.startswith("parent ")]
    parent = parents[0] if parents else EMPTY
    author, moment = _who(about["author"])
    committer, _ = _who(about["committer"])
    more = [line for line in lines if line.partition(" ")[0] not in KNOWN]
    files = _files(repository, parent, name)
    return CommitRead(name, parent, author, committer, moment, message, files, parents[1:], more)


def _who(said: str) -> tuple[str, datetime]:
    who, seconds, _ = said.rsplit(" ", 2)
    try:
        return who, datetime.fromtimestamp(int(seconds), UTC)
    except (ValueError, OverflowError, OSError):
        return who, datetime.fromtimestamp(0, UTC)


def _files(repository: Path, before: str, now: str) -> list[ChangedFile]:
    """The changed files. Raises CommitsRefused for submodules and links that lead out of the repository."""
    parts = git(repository, "diff-tree", "-r", "-z", "--raw", "--no-renames", before, now, most=MOST_LISTED).split(
        b"\0"
    )[:-1]
    pairs = [(*parts[at][1:].split()[:4], parts[at + 1]) for at in range(0, len(parts), 2)]
    if len(pairs) > FILES:
        raise CommitsRefused(f"too_much: more than {FILES:,} files are changed.")
    names = {name.decode() for _, _, *both, _ in pairs for name in both}
    data = _read(repository, names)
    looks = {
        name: (sha256(held).hexdigest(), _is_text(held)) for name, held in data.items()
    }  # many files may share one blob
    changed = [_changed(path, _entry(old, a, data), _entry(new, b, data), looks) for old, new, a, b, path in pairs]
    _refuse_odd(changed, data, now)
    return changed


def _read(repository: Path, names: set[str]) -> dict[str, bytes]:
    """The blobs by name. Raises CommitsRefused if they have more than LARGEST bytes together."""
    sizes = blob_sizes(repository, sorted(names))
    if sum(sizes.values()) > LARGEST:
        raise CommitsRefused(f"too_much: the files that are changed have more than {LARGEST:,} bytes.")
    return dict(zip(sizes, blobs(repository, list(sizes), sizes), strict=True))


def _entry(mode: bytes, name: bytes, data: Mapping[str, bytes]) -> TreeEntry | None:
    return TreeEntry(mode, name.decode(), len(data.get(name.decode(), b""))) if mode.strip(b"0") else None


def _changed(
    path: bytes, before: TreeEntry | None, after: TreeEntry | None, looks: Mapping[str, tuple[str, bool]]
) -> ChangedFile:
    both = [looks.get(each.name, NO_BLOB) for each in (after, before) if each]
    return ChangedFile(path, before, after, both[0][0], all(is_text for _, is_text in both))


def _refuse_odd(changed: Sequence[ChangedFile], data: Mapping[str, bytes], commit: str) -> None:
    hint = f"Make commit {commit[:12]} again without it, for example with git reset --soft."
    for one in changed:
        if one.after and one.after.is_submodule:
            raise CommitsRefused(
                f"submodule: {one.shown} is a repository of its own, and a published branch cannot contain one. {hint}"
            )
        if one.after and one.after.is_link and leads_out(one.path, data.get(one.after.name, b"")):
            raise CommitsRefused(f"link: {one.shown} links to a place outside of the repository. {hint}")


def _is_text(data: bytes) -> bool:
    try:
        return "\0" not in data.decode()
    except UnicodeDecodeError:
        return False


def described(repository: Path, found: BranchCommits) -> str:
    """The text of the gate: a line for each changed file, then each commit with its diff."""
    changed = [one.line for one in found.files]
    along = f" and {_counted(len(found.merged), 'commit')} of other branches of the repository" if found.merged else ""
    counts = (
        f"{_counted(len(found.commits), 'commit')}{along} on {found.base}: {_counted(len(changed), 'file')} otherwise."
    )
    told = [_told(repository, one, number, len(found.commits)) for number, one in enumerate(found.commits, 1)]
    merged = [one.told for one in found.merged]
    return "\n".join([counts, *_unseen(repository, found), *changed, "", *merged, *told, *_together(repository, found)])


def _together(repository: Path, found: BranchCommits) -> Iterator[str]:
    """The diff of the whole branch, if the commits are not a chain: then part of it comes from other branches."""
    below = [found.base, *(one.name for one in found.commits)]
    if any([one.parent] != [before] or one.others for one, before in zip(found.commits, below, strict=False)):
        yield "All of it together, with what comes of other branches of the repository:"
        yield _lines_between(repository, found.base, found.tip)
    elif below[-1] != found.tip:
        yield "All of it comes of another branch of the repository:"
        yield _lines_between(repository, found.base, found.tip)


def _unseen(repository: Path, found: BranchCommits) -> Iterator[str]:
    own = {one.path for one in found.files}  # paths at which the crew has put something else
    without = sorted(left_out(repository, entries(repository, _began(repository).start)).keys() - own)
    if without:
        names = ", ".join(json.dumps(shown(path), ensure_ascii=False) for path in without[:LEFT_OUT_SHOWN])
        more = f" and {len(without) - LEFT_OUT_SHOWN:,} more" if len(without) > LEFT_OUT_SHOWN else ""
        yield f"Left out of the workspace, and here as it was: {names}{more}."


def _told(repository: Path, one: CommitRead, number: int, count: int) -> str:
    lines = [
        f"Commit {number} of {count}: {one.name}",
        f"author: {json.dumps(one.author, ensure_ascii=False)}, {one.moment.isoformat()}",
        *([f"committer: {json.dumps(one.committer, ensure_ascii=False)}"] if one.committer != one.author else []),
        f"message: {json.dumps(one.message.rstrip(), ensure_ascii=False)}",
        *(f"merges: {each}" for each in one.others),
        *(f"another line of it: {json.dumps(each, ensure_ascii=False)}" for each in one.more),
        *([each.line for each in one.files] if count > 1 else []),
        _lines_between(repository, one.parent, one.name),
    ]
    return "\n".join(lines)


def _lines_between(repository: Path, before: str, now: str) -> str:
    return git(repository, *DIFF, before, now, most=LARGEST).decode(errors="backslashreplace")


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def mailed(repository: Path, tip: str) -> bytes:
    """A mailbox for git am. It cannot express merges: a branch with merges becomes one commit."""
    found = read(repository, tip)
    if found.merged or any(one.others for one in found.commits):
        last = found.commits[-1] if found.commits else _commit(repository, tip)
        who = f"{last.author} {int(last.moment.timestamp())} +0000"
        tree = text(repository, "rev-parse", f"{tip}^{{tree}}")
        said = f"tree {tree}\nparent {found.base}\nauthor {who}\ncommitter {who}\n\n{last.message}"
        tip = keep_commit(repository, said.encode())
    options = ("--stdout", "--binary", "--full-index", "--no-renames", "--no-signature", "--no-ext-diff")
    return git(repository, "format-patch", *options, "--no-textconv", tip, f"^{found.base}")
