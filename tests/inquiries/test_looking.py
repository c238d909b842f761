"""Where an inquiry looks beside what is attached to it: collections, and tables that are asked."""

from types import SimpleNamespace

import pytest
from asgiref.sync import sync_to_async
from django.core.management import call_command

from engine.audit.full_verification import verify_all
from engine.models import DocumentLimits, NewDocument
from engine.tools import ToolRefused
from inquiries.forms import submit_values
from inquiries.models import Collection, Inquiry, InquirySource
from inquiries.tools import sources
from tests.conftest import perform
from tests.inquiries.scenes import LIMIT, answers, calls, found, going_well, inquiry
from toolbox import documents

pytestmark = pytest.mark.django_db(transaction=True)

CSV = documents.read_document(
    "sales.csv", b"Region,Amount\nNorth,1200\nNorth,900\nSouth,5\n", DocumentLimits(1, 9_999, 9_999)
)
SUM = calls("tables.ask", source=1, sql="SELECT SUM(Amount) AS total FROM data WHERE Region = 'North'")
ROW = ("North comes to 2100.", 2, "Row 1: total: 2100")
LATER = (ROW[0], 3, ROW[2])


async def test_a_number_out_of_a_table_is_quoted_as_it_was_worked_out(mira, models):
    going_well(
        models, researcher=[calls("tables.read", source=1), SUM, found(LATER)],
        expert=[answers("North comes to 2100.")],
    )  # fmt: skip
    run = await perform((await sync_to_async(inquiry)(mira, documents=(CSV,))).pk, models)
    source = await InquirySource.objects.aget(inquiry=run.pk, number=3)
    assert (run.outcome, source.kind, source.read.endswith("Row 1: total: 2100")) == ("answered", "table", True)
    assert '"Amount" (numbers)' in await _first_result(run)
    assert not await sync_to_async(lambda: list(verify_all().faults))()


async def _first_result(run):
    row = await Inquiry.objects.aget(pk=run.pk)
    return (await row.moves.order_by("pk").afirst()).result


async def test_what_cannot_be_asked_of_a_table_goes_back_to_who_asked(mira, models):
    wrong = [calls("tables.ask", source=1, sql="DROP TABLE data"), calls("tables.read", source=9)]
    going_well(models, researcher=[*wrong, SUM, found(ROW)], expert=[answers("2100.")])
    run = await perform((await sync_to_async(inquiry)(mira, documents=(CSV,))).pk, models)
    results = [one.result async for one in (await Inquiry.objects.aget(pk=run.pk)).moves.order_by("pk")]
    assert "one SELECT over the table" in results[0]
    assert "Source 9 is no CSV. CSVs are: [1] sales.csv." in results[1]


async def test_without_a_csv_there_is_no_tool_for_one(mira, models):
    going_well(models)
    await perform((await sync_to_async(inquiry)(mira)).pk, models)
    assert not any("tables." in messages[0]["content"] for _, messages in models.asked)


def test_a_collection_is_filled_looked_in_and_stays_with_who_looked(mira, tmp_path, capsys):
    (tmp_path / "runbook.md").write_text("Restart the queue before the workers.")
    call_command("collection", "Runbooks", add=[str(tmp_path / "runbook.md")])
    assert "runbook.md (37 characters)" in capsys.readouterr().out
    values, wrong = submit_values({"question": "What is restarted first?", "collections": "Runbooks"})
    assert (wrong, [one.title for one in values["documents"]]) == ([], ["runbook.md"])
    row = inquiry(mira, **{name: values[name] for name in ("collections", "documents")})
    (tmp_path / "runbook.md").write_text("Nothing is restarted.")
    call_command("collection", "Runbooks", add=[str(tmp_path / "runbook.md")])
    assert row.sources.get().text == "Restart the queue before the workers."
    assert Collection.objects.documents_of(["Runbooks"])[0].text == "Nothing is restarted."
    call_command("collection", "Runbooks", delete=True)
    assert not Collection.objects.exists()


LETTER = "mcp.others.letter"
OF_SERVER = ("The fee is 350.", 3, "it is 350 francs a year")


async def test_tools_of_a_server_that_read_are_used_and_what_they_say_is_quoted(
    mira, models, classed, folder, settings
):
    settings.INQUIRY_TOOLS = ["mcp.others.*"]
    await classed("reads")
    folder.say(text="As of May it is 350 francs a year.")
    going_well(models, researcher=[calls(LETTER, to="fees"), found(OF_SERVER)])
    run = await perform((await sync_to_async(inquiry)(mira, web=True)).pk, models)
    source = await InquirySource.objects.aget(inquiry=run.pk, number=3)
    assert (run.outcome, source.kind, source.site) == ("answered", "mcp", "mcp.others")
    assert [one["name"] for one in folder.calls] == ["letter"]
    assert not await sync_to_async(lambda: list(verify_all().faults))()


@pytest.mark.parametrize(
    ("effect", "web", "named"), [("writes", True, True), ("reads", False, True), ("reads", True, False)]
)
async def test_no_other_tool_of_a_server_is_on_the_shelf(mira, models, classed, settings, effect, web, named):
    settings.INQUIRY_TOOLS = ["mcp.others.*"] if named else []
    await classed(effect)
    going_well(models)
    await perform((await sync_to_async(inquiry)(mira, web=web)).pk, models)
    assert not any("mcp.others" in one["content"] for _, messages in models.asked for one in messages)


async def test_a_search_through_a_tool_of_a_server_says_where_to_read_and_is_no_source(
    mira, models, classed, folder, settings
):
    settings.SEARCH = {"tool": LETTER}
    await classed("reads")
    folder.say(text="1. A page\nhttp://127.0.0.1:1/page\nIt is 350 francs a year.")
    moves = [
        calls(LETTER, to="fees"),
        found(OF_SERVER),
        calls("web.read", address="http://127.0.0.1:1/page"),
        found(LIMIT),
    ]
    going_well(models, researcher=moves)
    run = await perform((await sync_to_async(inquiry)(mira, web=True)).pk, models)
    found_ = [one async for one in (await Inquiry.objects.aget(pk=run.pk)).moves.order_by("pk")]
    assert "There is no source 3" in found_[1].refused
    assert "was not found" not in found_[2].result  # its address was; that nobody may read it there is another matter
    assert await InquirySource.objects.filter(inquiry=run.pk).acount() == 2


def test_a_collection_that_there_is_not_is_a_wrong_field():
    assert submit_values({"question": "What is it?", "collections": "Nowhere"})[1] == [
        ("collections", "There is no collection “Nowhere”.")
    ]


def test_so_many_files_may_be_attached_and_collections_beside_them():
    many = [NewDocument(f"{n}.txt", "text", (f"Text {n}",), "0" * 64) for n in range(21)]
    assert submit_values({"question": "What is it?"}, many)[1][0][0] == "documents"
    Collection.objects.create(name="Large").add(many)
    values, wrong = submit_values({"question": "What is it?", "collections": "Large"}, many[:5])
    assert (wrong, len(values["documents"])) == ([], 26)


def test_a_source_is_read_of_the_own_inquiry_alone(mira):
    own, other = inquiry(mira, documents=(CSV,)), inquiry(mira, documents=(CSV, CSV))
    assert "North | 1200" in sources.read_source(sources.ReadSourceArguments(source=2), SimpleNamespace(run=other.run))
    with pytest.raises(ToolRefused, match="There is no source 2"):
        sources.read_source(sources.ReadSourceArguments(source=2), SimpleNamespace(run=own.run))
