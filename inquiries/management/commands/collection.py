from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from engine import console
from engine.models import NewDocument
from engine.plurals import counted
from inquiries.models import ATTACHED, Collection
from runs.run_command import ENCODING, checked_encoding, usage_error
from toolbox import documents


class Command(console.ConsoleCommand):
    help = (
        "Fill a collection of documents that inquiries look in. A document of the same title takes the place of what "
        "was there; what an inquiry has looked in stays with it. Without a name: say which there are."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", nargs="?")
        parser.add_argument("--add", metavar="FILE", nargs="+", default=[], help="text, Markdown, CSV, PDF, mails")
        parser.add_argument("--encoding", metavar="NAME", default="", help=f"{ENCODING}, such as windows-1252")
        parser.add_argument("--remove", metavar="TITLE", nargs="+", default=[])
        parser.add_argument("--delete", action="store_true", help="the collection with all that is in it")

    def handle(self, *args: Any, **options: Any) -> None:
        if not options["name"]:
            for one in Collection.objects.all():
                self.stdout.write(f"{one}: {counted(one.documents.count(), 'document')}")
            return
        if "," in options["name"] or len(options["name"]) > 80:
            raise usage_error("name: A name of a collection has at most 80 characters, and no comma.")
        encoding = checked_encoding(options["encoding"])
        files = [read(name, encoding) for name in options["add"]]
        collection, _ = Collection.objects.get_or_create(name=options["name"])
        collection.add(files)
        collection.documents.filter(title__in=options["remove"]).delete()
        if options["delete"]:
            collection.delete()
            self.stdout.write(f"{options['name']} is deleted.")
            return
        for document in collection.documents.all():
            self.stdout.write(f"{document} ({counted(len(document.text), 'character')})")


def read(name: str, encoding: str) -> NewDocument:
    try:
        return documents.read_document(name, Path(name).read_bytes(), ATTACHED, encoding=encoding)
    except documents.UnreadableDocument as error:
        raise usage_error(f"--add: {error}") from error
    except OSError as error:
        raise usage_error(f"--add: {name}: {error.strerror}.") from error
