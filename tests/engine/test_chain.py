from hashlib import sha256

from hypothesis import given
from hypothesis import strategies as st

from engine.ledger import hashing

LEAVES = st.lists(st.binary(min_size=32, max_size=32), min_size=1, max_size=40)


def by_the_book(leaves):
    """The root as RFC 6962 defines it: split at the largest power of two below the size."""
    if len(leaves) == 1:
        return leaves[0]
    left = 1 << (len(leaves) - 1).bit_length() - 1
    return hashing.node_hash(by_the_book(leaves[:left]), by_the_book(leaves[left:]))


def test_an_empty_log_has_the_root_of_nothing():
    assert hashing.root([]) == sha256(b"").digest()


@given(LEAVES, st.integers(0, 40))
def test_a_tree_that_grew_in_two_steps_has_the_root_of_the_book(leaves, first):
    peaks, size = hashing.extend_peaks([], 0, leaves[:first])
    peaks, size = hashing.extend_peaks(peaks, size, leaves[first:])
    assert (hashing.root(peaks), size) == (by_the_book(leaves), len(leaves))


def test_a_text_has_another_digest_elsewhere():
    digests = {hashing.digest(salt, seq, name, "yes") for salt in (b"a", b"b") for seq in (1, 2) for name in ("x", "y")}
    assert len(digests) == 8


def test_a_line_is_written_in_one_way():
    assert hashing.canonical({"b": [1, None], "a": "é\n\u2028"}) == '{"a":"é\\n\u2028","b":[1,null]}'
