from argparse import ArgumentParser
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

from django.core.management.base import CommandError

from engine.models import Gate, NewDocument
from engine.models.budgets import BudgetExceeded
from inquiries.forms import CRITICS, LIMITS, MODELS, follow_up_problem, form_values, submit_values
from inquiries.models import ATTACHED, AssignmentKind, Inquiry
from inquiries.models.queries import history_of
from inquiries.procedure import submit
from inquiries.rules.limits import BOUNDS
from inquiries.rules.state import NOT_ANSWERED
from runs.run_command import NOTHING, ProgressLine, RunCommand, usage_error
from runs.site_url import address
from toolbox import documents

QUOTED_CHARACTERS = 240  # of an answer or a comment in a line of progress
OPTION_NAMES = {"retry_limit": "limit", "roster": "posts", "documents": "document"}  # options, by fields of the form


class Command(RunCommand[Inquiry]):
    help = (
        "Have a question answered from documents, with quotes that are checked. Without documents it is answered from "
        "those of MAGI itself. Exit status: 0 answered, 1 not answered, 2 nothing came of it, 3 it waits for somebody, "
        "64 bad usage or input."
    )
    well = ("answered",)
    nothing = "Nothing was answered"

    def add_own_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("question", nargs="?", default="-", help="what is to be answered; - reads it")
        parser.add_argument("--document", metavar="FILE", action="append", default=[], help="what is looked in")
        parser.add_argument("--model", default="", help="that works at all posts (default: the installation's)")
        for name, what in (("plan", "the plan"), ("research", "each result"), ("answer", "the answer")):
            who = f"who reviews {what}: model, person, or council:NAME"
            parser.add_argument(f"--{name}-critic", metavar="WHO", default="", help=who)
        parser.add_argument(
            "--posts", metavar="NAME", default="", help="the roster that says what is not said of posts"
        )
        parser.add_argument("--collections", metavar="NAMES", default="", help="in which it looks, with commas between")
        parser.add_argument("--follows", metavar="ID", type=UUID, help="the inquiry whose sources are taken over")
        parser.add_argument("--web", action="store_true", help="look outside, too, where a search is set up")
        parser.add_argument("--hosts", metavar="HOSTS", default="", help="the only sites that it reads there")
        parser.add_argument("--two-sites", action="store_true", help="let no claim rest on one site alone")
        parser.add_argument("--fallback", default="", help="is asked where a model does not answer")
        for name in MODELS:
            who = name.removesuffix("_model")
            parser.add_argument(f"--{who}-model", metavar="MODEL", default="", help=f"of the {who} alone")
        for name in LIMITS:
            bound = BOUNDS[name]
            said = f"{bound.least:,} to {bound.most:,}, usually {bound.usual:,}"
            parser.add_argument(f"--{name}", metavar="N", help=said)
        parser.add_argument("--limit", metavar="N", help="limit of retries after rejections and errors, 1 to 20")
        parser.add_argument("--title", default="")
        parser.add_argument("--spend", metavar="MONEY", help="dollars at most, as in 3.00")

    def submit(self, options: dict[str, Any]) -> Inquiry:
        question = self.text_of(options["question"], "question")
        own = {name: options[name] for name in ("title", "model", "spend", "collections", "web", "hosts", "fallback")}
        own |= {name: options[name] for name in (*CRITICS, *MODELS, *LIMITS, "two_sites")}
        given = {"question": question, "retry_limit": options["limit"], "roster": options["posts"], **own}
        follows = _followed(options["follows"]) if options["follows"] else None
        values, problems = submit_values(
            form_values(given), [read(name, self.encoding) for name in options["document"]], follows
        )
        if problems:
            raise usage_error(self.in_options(problems, OPTION_NAMES))
        try:
            return submit(owner=None, **values)
        except BudgetExceeded as error:
            raise CommandError(str(error), returncode=NOTHING) from error

    def report_start(self, row: Inquiry) -> Iterator[str]:
        yield f"Asking “{row.run.title}” ({row.pk})."
        places = [*(one.title for one in row.sources.all()), *(["the web"] if row.web else [])]
        yield f"Looking in {', '.join(places)}."
        if row.rehearsal:
            yield "Rehearsal: no model was asked. Answers follow a stated rule."

    def new_lines(self, row: Inquiry) -> ProgressLine:
        for number, line in enumerate(history_of(row.assignments_in_order, QUOTED_CHARACTERS), 1):
            yield number, f"  {line}"
        for gate in Gate.objects.pending().filter(run=row.pk):
            yield f"gate {gate.pk}", f"  To decide: {gate.title} {address()}/gates/{gate.pk}/"

    def word(self, row: Any) -> str:
        """Return the answer with its quotes."""
        if row.run.outcome != "answered":
            return NOT_ANSWERED if row.run.is_ended else super().word(row)
        return "\n".join([row.answer, "", *_quotes(row)])


def _quotes(row: Inquiry) -> Iterator[str]:
    """Yield a line for each quote of the answer's claims and of the claims that they are reasoned from."""
    claims = {one.number: one for one in row.claims.all()}
    works = [one for one in row.assignments_in_order if one.kind == AssignmentKind.WORK]
    for claim in (one for one in claims.values() if works and one.order_id == works[-1].pk):
        carrying = [claim, *(claims[number] for number in claim.reasoned_from if number in claims)]
        for quote in (quote for one in carrying for quote in one.quotes.all()):
            yield f"[claim:{claim.number}] {quote.source}: “{' '.join(quote.text.split())}”"


def _followed(pk: UUID) -> Inquiry:
    row = Inquiry.objects.with_assignments().filter(pk=pk).first()
    if complaint := follow_up_problem(row) if row else "There is no such inquiry.":
        raise usage_error(f"--follows: {complaint}")
    assert row  # noqa: S101 - for the type checker
    return row


def read(name: str, encoding: str) -> NewDocument:
    try:
        return documents.read_document(name, Path(name).read_bytes(), ATTACHED, encoding=encoding)
    except documents.UnreadableDocument as error:
        raise usage_error(f"--document: {error}") from error
    except OSError as error:
        raise usage_error(f"--document: {name}: {error.strerror}.") from error
