"""Files that come with a goal: pasted into the page, or uploaded there or by the API.

The page shows uploaded texts in fields when it reports an error, so that they need not be chosen again.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from django.core.files.uploadedfile import UploadedFile

from .workspace_files import LONGEST
from .workspace_sources import LARGEST_UPLOAD, RepositoryRefused, WorkspaceSource, is_archive, source_from_archive

ROWS = 200
PATH, CONTENT = "path-", "content-"
FIELDS = (PATH, CONTENT)


@dataclass(frozen=True)
class MissionFile:
    """A file in the fields of the page, by its number."""

    number: int
    path: str = ""
    text: str = ""

    @property
    def has_content(self) -> bool:
        return bool(self.path.strip() or self.text.strip())


def is_attachment_field(name: str) -> bool:
    return any(name.startswith(begin) and name.removeprefix(begin).isdecimal() for begin in FIELDS)


def pasted_files(posted: Mapping[str, str]) -> list[MissionFile]:
    """The rows that are not empty, by number. At most ROWS + 1, so that the form can refuse too many."""
    numbers = sorted(
        int(name.removeprefix(PATH)) for name in posted if name.startswith(PATH) and is_attachment_field(name)
    )
    rows = [
        MissionFile(number, posted[f"{PATH}{number}"], posted.get(f"{CONTENT}{number}", ""))
        for number in numbers[: ROWS + 1]
    ]
    return [row for row in rows if row.has_content]


def uploaded_texts(files: Iterable[UploadedFile]) -> tuple[list[tuple[str, str]], list[str]]:
    """Pairs of name and text of the files that are no archives, and a sentence for each that is not UTF-8 text."""
    found, wrong = list[tuple[str, str]](), list[str]()
    for file in [one for one in files if not _is_archive(one)][: ROWS + 1]:
        name = file.name or "file"
        try:
            if (file.size or 0) > LONGEST:
                raise ValueError
            found.append((name, file.read().decode()))
        except ValueError:
            wrong.append(
                f"{name} is no text in UTF-8 of at most {LONGEST:,} bytes. Save it as one, or choose another file."
            )
    return found, wrong


def uploaded_archives(files: Iterable[UploadedFile]) -> tuple[WorkspaceSource, list[str]]:
    """The texts and at most one repository of the archives and bundles, and a sentence for each that is refused."""
    found, wrong = list[WorkspaceSource](), list[str]()
    for file in filter(_is_archive, files):
        try:
            if (file.size or 0) > LARGEST_UPLOAD:
                raise RepositoryRefused(f"It has more than {LARGEST_UPLOAD // 1_000_000} MB.")
            if any(one.repository for one in found):
                raise RepositoryRefused("A mission begins with one repository, and files come on top of it.")
            found.append(source_from_archive(file.read(), file.name or "an archive"))
        except RepositoryRefused as refused:
            wrong.append(f"{file.name}: {refused}")
    repository = next((one.repository for one in found if one.repository), None)
    note = "\n".join(one.note for one in found if one.note)
    return WorkspaceSource([file for one in found for file in one.files], note, repository), wrong


def _is_archive(file: UploadedFile) -> bool:
    return is_archive(file.name or "")


def number_files(files: Iterable[tuple[str, str]]) -> list[MissionFile]:
    return [MissionFile(number, path, text) for number, (path, text) in enumerate(files, 1)]
