"""The files for containers say the same as units, nginx.conf and the page of settings; and they start."""

import json
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from django.conf import settings

from tests.conftest import need

DEPLOY = Path(__file__).resolve().parent.parent / "deploy"
ROOT = DEPLOY.parent
DOCKERFILE, COMPOSE = (DEPLOY / "Dockerfile").read_text(), (DEPLOY / "compose.yaml").read_text()
IGNORED = (DEPLOY / "Dockerfile.dockerignore").read_text()
SITE, ENGINE = ((DEPLOY / name).read_text() for name in ("magi-site.service", "magi-engine@.service"))


def value(unit, name):
    return re.search(rf"^{name}=(.+)$", unit, re.MULTILINE)[1]


def started_by(unit):
    return value(unit, "ExecStart").removeprefix(value(unit, "WorkingDirectory") + "/").split()


def block(name):
    """Of a service, or of what all of ours share."""
    start = f"x-{name}: &" if name == "magi" else f"  {name}:\n"
    return re.split(r"\n\n", COMPOSE[COMPOSE.index(start) :])[0]


def command(service):
    return json.loads(re.search(r"command: (\[.*\])", block(service))[1])


def test_containers_run_what_the_units_run():
    options = started_by(SITE)
    assert options.pop() == "$SERVE_OPTIONS"
    assert command("site") == [*options, "--no-engine"]
    assert command("engine") == started_by(ENGINE)
    assert f"CMD {json.dumps(options)}" in DOCKERFILE


def test_containers_have_the_limits_of_the_units():
    shared = block("magi")
    assert f"stop_grace_period: {value(SITE, 'TimeoutStopSec')}s" in shared
    assert f"nofile: {value(SITE, 'LimitNOFILE')}" in shared
    assert f"STOPSIGNAL {value(SITE, 'KillSignal')}" in DOCKERFILE
    assert f"WORKDIR {value(SITE, 'WorkingDirectory')}" in DOCKERFILE
    assert f"MAGI_DATA_DIR={value(SITE, 'ReadWritePaths')}" in DOCKERFILE
    for one in ("read_only: true", "cap_drop: [ALL]", '"no-new-privileges:true"', "restart: always"):
        assert one in shared


def test_what_is_installed_is_locked_and_nobody_is_root():
    assert "tools/install.py requirements.txt" in DOCKERFILE
    assert "--require-hashes" in (ROOT / "tools" / "install.py").read_text()
    assert re.findall(r"^USER (\w+)$", DOCKERFILE, re.MULTILINE) == [value(SITE, "User")]
    assert "HEALTHCHECK" in DOCKERFILE


def test_the_image_has_all_of_the_product_and_nothing_else():
    copied = set(re.findall(r"^COPY (?!--from)(?:\S+ )?(\S+?)/?$", DOCKERFILE, re.MULTILINE))
    ours = {app for app in settings.INSTALLED_APPS if (ROOT / app).is_dir()} - {"tests"}
    assert copied == ours | {
        "automation_api",
        "toolbox",
        "client",
        "docs",
        "static",
        "templates",
        "tools",
        "deploy",
        ".",
    }


def test_a_build_is_told_of_what_it_copies_and_of_no_record():
    told = set(re.findall(r"^!(\S+)$", IGNORED, re.MULTILINE))
    taken = {
        one.partition("/")[0]
        for line in re.findall(r"^COPY (?!--from)(.+) \S+$", DOCKERFILE, re.MULTILINE)
        for one in line.split()
    }
    assert told == taken
    assert IGNORED.splitlines()[1] == "*"
    assert [one for one in told if not (ROOT / one).exists()] == []


def test_what_is_copied_starts_by_itself_and_has_the_client(tmp_path):
    """As far as that is seen without a container engine: the files of the image alone, with the libraries of here."""
    lines = re.findall(r"^COPY (?!--from)(.+)$", DOCKERFILE[DOCKERFILE.rindex("FROM") :], re.MULTILINE)
    for source, to in ((source, line.split()[-1]) for line in lines for source in line.split()[:-1]):
        target = tmp_path / to / (Path(source).name if to.endswith("/") else "")
        target.parent.mkdir(parents=True, exist_ok=True)
        (shutil.copytree if (ROOT / source).is_dir() else shutil.copy)(ROOT / source, target)
    told = {"PATH": "/usr/bin:/bin", "MAGI_DATA_DIR": str(tmp_path / "data"), "MAGI_TOKEN": "magi_x"}
    words = [sys.executable, "manage.py", "judge", "--remote", "file:///", "Go."]
    done = subprocess.run(words, cwd=tmp_path, env=told, capture_output=True, text=True)
    assert "Say where MAGI is" in done.stderr, done.stderr


def test_the_proxy_reads_our_file_beside_the_site_that_it_names():
    port = started_by(SITE)[started_by(SITE).index("--port") + 1]
    assert f"server 127.0.0.1:{port};" in (DEPLOY / "nginx.conf").read_text()
    assert "network_mode: service:site" in block("proxy")
    assert "./nginx.conf:/etc/magi/nginx.conf:ro" in block("proxy")
    for listened in re.findall(r"listen (\d+)", (DEPLOY / "nginx.conf").read_text()):
        assert f'"{listened}:{listened}"' in block("site")


def test_what_containers_are_told_are_settings():
    documented = set(re.findall(r"^\| `(\w+)` \|", (ROOT / "docs" / "configuration.md").read_text(), re.MULTILINE))
    told = re.search(r"environment:\n((?:    \w+: .*\n)+)", block("magi") + "\n")[1]
    names = re.findall(r"^    (\w+):", told, re.MULTILINE)
    assert {"DATABASE_URL", "REDIS_URL", "ALLOWED_HOSTS"} <= set(names) <= documented
    assert set(re.findall(r"ENV .*?(MAGI_\w+)=", DOCKERFILE)) <= documented


# ---- started -----------------------------------------------------------------------------------------------


def docker(*words, **more):
    return subprocess.run(["docker", *words], capture_output=True, text=True, timeout=1200, **more)


@pytest.fixture
def engine():
    there = bool(shutil.which("docker")) and docker("info").returncode == 0
    need("docker", there, "no container engine answers")


@pytest.mark.slow
def test_the_image_is_built_and_its_site_answers(engine):
    assert docker("build", "-f", "deploy/Dockerfile", "-t", "magi-tests", ".", cwd=ROOT).returncode == 0
    started = docker("run", "--detach", "--rm", "--read-only", "--tmpfs", "/tmp", "--cap-drop", "ALL", "magi-tests")
    name, until = started.stdout.strip(), time.monotonic() + 120
    try:
        while docker("exec", name, ".venv/bin/python", "deploy/healthy.py").returncode and time.monotonic() < until:
            time.sleep(1)
        assert docker("exec", name, ".venv/bin/python", "deploy/healthy.py").returncode == 0
        assert docker("exec", name, "id", "-un").stdout.strip() == "magi"
    finally:
        docker("kill", name)
