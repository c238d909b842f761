"""Our description of the API against our API: whatever a tester of descriptions makes of it is answered as it says.

    python -m tests.fuzzed --tool schemathesis [--database postgres] [--examples 20] [-- what the tool is told besides]

schemathesis stands in an environment of its own, for it needs libraries that we do not. All its checks are on, and one
of ours (`tests/fuzzed_check.py`). A site in a process of its own is asked, with every scope and without the limits of
one person: once under ids that it makes up, once under those of runs of all kinds; then the calls that stand where a
model does. Exit status 1 where it found something.

What no description can say (a model that is not known here, a name that somebody has) is answered by 422 in a sentence.
The tool takes that for a fault wherever it sent what was as described; for calls that take such things it is told not
to. A wait may take its minute.
"""

import argparse
import contextlib
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from urllib.request import Request, urlopen

from tests.acceptance.site import ROOT, ServedSite, manage
from tests.endpoint import ScriptedEndpoint
from tests.services import Postgres

FREE = {f"MAGI_USER_{name}": "100000" for name in ("QUEUED", "WAITING", "SUBMISSIONS", "RECEIPTS")}
NOWHERE = "127.0.0.1:9"
DESCRIBED = "/api/v1/openapi.json"
TAKES_NAMES_AND_WORDS = {
    "with a body": 'include-method = ["POST", "PUT", "PATCH"]',
    "lists, that begin at a run": 'include-path-regex = "/(runs|judgements|debates|inquiries|plans|missions)$"',
}
USUAL = '"2xx", "3xx", 401, 403, 404, 409, 410, 429, "5xx"'
MEMBERS = [{"name": name, "who": "Somebody.", "model": "rehearsal/instant"} for name in ("Ada", "Ben")]
ASKED = {
    "judgements": {"content": "I am going to travel to Japan next week.", "council": "Magi"},
    "debates": {"question": "Go?", "options": [{"word": "GO"}, {"word": "STAY"}], "members": MEMBERS, "most": 6},
    "inquiries": {"question": "What is restarted first?"},
    "plans": {"task": "Write to Ada Lovelace about the review.", "matter": "Reviews"},
    "missions": {"goal": "Say what is in the folder."},
    "memories": {"name": "Reviews", "text": "They are on Mondays."},
    "webhooks": {"address": f"http://{NOWHERE}/"},
}


def main(tool: str, database: str, examples: int, more: list[str]) -> int:
    with contextlib.ExitStack() as held:
        folder = Path(held.enter_context(tempfile.TemporaryDirectory()))
        folder.chmod(0o755)  # PostgreSQL's user goes through it
        env = FREE | {"MAGI_DEFAULT_MODEL": "rehearsal/instant", "MAGI_HOOKS_ALLOWED_HOSTS": NOWHERE}
        endpoint = held.enter_context(ScriptedEndpoint())
        env |= {"OPENAI_BASE_URL": endpoint.base_url, "OPENAI_API_KEY": "sk-canary-1234567890"}
        if database == "postgres":
            env["DATABASE_URL"] = held.enter_context(Postgres(folder)).create("magi")
        site = held.enter_context(ServedSite(folder, **env))
        scopes = "submit,steer,decide,accept,tell,review"
        token = manage("create_token", "admin", "--scopes", scopes, env=site.env).stdout.strip()
        there = _ids(site.url, token)
        asked = ((DESCRIBED, {}), (DESCRIBED, there), ("/v1/openapi.json", {}))
        ends = [_asked(tool, f"{site.url}{at}", token, folder, examples, ids, more) for at, ids in asked]
        complaints = [line for line in site.log.read_text().splitlines() if "Traceback" in line]
    print(f"{sum(number for _, number in ends)} requests, {len(complaints)} tracebacks in the site's log")
    return int(any(status for status, _ in ends) or bool(complaints))


def _ids(url: str, token: str) -> dict[str, str]:
    """Of what there is, by what stands before it in an address."""
    ids: dict[str, str] = {noun: _call(url, token, noun, asked).get("id") for noun, asked in ASKED.items()}
    for noun in ("judgements", "debates", "inquiries", "plans", "missions"):
        seen = _call(url, token, f"{noun}/{ids[noun]}?wait=60&until=end,gate")
        for gate in seen.get("gates", ()):
            ids["gates"] = gate["id"]
    ids["matters"] = _call(url, token, "matters")["results"][0]["id"]
    return {name: str(pk) for name, pk in ids.items() if pk} | {"runs": ids["judgements"]}


def _call(url: str, token: str, path: str, asked: object = None) -> dict:
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    body = None if asked is None else json.dumps(asked).encode()
    with urlopen(Request(f"{url}/api/v1/{path}", body, headers), timeout=90) as answer:
        return json.load(answer)


def _asked(
    tool: str, address: str, token: str, folder: Path, examples: int, ids: dict[str, str], more: list[str]
) -> tuple[int, int]:
    """Its exit status, and how many requests it sent."""
    (folder / "schemathesis.toml").write_text(_told(ids))
    report = folder / "sent.ndjson"
    words = [tool, "run", address, "--checks", "all", "--continue-on-failure", "--no-shrink"]
    words += ["--header", f"Authorization: Bearer {token}", "--max-examples", str(examples)]
    words += ["--request-timeout", "90", "--suppress-health-check", "filter_too_much"]
    words += ["--report", "ndjson", "--report-ndjson-path", str(report)]
    env = os.environ | {"SCHEMATHESIS_HOOKS": "fuzzed_check", "PYTHONPATH": str(ROOT / "tests")}
    status = subprocess.run([*words, *more], cwd=folder, env=env, check=False).returncode
    return status, _counted(report.read_text())


def _counted(report: str) -> int:
    return Counter(re.findall(r'"status_code": ?(\d+)', report)).total()


def _told(ids: dict[str, str]) -> str:
    lines = ["[checks]", "max_response_time = 80", ""]
    for why, which in TAKES_NAMES_AND_WORDS.items():
        lines += [f"# {why}", "[[operations]]", which]
        lines += [f"checks.positive_data_acceptance.expected-statuses = [{USUAL}, 422]", ""]
    for noun, pk in ids.items():
        shown = pk if pk.isdigit() else f'"{pk}"'
        which = f'include-path-regex = "/{noun}/\\\\{{id\\\\}}"'
        lines += ["[[operations]]", which, f'parameters = {{ "path.id" = {shown} }}', ""]
        # it sends that id even where it believes to send one that is wrong; filters beside each other would be either
        lines += ["[[operations]]", f'include-name-regex = "^(GET|DELETE) .*/{noun}/\\\\{{id\\\\}}"']
        lines += [f"checks.negative_data_rejection.expected-statuses = [{USUAL}, 400, 422]", ""]
    return "\n".join(lines)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tool", default="schemathesis")
    parser.add_argument("--database", choices=("sqlite", "postgres"), default="sqlite")
    parser.add_argument("--examples", type=int, default=20)
    parser.add_argument("more", nargs="*")
    told = parser.parse_args()
    sys.exit(main(told.tool, told.database, told.examples, told.more))
