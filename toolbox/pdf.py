"""The texts of a PDF's pages, as JSON. A program for `child.py`: what opens a PDF of strangers does nothing else."""

import io
import json
import sys

from pypdf import PasswordType, PdfReader
from pypdf.errors import LimitReachedError

MOST_PAGES = 200
MOST_CHARACTERS = 1_000_000


def read(data: bytes) -> dict[str, object]:
    """`pages`, or `refused` with the reason in a word."""
    reader = PdfReader(io.BytesIO(data))
    # one that only its owner's password protects opens without any, in every viewer
    if reader.is_encrypted and reader.decrypt("") == PasswordType.NOT_DECRYPTED:
        return {"refused": "encrypted"}
    if len(reader.pages) > MOST_PAGES:
        return {"refused": "pages"}
    texts: list[str] = []
    for page in reader.pages:
        texts.append(page.extract_text())
        if sum(map(len, texts)) > MOST_CHARACTERS:
            return {"refused": "characters"}
    return {"pages": texts}


if __name__ == "__main__":
    try:
        found = read(sys.stdin.buffer.read())
    except LimitReachedError:  # it unpacks to more than anybody wrote
        raise MemoryError from None
    print(json.dumps(found))
