"""Files that come with a goal: pasted into the page, or uploaded. Once they were sent they stand in fields of the page,
so that nothing is lost where something else has to be corrected."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from .workspace_files import LONGEST

ROWS = 200
PATH, CONTENT = "path-", "content-"
FIELDS = (PATH, CONTENT)


@dataclass(frozen=True)
class MissionFile:
    """As it stands in the page, under its number."""

    number: int
    path: str = ""
    text: str = ""

    @property
    def said(self) -> bool:
        return bool(self.path.strip() or self.text.strip())


def is_attachment_field(name: str) -> bool:
    return any(name.startswith(begin) and name.removeprefix(begin).isdecimal() for begin in FIELDS)


def pasted_files(posted: Mapping[str, str]) -> list[MissionFile]:
    """Those in which anything stands, in their order."""
    numbers = sorted(
        int(name.removeprefix(PATH)) for name in posted if name.startswith(PATH) and is_attachment_field(name)
    )
    rows = [MissionFile(one, posted[f"{PATH}{one}"], posted.get(f"{CONTENT}{one}", "")) for one in numbers[: ROWS + 1]]
    return [one for one in rows if one.said]


def uploaded_files(files: Iterable[Any]) -> Iterator[tuple[str, str | None]]:
    """Names and texts; None of what is no text that can be taken."""
    for file in list(files)[: ROWS + 1]:
        name = file.name or "file"
        try:
            if (file.size or 0) > LONGEST:
                raise ValueError
            yield name, file.read().decode()
        except ValueError:
            yield name, None


def number_files(files: Iterable[tuple[str, str]]) -> list[MissionFile]:
    return [MissionFile(number, path, text) for number, (path, text) in enumerate(files, 1)]
