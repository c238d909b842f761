import threading
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from asgiref.sync import async_to_sync
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from django.core.management import CommandError, call_command
from django.utils import timezone

from engine.ledger import signing
from engine.ledger.checkpoints import MAX_LEAVES_BETWEEN, Checkpoint, LogInconsistent, send, signed_notes
from engine.ledger.entries import AuditEntry, ChainHead
from engine.ledger.merkle_log import DigestSalt, LogLeaf
from engine.models import Run
from tests.databases import tampering

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def empty_log(db):
    """What an installation is before its councils were sealed."""
    with tampering():
        for model in (DigestSalt, LogLeaf, AuditEntry):
            model.objects.all().delete()


@pytest.fixture
def run(db):
    return Run.objects.create(procedure="nothing")


@pytest.fixture
def webhook():
    """A real endpoint: what it was sent, and what it answers."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            server.got.append(self.rfile.read(int(self.headers["Content-Length"])).decode())
            self.send_response(server.status)
            self.end_headers()

        def log_message(self, *args):
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    server.got, server.status = [], 200
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def grow(run, number):
    start = LogLeaf.objects.count()
    LogLeaf.objects.add(*(ChainHead(run.pk, start + n, f"{start + n:064x}", "00" * 16) for n in range(1, number + 1)))


def test_an_empty_log_has_none(db):
    assert not Checkpoint.objects.is_due()
    assert Checkpoint.objects.make() is None


def test_one_is_due_after_many_leaves(run):
    grow(run, MAX_LEAVES_BETWEEN - 1)
    assert not Checkpoint.objects.is_due()
    grow(run, 1)
    assert Checkpoint.objects.is_due()


def test_one_is_due_an_hour_after_a_single_leaf(run):
    grow(run, 1)
    with tampering():
        LogLeaf.objects.update(at=timezone.now() - timedelta(minutes=61))
    assert Checkpoint.objects.is_due()
    Checkpoint.objects.make()
    assert not Checkpoint.objects.is_due()


def test_it_is_three_signed_lines(run):
    grow(run, 3)
    note = Checkpoint.objects.make().note
    text, _, signature = note.partition("\n\n")
    assert text.splitlines()[:2] == [signing.name(), "3"]
    assert signature.startswith(f"— {signing.name()} ")
    Ed25519PublicKey.from_public_bytes(signing.public_key()).verify(
        signed_notes(note)[0].signature, f"{text}\n".encode()
    )


def test_all_go_into_one_file_and_to_the_webhook(run, settings, tmp_path, webhook):
    settings.CHECKPOINT_FILE = tmp_path / "checkpoints"
    settings.CHECKPOINT_WEBHOOK = f"http://127.0.0.1:{webhook.server_port}/here"
    for _ in range(2):
        grow(run, 1)
        async_to_sync(send)(Checkpoint.objects.make())
    assert [signed.size for signed in signed_notes(settings.CHECKPOINT_FILE.read_text())] == [1, 2]
    assert [signed_notes(note)[0].size for note in webhook.got] == [1, 2]


def test_a_webhook_that_fails_and_a_file_that_cannot_be_written_are_logged(run, settings, caplog, webhook):
    settings.CHECKPOINT_FILE = "/proc/nowhere/checkpoints"
    settings.CHECKPOINT_WEBHOOK = f"http://127.0.0.1:{webhook.server_port}/here"
    webhook.status = 500
    grow(run, 1)
    async_to_sync(send)(Checkpoint.objects.make())
    assert "could not be written" in caplog.text
    assert "could not be sent to the webhook (HTTPStatusError)" in caplog.text


def test_a_log_with_a_leaf_that_is_no_hash_is_not_signed(run):
    grow(run, 3)
    with tampering():
        for damaged in ("zz", "", "ab", "g" * 64, "A" * 64):
            LogLeaf.objects.filter(index=1).update(hash=damaged)
            with pytest.raises(
                LogInconsistent, match=r"leaf 1 of the log was damaged\. manage\.py verify_record says more\."
            ):
                Checkpoint.objects.make()
        with pytest.raises(CommandError, match="leaf 1"):
            call_command("checkpoint")
