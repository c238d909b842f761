"""Attachments of a new debate, read and checked against the limits before anything is submitted.

A page carries the extracted text itself, signed, so that nothing is stored and nothing is lost while the form is
edited.

Why so: runs/DESIGN.md, Documents.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import astuple, dataclass, field
from functools import partial
from typing import Any

from django.core import signing

from engine.models import NewDocument
from runs.forms import FieldProblem
from toolbox import documents
from toolbox.documents import UnreadableDocument

from .models import DOCUMENTS

FILES = "documents"  # name of the file field and of its problems
UNTITLED = "Pasted text"
TAMPERED_TEXT = "One of the documents did not come back as it was read. Attach it again."
TOO_MANY = f"Attach at most {DOCUMENTS.number} documents. Leave out the others."


@dataclass
class DebateAttachments:
    """The documents to attach, in order, and the problems of the others."""

    documents: list[NewDocument] = field(default_factory=list)
    problems: list[FieldProblem] = field(default_factory=list)
    encoding: str = ""  # of texts that do not declare one

    def add(self, path: str, read: Callable[[], NewDocument]) -> bool:
        """Read and add a document; return whether it was added. Beyond the maximum number nothing is read."""
        try:
            if len(self.documents) >= DOCUMENTS.number:
                raise UnreadableDocument(TOO_MANY)
            found = read()
            if complaint := DOCUMENTS.problem([*self.documents, found]):
                raise UnreadableDocument(complaint)
        except UnreadableDocument as error:
            self.refuse(path, str(error))
            return False
        self.documents.append(found)
        return True

    def add_files(self, files: Iterable[Any]) -> None:
        """Add uploaded files. Unreadable files count towards the maximum too: reading takes time, and all files
        share one time limit."""
        until = time.monotonic() + documents.TOGETHER
        for number, file in enumerate(files):
            if number >= DOCUMENTS.number:
                self.refuse(FILES, TOO_MANY)
                return
            self.add(FILES, partial(from_file, file, until, self.encoding))

    def refuse(self, path: str, message: str) -> None:
        """Add a problem once: with too many files, all have the same one."""
        problem = FieldProblem(path, path.replace("_", "-"), "Documents", message)
        if problem not in self.problems:
            self.problems.append(problem)


def from_file(file: Any, until: float, encoding: str = "") -> NewDocument:
    documents.refuse_size(file.name or "", file.size, DOCUMENTS)  # before it is read into memory
    return documents.read_document(file.name or "", file.read(), DOCUMENTS, until, encoding)


def from_text(title: str, text: str) -> NewDocument:
    return documents.document_from_text(title.strip() or UNTITLED, text, DOCUMENTS)


# ---- stored in a page ----------------------------------------------------------------------------------------


def sign_attachments(found: Sequence[NewDocument], whose: object) -> list[str]:
    """Return each document as a signed text that a page carries and nobody else can forge."""
    return [signing.dumps(astuple(one), salt=_salt(whose), compress=True) for one in found]


def restore_attachments(token: str, whose: object) -> NewDocument:
    try:
        title, kind, lines, digest = signing.loads(token, salt=_salt(whose))
    except signing.BadSignature as error:
        raise UnreadableDocument(TAMPERED_TEXT) from error
    return NewDocument(title, kind, tuple(lines), digest)


def _salt(whose: object) -> str:
    return f"debates.attachments.{whose}"
