"""What a claim can rest on beside sentences: cells as a table showed them, and calculations with their steps."""

import json
from types import SimpleNamespace

import pytest
from asgiref.sync import async_to_sync, sync_to_async

from engine.audit.full_verification import verify_all
from engine.models import DocumentLimits, Run
from inquiries.management.commands.ask import Command as Ask
from inquiries.models import Inquiry, queries
from inquiries.models.queries import CALCULATED_WITH
from inquiries.prompts import moves
from inquiries.prompts.critics import WorkToReview
from inquiries.prompts.gate_text import gate_question
from inquiries.quotes import find_cells
from inquiries.rules.events import InquiryStage
from inquiries.rules.state import NOT_ANSWERED
from runs.procedure.spec import spec_of_run
from runs.record.export import SelectedRuns, pieces
from runs.run_object import run_object
from tests.conftest import perform
from tests.inquiries.offline import entries_of_all, problems
from tests.inquiries.scenes import answers, calls, final, found, going_well, inquiry
from toolbox import documents

database = pytest.mark.django_db(transaction=True)
CSV = documents.read_document(
    "sales.csv", b"Region,Year,Amount\nNorth,2024,1200\nNorth,2025,900\nSouth,2025,5\n", DocumentLimits(1, 9_999, 9_999)
)
SHOWN = "Its columns: Region.\nRow 1: Region: North; Net: 5; Amount: 1,200\nRow 2: Region: South; Net: 7; Amount: 50"
LINES = "Region | Year | Amount\nNorth | 2024 | 1,200\nSouth | 2025 | 50"
CELLS = {  # what is quoted, and whether it is taken
    (SHOWN, "Amount: 50"): ["Amount: 50"],
    (SHOWN, "Row 2 … Amount: 50"): ["Row 2", "Amount: 50"],
    (SHOWN, "Region: North … Amount: 1,200"): ["Region: North", "Amount: 1,200"],
    (SHOWN, "Row 1: Region: North; Net: 5"): ["Row 1: Region: North; Net: 5"],
    (SHOWN, "Region: North … Amount: 50"): None,  # of two rows
    (SHOWN, "Amount: 1"): None,
    (SHOWN, "Amount: 5"): None,
    (SHOWN, "t: 50"): None,
    (SHOWN, "50"): None,
    (LINES, "South | 2025"): ["South | 2025"],
    (LINES, "2025 | 50"): ["2025 | 50"],
    (LINES, "North | 2025"): None,
    (LINES, "2024 | 1"): None,
}


def test_cells_of_one_row_are_quoted_as_they_were_shown_and_no_others():
    wrong = []
    for (text, quote), expected in CELLS.items():
        place = find_cells(quote, text)
        stands = [text[one.start : one.end] for one in place.parts] if place else None
        wrong += [] if stands == expected else [(quote, stands)]
    assert wrong == []


def handed_in(text, *quotes, calculated=()):
    claim = {"text": text, "quotes": [{"source": one, "quote": quote} for one, quote in quotes]}
    done = {"found": True, "result": text, "claims": [{**claim, "calculated": list(calculated)}]}
    return json.dumps({"thought": "So it is.", "done": done})


@database
async def test_an_answer_rests_on_cells_and_on_a_calculation_that_is_named_with_its_steps(mira, models):
    cells = [(2, "Row 1 … Amount: 1200"), (2, "Row 2 … Amount: 900")]
    going_well(
        models,
        researcher=[
            calls("tables.read", source=1),
            calls("figures.calculate", expression="1200 - 900"),
            calls("figures.calculate", expression="300 / 1200 * 100"),
            handed_in("North lost 25 percent.", *cells, calculated=[4]),
        ],
        expert=[
            calls("figures.calculate", expression="7001 + 300"),
            answers(
                "It lost 7301, not 7001.", claims=[{"text": "It lost 7301.", "reasoned_from": [1], "calculated": [5]}]
            ),
        ],
    )
    run = await perform((await sync_to_async(inquiry)(mira, documents=(CSV,))).pk, models)
    told = await sync_to_async(lambda: run_object(spec_of_run(run).rows().get(pk=run.pk), ""))()
    first, second = told["claims"]
    steps = ["1200 - 900 = 300", "300 / 1200 * 100 = 25"]
    assert (first["calculated"], first["flags"], first["bare"]) == (steps, [], False)
    assert told["in_no_claim"] == ("7001",)
    assert (second["calculated"][-1], second["flags"]) == ("7001 + 300 = 7301", [f"{CALCULATED_WITH}7001"])
    asked = [json.loads(said[1]["content"].split("\n")[1]) for model, said in models.asked if "critic_expert" in model]
    assert asked[0]["checked"][0]["flags"] == second["flags"]
    assert not await sync_to_async(lambda: list(verify_all().faults))()
    assert await sync_to_async(lambda: problems(entries_of_all()[str(run.pk)]))() == []


@database
async def test_a_question_is_answered_by_a_calculation_alone_and_every_reader_says_so(mira, models, client):
    sums = answers("15% of 80 is 12.", claims=[{"text": "15% of 80 is 12.", "calculated": [1]}])
    plan = json.dumps({"thought": "It is a sum.", "research_steps": [], "expert_steps": ["Work out 15% of 80."]})
    going_well(
        models,
        planner=[plan],
        expert=[calls("figures.calculate", expression="15% of 80"), sums],
        finalizer=[final("[answer] [claim:1]")],
    )
    asked = {"question": "How much is 15% of 80?", "documents": ()}
    run = await perform((await sync_to_async(inquiry)(mira, **asked)).pk, models)
    told = await sync_to_async(lambda: run_object(spec_of_run(run).rows().get(pk=run.pk), ""))()
    [claim] = told["claims"]
    assert (run.outcome, told["answer"], told["in_no_claim"]) == ("answered", "15% of 80 is 12. [claim:1]", ())
    assert (claim["calculated"], claim["flags"], claim["bare"]) == (["15% of 80 = 12"], [], False)
    posts = [model.removeprefix("test/") for model, _ in models.asked]
    assert posts == ["planner", "critic_planner", "expert", "expert", "critic_expert", "finalizer"]
    assert await sync_to_async(readers_of)(run, mira, client) == []
    assert not await sync_to_async(lambda: list(verify_all().faults))()
    assert await sync_to_async(lambda: problems(entries_of_all()[str(run.pk)]))() == []


def readers_of(run, user, client):
    """Those of page, record, source, command line and table that lack the calculation, or the answer."""
    client.force_login(user)
    row, face = spec_of_run(run).rows().get(pk=run.pk), spec_of_run(run)
    paths = dict.fromkeys(("", "record/"), "source and rests on calculations alone.") | {"sources/1/": "15% of 80 = 12"}
    told = {path: client.get(f"/inquiries/{run.pk}/{path}").content.decode() for path in paths}
    told |= {"ask": Ask().word(row), "csv": "".join(async_to_sync(table_of)(run.pk, face))}
    due = paths | {"ask": "[claim:1] [1] A calculation: “15% of 80 = 12”", "csv": ",15% of 80 is 12. [claim:1],"}
    return [(name, said) for name, said in told.items() if due[name] not in said or "15% of 80" not in said]


def test_the_command_says_that_a_question_was_not_answered():
    row = SimpleNamespace(run=Run(status=Run.Status.FINISHED, outcome="unanswered"))
    assert Ask().word(row) == NOT_ANSWERED


async def table_of(pk, face):
    return [piece async for piece in pieces(SelectedRuns([pk]), "csv", "https://magi.example", face)]


def rows(*found):
    return SimpleNamespace(all=lambda: found)


STEPS = {  # of one claim that quotes 150, and what of it stands nowhere
    ("7001 * 1 = 7001",): ["7001", "1"],
    ("sqrt(7001^2) = 7001",): ["7001", "2"],
    ("7001 + 300 = 7301", "7301 - 300 = 7001"): ["7001", "300"],
    ("7 * 1000 + 1 = 7001",): ["7", "1000", "1"],
    ("150 * 0 + 7 * 1000 + 1 = 7001",): ["0", "7", "1000", "1"],
    ("150 * 12 = 1800", "1800 / 100 = 18"): [],
}


def test_no_number_gets_in_by_a_calculation_of_what_was_made_up():
    claim = SimpleNamespace(pk=1, text="So it is.", bare=False, quotes=rows(SimpleNamespace(text="150", source_id=1)))
    row = SimpleNamespace(question="How much?", sources=rows())
    assert {one: queries._unsupported_inputs(row, claim, [claim], one) for one in STEPS} == STEPS


@database
async def test_a_claim_that_names_no_calculation_or_the_wrong_source_hears_what_would_do(mira, models):
    wrong = [handed_in("So.", calculated=[1]), found(("So.", 1, "Row 2: Region: North; Year: 2025; Amount: 900"))]
    right = found(("So.", 2, "Region: North; Year: 2025"))
    going_well(models, researcher=[calls("tables.read", source=1), *wrong, right], expert=[answers("So.")])
    run = await perform((await sync_to_async(inquiry)(mira, documents=(CSV,))).pk, models)
    row = await sync_to_async(Inquiry.objects.with_assignments().get)(pk=run.pk)
    refused = [one.refused for one in row.moves.all() if one.refused]
    assert refused[0] == "Source 1 is no calculation: quote what stands there."
    assert refused[1].endswith("does not stand in source 1, and does in source 2: quote that.")
    assert run.outcome == "answered"


def test_a_schema_offers_calculations_once_there_are_any():
    def offered(kind):
        work = moves.ResearchWork("How?", "", [], {}, [], [], [], [{"number": 3, "kind": kind}], [], [], {"moves": 5})
        [done, _] = moves.research_schema(work, [])["properties"]["done"]["anyOf"]
        return done["properties"]["claims"]["items"]["properties"].get("calculated", {}).get("items")

    assert (offered("page"), offered("calculation")["enum"]) == (None, [3])


def test_a_council_reads_each_step_of_a_calculation():
    work = {"text": "25.", "claims": [{"text": "It is 25.", "quotes": []}]}
    checked = [{"claim": 1, "quotes_found_in": [], "has_numbers_without_quote": False, "calculated": ["100 / 4 = 25"]}]
    text = gate_question(InquiryStage.CRITIC_EXPERT, WorkToReview("Why?", None, work, checked)).text
    assert "  calculated:\n    100 / 4 = 25" in text
