"""The evidence file of a run: its record, the verifier, and a letter with instructions.

Why so: runs/DESIGN.md, Sharing.
"""

from io import BytesIO
from pathlib import Path
from uuid import UUID
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from django.urls import reverse

from engine.ledger import signing

from ..site_url import address
from .document import record_line

VERIFIER = Path(__file__).resolve().parents[2] / "tools" / "verify.py"
README_TEXT = """\
This file holds the record of {noun} {pk}, as it was kept by the MAGI
installation whose log is called {log}.

To see that nothing in it was changed, you need Python 3.9 or newer and nothing else:

1. Ask the people who run that installation, on another way than the one by which this
   file came to you, for the key of their log. It should be

   {key}

   The key is what everything hangs on: who could change this file could change this
   letter, too.

2. Unpack the file, open a terminal in its folder, and type, with the key that you were
   told:

   python3 verify.py record.json --key '{key}'

   Without Python: open {address} in a browser, choose the file
   that came to you, and put the key in. Nothing is sent anywhere.

3. Read the last line. "Intact": all that the record says is what was sealed, in this
   order, and nothing was left out in between. "Not intact": each problem stands above it
   in a sentence, with the entry at which it was found. "Consistent with itself": you
   named no key, and nobody vouches for it.

What the record says in words stands in record.json under "entries", one after another.
The texts of prompts and answers stand there as they were sent and came.
"""


def build_evidence_file(pk: UUID, noun: str) -> bytes:
    """Build a zip. The zip itself has no times, so that the same record gives the same bytes."""
    check = f"{address()}{reverse('check-page')}"
    letter = README_TEXT.format(noun=noun, pk=pk, log=signing.name(), key=signing.verifier_key(), address=check)
    files = {"LETTER.txt": letter, "record.json": record_line(pk), "verify.py": VERIFIER.read_text()}
    packed = BytesIO()
    with ZipFile(packed, "w", ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(ZipInfo(f"magi-{str(pk)[:8]}/{name}"), text, ZIP_DEFLATED)
    return packed.getvalue()
