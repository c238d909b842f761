"""Pages and downloads of a mission's details: messages, terminals, files, patches and published branches."""

import io
import json
import tarfile
from collections.abc import Iterable
from datetime import datetime
from uuid import UUID

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods

from engine.models import TITLE_LENGTH
from engine.models.budgets import BudgetExceeded
from engine.models.rate_limits import RateLimitReached
from runs.access_log import log_view
from runs.forms import parse_number
from runs.live.related_runs import relation_note
from runs.procedure.spec import specs
from runs.rights import STEER
from runs.views.row_lookup import row_for

from .. import publishing
from ..display import ChangedFileView, changed_files, file_diffs
from ..display.agents import messages as all_messages
from ..display.outcome import branches
from ..display.terminals import full_output
from ..display.terminals import terminal as shown
from ..display.terminals import terminals as all_terminals
from ..models import FileVersion, Mission
from ..models.files import newest_file_versions, patch_text
from ..pull_requests import described, patch_for
from ..spec import decides_about_branches
from .actions import KEYS

LINES_OF_A_PAGE = 1_000
ROOM_FOR_WAY = 300  # characters for the sentence about omitted lines


@require_GET
def messages(request: HttpRequest, pk: UUID) -> HttpResponse:
    face = specs()["mission"]
    row = row_for(request, face, pk)
    found = list(all_messages(row, len(row.messages_in_order)))
    context = {"title": row.run.shown_title, "messages": found}
    return render(request, "missions/messages.html", {**face.page(pk), **context})


@require_GET
def terminals(request: HttpRequest, pk: UUID) -> HttpResponse:
    face = specs()["mission"]
    row = row_for(request, face, pk)
    seen = face.snapshot(row)
    context = {"title": row.run.shown_title, "found": list(all_terminals(seen, len(row.terminals.all()))), "pk": pk}
    return render(request, "missions/terminals.html", {**face.page(pk), **context})


@require_GET
def terminal(request: HttpRequest, pk: UUID, number: int) -> HttpResponse:
    """The output in pages of 1,000 lines, the last page first. For htmx, only the form for input."""
    face = specs()["mission"]
    row = row_for(request, face, pk)
    one = next((one for one in row.terminals.all() if one.number == number), None)
    if one is None:
        raise Http404
    if request.htmx:  # type: ignore[attr-defined]
        return render(request, "missions/_typing.html", {"pk": pk, "number": number, "here": True, "keys": KEYS})
    lines = full_output(one)
    pages = max(1, -(-len(lines) // LINES_OF_A_PAGE))
    page = min(max(parse_number(request.GET.get("page", "")) or pages, 1), pages)
    begin = (page - 1) * LINES_OF_A_PAGE
    seen_one = shown(face.snapshot(row), one)
    context = {
        "one": seen_one,
        "row": row,
        "pk": pk,
        "number": number,
        "may_type": seen_one.may_type and STEER.covers(request.user, row.run),
        "keys": KEYS,
        "title": row.run.shown_title,
        "lines": lines[begin : begin + LINES_OF_A_PAGE],
        "before": page - 1,
        "after": page + 1 if page < pages else 0,
        "from_line": begin + 1,
        "to_line": min(begin + LINES_OF_A_PAGE, len(lines)),
        "of_lines": len(lines),
    }
    return render(request, "missions/terminal.html", {**face.page(pk), **context})


@require_http_methods(["GET", "POST"])
def judge_patch(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Start a judgement of goal, result and diff by the first available council.

    A GET request, or a failure to start, shows the form on which a council can be chosen.
    """
    face, judging = specs()["mission"], specs()[settings.COUNCIL_APPROVER]
    row = row_for(request, face, pk)
    if not row.run.is_ended or row.run.redacted:
        raise Http404
    title, refused, status = row.run.shown_title, "", 200
    text = _case(row, request.build_absolute_uri("/").rstrip("/"), judging.longest_text)
    if request.method == "POST":
        try:
            if begun := judging.of_text(request.user, text, f"Does it meet the goal? {title}"[:TITLE_LENGTH]):
                relation_note(begun, pk)
                return redirect(judging.page_name("live"), begun)
        except (BudgetExceeded, RateLimitReached) as error:
            refused, status = str(error), 402 if isinstance(error, BudgetExceeded) else 429
    context = {"judging": judging, "title": title, "text": text, "refused": refused}
    return render(request, "missions/judge.html", {**face.page(pk), **context}, status=status)


def _case(row: Mission, site: str, longest: int) -> str:
    """The text to judge, if possible within `longest` characters: the diff is shortened, and omitted lines are counted.

    Every changed file is named with size and digest.
    """
    check = getattr(row, "final_check", None)
    came = f"It ended with {check.exit_code}." if check and check.exit_code is not None else "It could not be run."
    files = "\n".join(map(_named, changed_files(row)))
    parts = (
        "Does the result meet the goal?",
        f"Goal:\n{row.goal}",
        f"Result:\n{row.result or 'None.'}",
        f"Check: {check.command}\n{came}" if check else "No check was wanted.",
        f"Mission: {site}{specs()['mission'].address('live', row.pk)}",
        f"Files that were changed:\n{files}" if files else "No file was changed.",
    )
    text, patch = "\n\n".join(parts), patch_text(row.files.all())
    if not patch:
        return text
    way = f"{site}{reverse('mission-patch', args=[row.pk])}"
    return f"{text}\n\nDifference of these files:\n{_fitting(patch, longest - len(text) - ROOM_FOR_WAY, way)}"


def _named(file: ChangedFileView) -> str:
    digest = f", sha256 {file.digest}" if file.digest else ""
    lines = "" if file.has_lines else ", no text or too long: its lines are not in the difference"
    return f"{file.word}: {json.dumps(file.path, ensure_ascii=False)}, {file.size:,} bytes{digest}{lines}"


def _fitting(patch: str, room: int, way: str) -> str:
    if len(patch) <= room:
        return patch
    kept = patch[: patch.rfind("\n", 0, max(room, 0)) + 1]
    more = len(patch[len(kept) :].splitlines())
    return f"{kept}… {more:,} more lines of it are not in this text. All lines: {way}"


MAILED = ".patch"


@require_GET
def changed_files_page(request: HttpRequest, pk: UUID) -> HttpResponse:
    face = specs()["mission"]
    row = row_for(request, face, pk)
    end = publishing.ended_with(pk) or publishing.newest_made(pk)
    context = {
        "row": row,
        "title": row.run.shown_title,
        "found": file_diffs(row),
        "branching": publishing.branching(pk, end) if end else None,
        "without": row.begun_with.without if row.begun_with else [],
    }
    return render(request, "missions/files.html", {**face.page(pk), **context})


@require_GET
def patch(request: HttpRequest, pk: UUID) -> HttpResponse:
    row = row_for(request, specs()["mission"], pk)
    answer = HttpResponse(patch_for(row), content_type="text/plain; charset=utf-8")
    return _named_files(answer, f"mission-{str(pk)[:8]}.patch")


@require_GET
def archive(request: HttpRequest, pk: UUID) -> HttpResponse:
    """An archive of the present text files, from the record and not from the workspace."""
    row = row_for(request, specs()["mission"], pk)
    name = f"mission-{str(pk)[:8]}"
    data = _packed(name, newest_file_versions(row.files.all()).values(), row.run.created)
    return _named_files(HttpResponse(data, content_type="application/gzip"), f"{name}.tar.gz")


@require_GET
def beginning(request: HttpRequest, pk: UUID) -> HttpResponse:
    """All first files of the workspace, which are part of each published branch."""
    row = _row_for_decider(request, pk)
    found = FileVersion.objects.filter(mission=pk, step=None).order_by("path")
    context = {"row": row, "title": row.run.shown_title, "found": found, "repository": row.begun_with}
    return render(request, "missions/beginning.html", {**specs()["mission"].page(pk), **context})


@require_GET
def commit(request: HttpRequest, pk: UUID, commit: str) -> HttpResponse:
    """A git bundle with a commit that a gate is about; with the suffix .patch, a mailbox for git am.

    404 if the commit was made on another machine.
    """
    _row_for_decider(request, pk)
    if commit.endswith(MAILED):
        if (mailed := publishing.mailed(pk, commit.removesuffix(MAILED))) is None:
            raise Http404
        return _named_files(HttpResponse(mailed, content_type="text/plain; charset=utf-8"), f"{commit[:10]}{MAILED}")
    if (data := publishing.bundled_commit(pk, commit)) is None:
        raise Http404
    return _named_files(HttpResponse(data, content_type=publishing.BUNDLE), f"commit-{commit[:10]}.bundle")


def _row_for_decider(request: HttpRequest, pk: UUID) -> Mission:
    """The mission, also for approvers of its branches who may not see it otherwise."""
    face = specs()["mission"]
    if not decides_about_branches(request.user, pk):
        return row_for(request, face, pk)
    row: Mission = face.rows().get(pk=pk)
    log_view(row.run, request.user)
    return row


@require_GET
def pull_request(request: HttpRequest, pk: UUID) -> HttpResponse:
    """The text of a pull request, for the branch in the query or else the newest."""
    row = row_for(request, specs()["mission"], pk)
    found = [one for one in branches(row) if one.name == request.GET.get("branch", one.name)]
    if not found:
        raise Http404
    one = found[-1]
    commits = [f"{name[:12]} {said}" for name, said in (*one.merged, *one.commits)]
    text = described(row, one.message or row.run.shown_title, commits)
    return _named_files(HttpResponse(text, content_type="text/markdown; charset=utf-8"), f"mission-{str(pk)[:8]}.md")


@require_GET
def bundle(request: HttpRequest, pk: UUID) -> HttpResponse:
    """A git bundle with all published branches. 404 if they were published on another machine."""
    row_for(request, specs()["mission"], pk)
    if (data := publishing.read_bundle(pk)) is None:
        raise Http404
    return _named_files(HttpResponse(data, content_type=publishing.BUNDLE), f"mission-{str(pk)[:8]}.bundle")


def _packed(folder: str, versions: Iterable[FileVersion], at: datetime) -> bytes:
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:gz") as packed:
        for one in versions:
            text = one.text.encode()
            found = tarfile.TarInfo(f"{folder}/{one.path}")
            found.size, found.mtime, found.mode = len(text), int(at.timestamp()), 0o644
            packed.addfile(found, io.BytesIO(text))
    return data.getvalue()


def _named_files(answer: HttpResponse, name: str) -> HttpResponse:
    answer.headers["Content-Disposition"] = f'attachment; filename="{name}"'
    return answer
