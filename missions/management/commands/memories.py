from argparse import ArgumentParser
from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from engine import console
from engine.plurals import counted
from missions import memory_review
from missions.memory_files import LISTS, InvalidMemoryFile
from missions.models import MemoryVersion
from missions.models.memories import memory_named


class Command(console.ConsoleCommand):
    help = (
        "Long-term memories as files of Markdown: export and import a folder of them, list them, or set who sees one. "
        "Exit status 1 where a file was left out."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True)
        for verb, what in (("export", "write all that is accepted"), ("import", "accept the contents of its files")):
            one = verbs.add_parser(verb, help=what)
            one.add_argument("folder", type=Path)
            _library(one)
        _library(verbs.add_parser("list", help="names, versions, who sees them, and what waits to be accepted"))
        one = verbs.add_parser("set", help="say who sees it, by a new version")
        one.add_argument("name")
        for name in LISTS:
            one.add_argument(f"--{name.replace('_', '-')}", metavar="+NAME,-NAME", help="or names alone: just these")
        _library(one)

    def handle(self, *, verb: str, **options: Any) -> None:
        verbs: dict[str, Callable[..., None]] = {"export": self._export, "import": self._import}
        verbs |= {"list": self._list, "set": self._set}
        verbs[verb](**options)

    def _export(self, *, folder: Path, library: str, **options: Any) -> None:
        for name in memory_review.export_memories(folder, library):
            self.stdout.write(name)

    def _import(self, *, folder: Path, library: str, **options: Any) -> None:
        if not folder.is_dir():
            raise CommandError(f"{folder} is no folder.")
        wrong = 0
        for name, why in memory_review.import_memories(folder, library):
            self.stdout.write(f"{name}: {why}" if why else name)
            wrong += bool(why)
        if wrong:
            raise CommandError(f"Left out: {counted(wrong, 'file')}.")

    def _list(self, *, library: str, **options: Any) -> None:
        for one in MemoryVersion.objects.held(library):
            lists = (f"{name} {', '.join(getattr(one, name))}" for name in LISTS if getattr(one, name))
            self.stdout.write(f"{one.memory.name} ({one.memory.file}), version {one.number}: {'; '.join(lists)}")
        for one in MemoryVersion.objects.proposed().filter(memory__library__in={"", library}):
            self.stdout.write(f"{one.memory.name}, version {one.number}: waits to be accepted")

    def _set(self, *, name: str, library: str, **options: Any) -> None:
        memory = memory_named(name, library)
        current = memory and memory_review.current_version(memory)
        if not memory or not current:
            raise CommandError(f"There is no memory {name}.")
        lists = {one: options[one] for one in LISTS if options[one] is not None}
        try:
            said = memory_review.memory_changes(current, **lists)
            version = memory_review.propose(
                said, memory_review.COMMAND, library=memory.library, base=current.number, accepted=True
            )
        except (InvalidMemoryFile, memory_review.MemoryChanged) as error:
            raise CommandError(str(error)) from error
        self.stdout.write(f"{memory.name}, version {version.number}.")


def _library(parser: ArgumentParser) -> None:
    parser.add_argument("--library", default="", help="the name of one (default: everybody's)")
