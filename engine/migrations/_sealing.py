"""For migrations that make rows which are evidence. `engine.ledger` works with the tables as they are at the end of
all migrations, so that what it does to seal is done here with those that are there by then."""

import secrets

from django.utils import timezone

from engine.ledger import hashing
from engine.ledger.entries import MAKER


def seal(apps, key, drafts):
    """Begin the chain of something that is no run, or go on with it, with these drafts, and log it."""
    entry, leaf, salt = (apps.get_model("engine", name) for name in ("AuditEntry", "LogLeaf", "DigestSalt"))
    before, token = entry.objects.filter(run_id=key).order_by("-seq").first(), secrets.token_bytes(16)
    head, seq = (before.hash, before.seq) if before else (hashing.GENESIS_HASH, 0)
    for seq, draft in enumerate(drafts, seq + 1):
        line = hashing.entry_line(draft, draft.digests(token, seq), run=str(key), seq=seq, prev=head, maker=MAKER)
        head = hashing.entry_hash(line)
        entry.objects.create(run_id=key, seq=seq, kind=draft.kind, line=line, hash=head)
    last = leaf.objects.order_by("-index").first()
    at = timezone.now()
    index, prev = (last.index + 1, last.hash) if last else (0, hashing.GENESIS_HASH)
    hashed = hashing.leaf_hash(index=index, run=str(key), seq=seq, head=head, at=hashing.format_timestamp(at) or "", prev=prev)
    made = leaf.objects.create(index=index, run_id=key, seq=seq, head=head, at=at, hash=hashed)
    salt.objects.create(leaf=made, value=token.hex())
