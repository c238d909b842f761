from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from django.core.exceptions import ValidationError
from django.core.files import File
from django.core.management.base import CommandError

from debates import responses
from debates.attachments import DebateAttachments
from debates.forms import DebateSubmission, panel_named, values_of_version
from debates.models import Debate, Panel, PanelChanged, PanelVersion
from debates.page.context import page_context
from debates.page.sentences import acts_in_words, status_sentence
from debates.procedure import submit
from debates.rules.outcome import NO_DECISION
from debates.rules.state import StatementKind
from engine.models import Run
from engine.models.budgets import BudgetExceeded
from runs.forms import field_label, parse_number
from runs.procedure.spec import spec_of_run
from runs.run_command import NOTHING, OTHERWISE, WELL, ProgressLine, RunCommand, usage_error

Line = tuple[tuple[int, int], tuple[str, int], str]
"""Its place, its key and its text."""


class Command(RunCommand[Debate]):
    help = (
        "Hold a debate. Exit status: 0 an option was decided (with --expect: that one), 1 another one, 2 nothing came "
        "of it, 3 it waits for a person, 64 bad usage or input."
    )
    nothing = "Nothing was decided"
    expected = ""

    def add_own_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("question", nargs="?", default="-", help="what is to be decided; - reads it")
        parser.add_argument("--title", default="")
        parser.add_argument("--panel", help="name or id of who argues about what options (default: the first)")
        parser.add_argument(
            "--document", metavar="FILE", action="append", default=[], help="what members read and cite"
        )
        parser.add_argument("--most", metavar="N", help="messages at most")
        parser.add_argument("--spend", metavar="MONEY", help="dollars at most, as in 3.00")
        parser.add_argument("--seed", metavar="HEX", help="64 digits, to hold a debate again")
        parser.add_argument("--expect", metavar="OPTION", help="the option that is hoped for")

    def submit(self, options: dict[str, Any]) -> Debate:
        panel = panel_called(options["panel"])
        submission = DebateSubmission.of(
            **self._asked(panel, options), attached=read(options["document"], self.encoding)
        )
        if not submission.is_valid():
            problems = [(one.path, one.message) for one in submission.problems]
            raise usage_error(self.in_options(problems, {"documents": "document"}, otherwise="panel"))
        self.expected = self._expected(options["expect"], submission.values())
        try:
            return submit(owner=None, panel=panel, **submission.values())
        except (BudgetExceeded, PanelChanged) as error:
            raise CommandError(str(error), returncode=NOTHING) from error

    def _asked(self, panel: PanelVersion, options: dict[str, Any]) -> dict[str, Any]:
        question = self.text_of(options["question"], "question")
        own = {name: options[name] for name in ("title", "most", "spend", "seed") if options[name]}
        return {**values_of_version(panel), **own, "question": question}

    def _expected(self, word: str | None, values: dict[str, Any]) -> str:
        known = [option["word"] for option in values["options"]]
        found = next((one for one in known if word and field_label(one) == field_label(word)), "")
        if word and not found:
            raise usage_error(f"--expect: there is no such option. There are: {', '.join(known)}.")
        return found

    def report_start(self, row: Debate) -> Iterator[str]:
        names = ", ".join(member.name for member in row.seated)
        yield f"Debating “{row.run.title}” ({row.pk}): {names}."
        if titles := [str(one) for one in row.run.documents.all()]:
            yield f"They read {', '.join(titles)}."
        if row.rehearsal:
            yield "Rehearsal: no model was asked. Answers follow a stated rule."

    def new_lines(self, row: Debate) -> ProgressLine:
        for _, key, line in sorted([*self._said(row), *self._done(row)], key=lambda one: one[0]):
            yield key, f"  {line}"
        if row.run.outcome:
            face = spec_of_run(row.run)
            yield (
                "end",
                " ".join(
                    [f"{face.outcome_filter(row.run.outcome)[1]}.", *status_sentence(page_context(face.snapshot(row)))]
                ),
            )

    def _said(self, row: Debate) -> Iterator[Line]:
        for message in responses.message_objects(row):
            to = "" if message["speaking_to"] == ["everyone"] else f" to {', '.join(message['speaking_to'])}"
            verdict = "abstains" if message["abstained"] else message["verdict"]
            stands = f" [{verdict}]" if verdict else ""
            words = message["content"]
            if message["kind"] == StatementKind.LEAVING:
                to, words = " withdraws", message["verdict_reasoning"]
            said = f"{message['number']}. {message['name']}{to}{stands}{': ' if words else ''}{words}"
            yield (message["number"], 0), ("message", message["number"]), said

    def _done(self, row: Debate) -> Iterator[Line]:
        """Yield the acts. They have their own numbers, and follow the message after which they were done."""
        if row.steers.all():
            for act, lead, text in acts_in_words(page_context(spec_of_run(row.run).snapshot(row))):
                yield (act.after, act.number), ("act", act.number), f"Act {act.number}. {lead} {text}"

    def status_of(self, run: Run) -> int:
        if run.outcome == NO_DECISION:
            return NOTHING
        return WELL if not self.expected or run.outcome == self.expected else OTHERWISE


def read(files: Sequence[str], encoding: str = "") -> DebateAttachments:
    found = DebateAttachments(encoding=encoding)
    for name in files:
        try:
            with open(name, "rb") as file:
                found.add_files([File(file, Path(name).name)])
        except OSError as error:
            raise usage_error(f"--document: {name} cannot be read: {error.strerror}.") from error
    return found


def panel_called(which: str | None) -> PanelVersion:
    """Return the current version of the panel with this name or id; without one, of the first available panel."""
    if which is None:
        first = Panel.objects.available().with_content().first()
        if first is None or first.current is None:
            raise usage_error("--panel: There is no panel. Make one in the library.")
        return first.current
    text = which.encode(errors="replace").decode()  # an argument may contain bytes that are not text
    try:
        return panel_named(parse_number(text) or text)
    except ValidationError as error:
        raise usage_error(f"--panel: {error.message}") from error
