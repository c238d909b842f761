"""The rules of every template, whatever page it belongs to."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
TEMPLATES = sorted((ROOT / "templates").rglob("*.html"))
# the policy of contents would stop them, and nothing would say so
FORBIDDEN = {
    "an inline style": r"\sstyle\s*=|<style",
    "an inline script": r"<script(?![^>]*\ssrc=)",
    "an event handler": r"\son[a-z]+\s*=|hx-on",
    "another host": r"(?:src|href|action)=[\"']?(?:https?:)?//",
    "text that is not escaped": r"\|\s*(?:safe|safeseq)\b|autoescape",
}


@pytest.mark.parametrize("what", FORBIDDEN)
def test_no_template_has(what):
    assert [t.name for t in TEMPLATES if re.search(FORBIDDEN[what], t.read_text())] == []
