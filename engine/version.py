"""Which version of MAGI this is: pyproject.toml says it, and nothing else does."""

import tomllib
from pathlib import Path

PYPROJECT = Path(__file__).resolve().parent.parent / "pyproject.toml"
VERSION: str = tomllib.loads(PYPROJECT.read_text())["project"]["version"]
