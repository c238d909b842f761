"""Pull requests for published branches: the forge's address for a new one, and its text.

Why so: missions/DESIGN.md, What leaves a mission.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import quote, urlencode, urlsplit

from django.conf import settings

from runs.procedure.spec import specs
from runs.site_url import address

from . import publishing
from .models import Mission
from .models.files import patch_text
from .rules import why_check_failed

# user@host:path, as git takes it beside addresses
SHORT = re.compile(r"(?:[^@/\s]+@)?([\w.-]+):(?!/)(\S+)")
FORGES = {"github": "GitHub", "gitlab": "GitLab", "bitbucket": "Bitbucket"}
FORGES |= dict.fromkeys(("codeberg", "forgejo", "gitea"), "Forgejo")
TITLE = 200  # characters


@dataclass(frozen=True)
class ForgeRepository:
    kind: str
    host: str
    path: str  # owner/name; GitLab may have groups in between

    def request(self, branch: str, base: str = "") -> str:
        """The URL of the page that opens a pull request for this branch."""
        place = f"https://{self.host}/{quote(self.path)}"
        head = quote(branch, safe="/")
        if self.kind == "GitHub":
            return (
                f"{place}/compare/{quote(base, safe='/')}...{head}?expand=1"
                if base
                else f"{place}/compare/{head}?expand=1"
            )
        if self.kind == "GitLab":
            target = {"merge_request[target_branch]": base} if base else {}
            return f"{place}/-/merge_requests/new?{urlencode({'merge_request[source_branch]': branch} | target)}"
        if self.kind == "Bitbucket":
            return f"{place}/pull-requests/new?{urlencode({'source': branch} | ({'dest': base} if base else {}))}"
        return f"{place}/compare/{quote(base, safe='/')}...{head}" if base else f"{place}/compare/{head}"


def forge_of(remote: str) -> ForgeRepository | None:
    """The repository of a remote address; None unless the host's name contains that of a known forge."""
    if "://" in remote:
        parts = urlsplit(remote)
        host, path = (parts.hostname or "", parts.path) if parts.scheme in ("https", "ssh") else ("", "")
        port = f":{parts.port}" if parts.scheme == "https" and parts.port else ""
    else:
        found = SHORT.fullmatch(remote)
        host, path, port = (*found.groups(), "") if found else ("", "", "")
    path = path.strip("/").removesuffix(".git")
    kind = next((name for word, name in FORGES.items() if word in host), "")
    return ForgeRepository(kind, f"{host}{port}", path) if kind and path.count("/") >= 1 else None


def opens_at(mission: Mission, branch: str) -> str:
    """The URL of the page that opens a pull request; empty if branches are not published to a forge."""
    found = forge_of(settings.PUBLISH_TO or "")
    row = mission.begun_with
    return found.request(branch, row.branch if row else "") if found else ""


def patch_for(mission: Mission) -> bytes:
    """All changes: a mailbox for git am if the mission's repository is on this machine, otherwise a unified diff."""
    end = publishing.ended_with(mission.pk)
    return (publishing.mailed(mission.pk, end) if end else None) or patch_text(mission.files.all()).encode()


def described(mission: Mission, message: str, commits: list[str]) -> str:
    """Title, empty line, and Markdown with the result, the check, the commits and the address of the record."""
    title = message.strip().partition("\n")[0][:TITLE]
    parts = [title, *_parts(mission, message, commits)]
    return "\n\n".join(part for part in parts if part) + "\n"


def _parts(mission: Mission, message: str, commits: list[str]) -> Iterator[str]:
    yield message.strip().partition("\n")[2].strip()
    yield f"## What was done\n\n{mission.result}" if mission.result else ""
    yield f"## Check\n\n{_check(mission)}"
    if commits:
        yield "## Commits\n\n" + "\n".join(f"- {one}" for one in commits)
    row = mission.begun_with
    if row and row.without:
        names = "\n".join(f"- `{path}`: {why}" for path, why in row.without)
        yield f"## Not seen by the crew\n\nThese are as they were.\n\n{names}"
    place = f"{address()}{specs()['mission'].address('live', mission.pk)}"
    digest = f", its record's SHA-256 is `{mission.record_hash}`" if mission.record_hash else ""
    yield f"Made by a mission of MAGI and published after a decision at its gate: {place}{digest}."


def _check(mission: Mission) -> str:
    found = getattr(mission, "final_check", None)
    if found is None:
        return "None was run." + (f" {mission.unproven}" if mission.unproven else "")
    if found.exit_code is None:
        came = f"could not be run: {why_check_failed(found.reason)}"
    else:
        came = "passed" if found.exit_code == 0 else f"failed, with exit status {found.exit_code}"
    command = "\n".join(f"    {line}" for line in found.command.splitlines())
    return f"It {came}, in a fresh sandbox over a copy of the workspace:\n\n{command}"
