"""What somebody attaches to a new debate: read and within its limits, before anything is submitted.

A page keeps what was read in itself, signed, so that nothing is stored and nothing is lost while one goes on writing.

Why so: docs/decisions.md, Documents.
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

FILES = "documents"  # the field of files, and what problems with them are named by
UNTITLED = "Pasted text"
TAMPERED_TEXT = "One of the documents did not come back as it was read. Attach it again."
TOO_MANY = f"Attach at most {DOCUMENTS.number} documents. Leave out the others."


@dataclass
class DebateAttachments:
    """What can be attached, in its order, and what is wrong with the rest."""

    documents: list[NewDocument] = field(default_factory=list)
    problems: list[FieldProblem] = field(default_factory=list)
    encoding: str = ""  # of texts that do not say theirs

    def add(self, path: str, read: Callable[[], NewDocument]) -> bool:
        """Whether it is attached. Beyond the last place nothing is read."""
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
        """Uploaded ones. Also what turns out to be unreadable is one of those that may be tried: each takes its time,
        others wait for it, and there is one end of that for all of them."""
        until = time.monotonic() + documents.TOGETHER
        for number, file in enumerate(files):
            if number >= DOCUMENTS.number:
                self.refuse(FILES, TOO_MANY)
                return
            self.add(FILES, partial(from_file, file, until, self.encoding))

    def refuse(self, path: str, message: str) -> None:
        """Once for each reason: of too many, all are too many in the same way."""
        problem = FieldProblem(path, path.replace("_", "-"), "Documents", message)
        if problem not in self.problems:
            self.problems.append(problem)


def from_file(file: Any, until: float, encoding: str = "") -> NewDocument:
    documents.refuse_size(file.name or "", file.size, DOCUMENTS)  # before it is taken from where it lies
    return documents.read_document(file.name or "", file.read(), DOCUMENTS, until, encoding)


def from_text(title: str, text: str) -> NewDocument:
    return documents.document_from_text(title.strip() or UNTITLED, text, DOCUMENTS)


# ---- kept in a page -----------------------------------------------------------------------------------------


def sign_attachments(found: Sequence[NewDocument], whose: object) -> list[str]:
    """Each as a text that a page carries and nobody else can make."""
    return [signing.dumps(astuple(one), salt=_salt(whose), compress=True) for one in found]


def restore_attachments(token: str, whose: object) -> NewDocument:
    try:
        title, kind, lines, digest = signing.loads(token, salt=_salt(whose))
    except signing.BadSignature as error:
        raise UnreadableDocument(TAMPERED_TEXT) from error
    return NewDocument(title, kind, tuple(lines), digest)


def _salt(whose: object) -> str:
    return f"debates.attachments.{whose}"
