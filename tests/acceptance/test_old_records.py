"""Records that older versions exported verify offline, with the verifier of today.

tests/records/ has what two versions exported: one that sealed records at their end alone, and the last one in which
titles and verdicts were columns of judgements; and the records of all five procedures, exported by the last version
before its migrations were replaced by one for each app.
"""

import gzip
import subprocess
import sys
from pathlib import Path

import pytest

from tests.acceptance.site import ROOT

RECORDS = ROOT / "tests" / "records"
VERSIONS = tuple(sorted(path.name for path in RECORDS.iterdir()))
VERIFIER_KEY = "magi/b4c1ece898ece24e+63c83b11+AcaCJjfH0xDsV2J74AuiWdJTdJ9Kr2REcM/75To19zJC"


def exported_by(version: str) -> bytes:
    return gzip.decompress((RECORDS / version / "bundle.jsonl.gz").read_bytes())


@pytest.mark.parametrize("version", VERSIONS)
def test_what_an_older_version_exported_still_verifies(version: str, tmp_path: Path) -> None:
    bundle, anchor = tmp_path / "bundle.jsonl", RECORDS / version / "checkpoints"
    bundle.write_bytes(exported_by(version))
    options = ["--key", VERIFIER_KEY, "--anchor", str(anchor)]
    command = [sys.executable, "-I", "-S", "tools/verify.py", str(bundle), *options]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.stdout.startswith("Intact"), done.stdout
