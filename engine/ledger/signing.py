"""The key of this installation, which signs checkpoints and receipts: Ed25519, as in C2SP's signed notes."""

import base64
from functools import cache
from hashlib import sha256

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from django.conf import settings

ED25519 = b"\x01"


@cache
def _private(seed: bytes) -> Ed25519PrivateKey:
    return Ed25519PrivateKey.from_private_bytes(seed)


def sign(message: bytes) -> bytes:
    return _private(settings.SIGNING_KEY).sign(message)


def signed_by_us(message: bytes, signature: bytes) -> bool:
    try:
        Ed25519PublicKey.from_public_bytes(public_key()).verify(signature, message)
    except InvalidSignature:
        return False
    return True


def public_key() -> bytes:
    return _private(settings.SIGNING_KEY).public_key().public_bytes_raw()


def name() -> str:
    """Return the log's name in checkpoints. It is derived from the key, so that no two logs share a name."""
    return f"magi/{sha256(public_key()).hexdigest()[:16]}"


def key_id() -> bytes:
    return sha256(name().encode() + b"\n" + ED25519 + public_key()).digest()[:4]


def verifier_key() -> str:
    """Return what others need to verify, in one word: name, key id and public key."""
    return f"{name()}+{key_id().hex()}+{_base64(ED25519 + public_key())}"


def note(text: str) -> str:
    """Return the signed note. `text` must end with a line break."""
    return f"{text}\n— {name()} {_base64(key_id() + sign(text.encode()))}\n"


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()
