"""The verifier's own arithmetic, and that it stays small, old-fashioned and alone."""

import ast
import base64
import re
import sys
from hashlib import sha256

import pytest
import rfc8785
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.audit import verification
from engine.ledger import entries, hashing, signing
from tests.tools.offline import RECEIPTS, verifier
from tests.verifier import VERIFIER

LINES = 640  # a part for each procedure: whoever verifies reads the rules of what was done, and what all share
pytestmark = pytest.mark.django_db


# RFC 8032, 7.1: secret key, public key, message, signature
VECTORS = [
    (
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
        "",
        "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
    ),
    (
        "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
        "72",
        "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00",
    ),
    (
        "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
        "af82",
        "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a",
    ),
]


def word_of(key):
    """The verifier key of a log with the name x."""
    typed = b"\x01" + key
    number = sha256(b"x\n" + typed).hexdigest()[:8]
    return f"x+{number}+{base64.b64encode(typed).decode()}"


@pytest.mark.parametrize(("key", "message", "signature"), VECTORS)
def test_the_vectors_of_rfc_8032_are_verified(key, message, signature):
    key, message, signature = word_of(bytes.fromhex(key)), bytes.fromhex(message), bytes.fromhex(signature)
    assert verifier.is_signed(key, message, signature)
    assert not verifier.is_signed(key, message + b"x", signature)
    assert not verifier.is_signed(key, message, bytes([signature[0] ^ 1]) + signature[1:])
    malleable = int.from_bytes(signature[32:], "little") + verifier.L
    assert not verifier.is_signed(key, message, signature[:32] + malleable.to_bytes(32, "little"))
    assert not verifier.is_signed(key, message, signature + b"\0")
    assert not verifier.is_signed(key, message, signature[:63])


@pytest.mark.parametrize("y", [2**255 - 19, 2**255 - 18, 2, 1 | 1 << 255])
def test_a_key_that_is_no_point_or_not_written_in_the_one_way_is_refused(y):
    with pytest.raises(ValueError, match="no point"):
        verifier.is_signed(word_of(y.to_bytes(32, "little")), b"", bytes(64))


@given(st.binary(max_size=100), st.integers(0, 63), st.integers(0, 7))
@settings(max_examples=30)
def test_its_ed25519_agrees_with_that_of_the_site(message, place, bit):
    signature = bytearray(signing.sign(message))
    assert verifier.is_signed(signing.verifier_key(), message, bytes(signature))
    signature[place] ^= 1 << bit
    assert not verifier.is_signed(signing.verifier_key(), message, bytes(signature))


FACTS = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(max_codepoint=127)), inner),
)


@given(FACTS)
def test_canonical_json_is_that_of_rfc_8785(value):
    assert hashing.canonical(value).encode() == rfc8785.dumps(value)
    assert verifier.canonical(value) == hashing.canonical(value)


def test_it_needs_nothing_but_the_standard_library_and_is_short():
    for file, more in ((VERIFIER, set()), (RECEIPTS, {"verify"})):
        imports = re.findall(r"^\s*(?:from|import) (\w+)", file.read_text(), re.MULTILINE)
        assert set(imports) <= sys.stdlib_module_names | more
    assert len(VERIFIER.read_text().splitlines()) < LINES


def test_all_three_programs_take_the_same_kinds_for_sealed_later():
    page = re.search("LATER = /(.*)/u;", (VERIFIER.parents[1] / "static/check/record.js").read_text())[1]
    named = [kind for name, kind in vars(entries).items() if name.isupper() and isinstance(kind, str)]
    kinds = [*named, "note", "override", "plan.step", "a\n.b", "tools", "a tool", "gates", ""]
    said = {
        kind: (
            verification.is_sealed_later(kind),
            bool(verifier.LATER_KINDS.fullmatch(kind)),
            bool(re.fullmatch(page.replace("[^]", "(?s:.)"), kind)),
        )
        for kind in kinds
    }
    assert "tool" in said
    assert [kind for kind, answers in said.items() if len(set(answers)) > 1] == []


def test_an_old_python_can_read_it():
    for tool in (VERIFIER, VERIFIER.with_name("receipt.py")):
        ast.parse(tool.read_text(), feature_version=(3, 9))
