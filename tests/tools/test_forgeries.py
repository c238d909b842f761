"""What somebody may do to a file: whatever is changed in a bundle is found."""

import io
import json
from collections import Counter

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from engine.ledger import hashing, signing
from tests.conftest import EVERYTHING
from tests.tools.offline import verifier

pytestmark = pytest.mark.django_db
EXAMPLES = 1_000 if EVERYTHING else 40


def is_intact(lines, key):
    lines = [line if isinstance(line, bytes) else line.encode(errors="surrogatepass") for line in lines]
    try:
        return not list(verifier.verify(lines, key, "", Counter()))
    except ValueError:  # there is no record left
        return False


def places(value, path=()):
    """The path to everything in a record, itself included."""
    yield path
    for name in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield from places(value[name], (*path, name))


def parent_of(value, path):
    for name in path[:-1]:
        value = value[name]
    return value


def other(value, draw):
    """A value of the same kind that is another one, or of another kind."""
    if isinstance(value, str) and value and draw(st.booleans()):
        place = draw(st.integers(0, len(value) - 1))
        return value[:place] + draw(st.sampled_from(["", "x", "0", " ", "\u200b", "A"])) + value[place + 1 :]
    return draw(st.sampled_from([None, 0, 1, -1, True, False, "", "x", [], {}, 10**30, 1.5, "\ud800"]))


class Lines(list):
    """The lines of a bundle; a test that fails shows only what was done to them."""

    done = "nothing was done"

    def __repr__(self):
        return self.done


@st.composite
def forged(draw, lines):
    """The lines with one thing changed, deleted, doubled or put in the place of another."""
    records = [json.loads(line) for line in lines]
    record = draw(st.integers(0, len(records) - 1))
    path = draw(st.sampled_from([path for path in places(records[record]) if path]))
    within, name, how = parent_of(records[record], path), path[-1], draw(st.sampled_from(list(FORGERIES)))
    FORGERIES[how](within, name, draw)
    changed = Lines(hashing.canonical(one) + "\n" for one in records)
    changed.done = f"{how} {record} {path}"
    return changed


def change(within, name, draw):
    within[name] = other(within[name], draw)


def delete(within, name, draw):
    del within[name]


def swap(within, name, draw):
    second = draw(st.sampled_from(sorted(within) if isinstance(within, dict) else range(len(within))))
    within[name], within[second] = within[second], within[name]


def double(within, name, draw):
    if isinstance(within, list):
        within.insert(name, within[name])
    else:
        within[f"{name} too"] = within[name]


FORGERIES = {"change": change, "delete": delete, "swap": swap, "double": double}


def test_whatever_is_changed_in_a_bundle_is_found(bundle):
    lines, key = Lines(io.StringIO(bundle.read_text(), newline="\n")), signing.verifier_key()
    assert is_intact(lines, key)

    @given(forged(lines))
    @settings(max_examples=EXAMPLES)
    def found(changed):
        assume(changed != lines)
        assert not is_intact(changed, key)

    found()


def test_whatever_byte_of_a_bundle_is_changed_is_found(bundle):
    data, key = bundle.read_bytes(), signing.verifier_key()
    record = data.split(b"\n")[0] + b"\n"

    def readable(text):
        try:
            return json.loads(text)
        except ValueError:
            return None

    @given(st.integers(0, len(record) - 2), st.integers(0, 255), st.sampled_from(["put", "insert", "delete"]))
    @settings(max_examples=EXAMPLES)
    def found(place, byte, how):
        new = b"" if how == "delete" else bytes([byte])
        changed = record[:place] + new + record[place + (how != "insert") :]
        assume(changed != record and readable(changed) != readable(record))
        assert not is_intact([changed], key)

    found()
