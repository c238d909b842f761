"""What looks like a secret in what a tool brings: taken out before a prompt or a row has it.

Why so: docs/decisions.md, The sandbox.
"""

import math
import re
from collections import Counter

PRIVATE = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL)
# of known providers: a beginning that nothing else has, and how it goes on
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
HIGH_ENTROPY = 3.0  # bits a sign: words and paths have less, or no digit


def redact_secrets(text: str) -> str:
    """Each that is found by a number of its own, the same wherever it stands."""
    found: dict[str, None] = {}
    for look in (PRIVATE, KNOWN_FORMATS):
        found |= dict.fromkeys(one[0] for one in look.finditer(text))
    found |= dict.fromkeys(one["value"] for one in NAMED_SECRETS.finditer(text) if _is_drawn(one["value"]))
    found |= dict.fromkeys(one["value"] for one in URL_CREDENTIALS.finditer(text))
    for number, secret in enumerate(found, 1):
        text = text.replace(secret, f"[secret {number}]")
    return text


def _is_drawn(value: str) -> bool:
    """As if by chance: digits among letters, and few of them twice."""
    counted = Counter(value)
    bits = -sum(count / len(value) * math.log2(count / len(value)) for count in counted.values())
    mixed = any(one.isdigit() for one in value) and any(one.isalpha() for one in value)
    return mixed and bits > HIGH_ENTROPY
