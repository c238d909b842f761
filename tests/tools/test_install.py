"""What is said while requirements are installed."""

import io
import subprocess
import sys

import pytest

from tests.acceptance.site import ROOT
from tools.install import InstallProgress, install


class FakeTerminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def progress(tmp_path):
    (tmp_path / "pip-1.dist-info").mkdir()
    return InstallProgress(3, tmp_path)


def test_before_pip_says_anything_it_looks_for_packages(progress):
    assert str(progress) == "  looking for packages"


def test_each_package_that_is_fetched_is_named_and_counted(progress):
    for line in (
        "Collecting django==5.2 (from -r x)\n",
        "  Downloading django-5.2.whl (8 MB)\n",
        "Collecting uvicorn[a]==1\n",
    ):
        progress.hear(line)
    assert str(progress) == "  fetched 2 of 3  uvicorn"


def test_packages_of_other_systems_are_not_counted(progress):
    progress.hear("Ignoring tzdata: markers 'sys_platform == \"win32\"' don't match your environment\n")
    progress.hear("Requirement already satisfied: idna==3.1 in /usr/lib\n")
    assert str(progress) == "  fetched 1 of 2  idna"


def test_those_in_place_are_counted_where_they_lie(progress, tmp_path):
    progress.hear("Installing collected packages: idna, django\n")
    assert str(progress) == "  put in place 0 of 3"
    (tmp_path / "idna-3.dist-info").mkdir()
    assert str(progress) == "  put in place 1 of 3"


@pytest.mark.parametrize("out", [io.StringIO(), FakeTerminal()], ids=["log", "terminal"])
def test_what_went_wrong_is_said(out, tmp_path):
    wanted = tmp_path / "requirements.txt"
    wanted.write_text(f"no-such-package==1 --hash=sha256:{'0' * 64}\n")
    assert install(str(wanted), ["--no-index"], out) != 0
    said = out.getvalue()
    assert "ERROR: No matching distribution found for no-such-package==1" in said
    assert ("\r" in said) == out.isatty()


def test_nothing_is_said_in_a_log_where_all_is_well(tmp_path):
    (tmp_path / "requirements.txt").write_text("# none\n")
    command = [sys.executable, ROOT / "tools/install.py", tmp_path / "requirements.txt"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
