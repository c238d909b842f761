"""Redaction of texts that look like secrets in tool results, before they reach a prompt or a row.

Why so: missions/DESIGN.md, The sandbox.
"""

import math
import re
from collections import Counter

PRIVATE = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL)
# keys of known providers: an unmistakable prefix and its format
KNOWN_FORMATS = re.compile(
    r"""\b(?:
      sk-(?:proj-|ant-)?[A-Za-z0-9_-]{16,} | gh[pousr]_[A-Za-z0-9]{20,} | github_pat_[A-Za-z0-9_]{20,}
    | glpat-[A-Za-z0-9_-]{16,} | AKIA[0-9A-Z]{16} | ASIA[0-9A-Z]{16} | AIza[A-Za-z0-9_-]{30,}
    | xox[abeprs]-[A-Za-z0-9-]{10,} | hf_[A-Za-z0-9]{20,} | npm_[A-Za-z0-9]{30,} | pypi-[A-Za-z0-9_-]{30,}
    | (?:sk|rk)_live_[A-Za-z0-9]{16,} | SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}
    | eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}
    )""",
    re.VERBOSE,
)
NAMED_SECRETS = re.compile(
    r"(?i)(?:secret|token|passw(?:or)?d|pwd|api[_-]?key|credential)[\w-]{0,20}[\"']?\s{0,3}[:=]\s{0,3}[\"']?"
    r"(?P<value>[A-Za-z0-9+/_=.~-]{16,200})"
)
URL_CREDENTIALS = re.compile(r"\b[a-z][a-z0-9+.-]{1,20}://[^\s/:@]{0,100}:(?P<value>[^\s/@]{3,200})@")
HIGH_ENTROPY = 3.0  # bits per character: words and paths have less, or no digit


def redact_secrets(text: str) -> str:
    """Replace each secret by “[secret N]”, the same number wherever it occurs."""
    found: dict[str, None] = {}
    for look in (PRIVATE, KNOWN_FORMATS):
        found |= dict.fromkeys(one[0] for one in look.finditer(text))
    found |= dict.fromkeys(one["value"] for one in NAMED_SECRETS.finditer(text) if _looks_random(one["value"]))
    found |= dict.fromkeys(one["value"] for one in URL_CREDENTIALS.finditer(text))
    for number, secret in enumerate(found, 1):
        text = text.replace(secret, f"[secret {number}]")
    return text


def _looks_random(value: str) -> bool:
    """Whether the value has letters, digits and a high entropy."""
    counted = Counter(value)
    bits = -sum(count / len(value) * math.log2(count / len(value)) for count in counted.values())
    mixed = any(one.isdigit() for one in value) and any(one.isalpha() for one in value)
    return mixed and bits > HIGH_ENTROPY
