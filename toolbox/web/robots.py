"""Evaluates robots.txt by RFC 9309: in the group of our name, else of `*`, the longest matching rule decides."""

from collections.abc import Iterator
from dataclasses import dataclass

MAX_BYTES = 500 * 1024  # parsing limit of RFC 9309, section 2.5
ROBOT_NAME = "magi"


@dataclass(frozen=True)
class _Rule:
    allows: bool
    path: str


def allows(text: str, path: str, name: str = ROBOT_NAME) -> bool:
    """Tell whether the robot may read this path (with its query)."""
    fitting = [rule for rule in _rules(text, name) if rule.path and _fits(rule.path, path)]
    return not fitting or max(fitting, key=lambda rule: (len(rule.path), rule.allows)).allows


def _rules(text: str, name: str) -> list[_Rule]:
    own, of_all = list[_Rule](), list[_Rule]()
    named = False
    for names, rules in _groups(text):
        if name in names:
            named = True
            own += rules
        elif "*" in names:
            of_all += rules
    return own if named else of_all


def _groups(text: str) -> Iterator[tuple[set[str], list[_Rule]]]:
    names, rules, ruled = set[str](), list[_Rule](), False
    for line in text[:MAX_BYTES].splitlines():
        key, _, value = (part.strip() for part in line.partition("#")[0].partition(":"))
        if key.lower() == "user-agent":
            if ruled:
                yield names, rules
                names, rules, ruled = set(), [], False
            names.add(value.lower())
        elif key.lower() in ("allow", "disallow"):
            ruled = True
            rules.append(_Rule(key.lower() == "allow", value))
    yield names, rules


def _fits(rule: str, path: str) -> bool:
    """Match a rule with `*` and `$` in linear time, since robots.txt is untrusted: taking the earliest place of each
    piece is always right, so there is no backtracking."""
    begin, *pieces = rule.removesuffix("$").split("*")
    if not path.startswith(begin):
        return False
    at, last = len(begin), pieces.pop() if pieces and rule.endswith("$") else None
    for piece in pieces:
        found = path.find(piece, at)
        if found < 0:
            return False
        at = found + len(piece)
    if last is not None:
        return path.endswith(last) and len(path) - len(last) >= at
    return at == len(path) or not rule.endswith("$")
