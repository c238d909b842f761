"""An inquiry that looks outside: what it may read there, what becomes of it, and what a failure is not."""

import json

import pytest
from asgiref.sync import sync_to_async
from django.test import override_settings

from engine.audit.full_verification import verify_all
from engine.llm.errors import ContentFiltered
from engine.models import NewDocument, ToolCall
from inquiries.answer_view import claim_view
from inquiries.forms import submit_values
from inquiries.models import Inquiry, InquirySource, SourcePassage
from inquiries.models.queries import OMITTED_TEXT, ONE_SITE_TEXT
from inquiries.models.rule_state import load_inquiry
from inquiries.models.sources import are_from_one_site
from inquiries.prompts.moves import TWO_SITES, read_research
from inquiries.rules.limits import InquiryLimits
from inquiries.tools.web import INVENTED_ADDRESS_TEXT, WebSearchArguments, check_search
from runs.models import SearchText
from runs.record.redaction import redact_run
from tests.conftest import ScriptedModels, perform
from tests.databases import copied_async, tampering
from tests.inquiries.offline import entries_of_all, problems
from tests.inquiries.scenes import answers, calls, final, found, going_well, inquiry
from tests.web import WebSite
from toolbox.web.page_text import ADDRESSES_MACHINE_TEXT

pytestmark = pytest.mark.django_db(transaction=True)

LOOK = calls("web.search", query="heat pumps 2027")
OF_PAGE = "no heat pump may be sold whose refrigerant has a warming potential of 150 or more"


@pytest.fixture(scope="module")
def site():
    with WebSite() as started:
        yield started


@pytest.fixture
def outside(site):
    search = {"provider": "searxng", "address": site.address(""), "key": ""}
    with override_settings(SEARCH=search, PAGES_ALLOWED_HOSTS=[site.place]):
        yield site


def read(site, path="/page"):
    return calls("web.read", address=site.address(path))


@pytest.fixture
async def read_outside(mira, outside):
    """An inquiry that was answered by a page that it searched for and read."""
    return await _read_outside(mira, outside.address("/page"))


@copied_async
async def _read_outside(mira, address):
    return await researched(mira, ScriptedModels(), LOOK, calls("web.read", address=address))


async def researched(mira, models, *moves, source=1, quote=OF_PAGE, **asked_for):
    """By these moves and what is quoted then."""
    handed_in = found(("The limit is 150.", source, quote)) if quote else found(there=False, result="Nothing there.")
    nothing = answers("It is said nowhere.", numbers=(), answerable=False)
    more = {} if quote else {"expert": [nothing]}
    going_well(models, researcher=[*moves, handed_in], **more)
    asked_for = {"documents": (), "web": True, **asked_for}
    run = await perform((await sync_to_async(inquiry)(mira, **asked_for)).pk, models)
    return run, await sync_to_async(Inquiry.objects.with_assignments().get)(pk=run.pk)


def exchanged(pk):
    with tampering():
        InquirySource.objects.filter(inquiry=pk).update(read="Something else.")


async def result_of(row, number):
    return [one.result async for one in row.moves.filter(place="research.1.0").order_by("number")][number - 1]


async def test_a_page_that_was_found_is_kept_as_it_was_read_and_quoted(read_outside, outside):
    run, row = read_outside
    assert run.outcome == "answered"
    source = await InquirySource.objects.aget(inquiry=row)
    assert (source.number, source.kind, source.address) == (1, "page", outside.address("/page"))
    assert OF_PAGE in source.read
    assert (len(source.bytes_digest), len(source.text_digest), source.length) == (64, 64, len(source.read))
    assert outside.address("/sheet") in await result_of(row, 2)
    assert await ToolCall.objects.filter(run=run, outside=True).acount() == 2
    assert not await sync_to_async(faults)()
    entries = (await sync_to_async(entries_of_all)())[str(run.pk)]
    assert problems(entries) == []


def faults():
    return list(verify_all().faults)


async def test_another_text_under_a_quote_is_found_out_by_both(read_outside):
    run, _ = read_outside
    entries = (await sync_to_async(entries_of_all)())[str(run.pk)]
    source = next(one for one in entries if one["kind"] == "inquiry.source")
    source["texts"]["text"] = source["texts"]["text"].replace("150", "950")
    assert any(one.startswith("A quote does not stand") for one in problems(entries))
    await sync_to_async(exchanged)(run.pk)
    assert await sync_to_async(faults)()


async def test_an_address_that_nobody_found_is_not_read(mira, models, outside):
    before = len(outside.seen())
    run, row = await researched(mira, models, read(outside), quote="")
    assert INVENTED_ADDRESS_TEXT in await result_of(row, 1)
    assert (run.outcome, len(outside.seen()), row.state.retry_count) == ("unanswered", before, 0)


async def test_a_link_of_a_page_and_an_address_of_the_question_are_found(mira, models, outside):
    question = f"What does {outside.address('/page')} say of the N12?"
    quote = "uses R290, whose warming potential is 0.02"
    run, row = await researched(
        mira, models, read(outside), read(outside, "/sheet"), source=2, quote=quote, question=question
    )
    assert run.outcome == "answered"
    assert (await InquirySource.objects.aget(inquiry=row, number=2)).flags == [ADDRESSES_MACHINE_TEXT]
    asked_last = [messages for model, messages in models.asked if model == "test/researcher"][-1]
    assert ADDRESSES_MACHINE_TEXT in asked_last[1]["content"]


def at_once(first, *others):
    """One move with several uses of tools."""
    uses = [json.loads(one) for one in others]
    also = [{"tool": one["tool"], "arguments": one["arguments"]} for one in uses]
    return json.dumps(json.loads(first) | {"also": also})


async def test_several_pages_are_read_with_one_move(mira, models, outside):
    together = at_once(read(outside), read(outside, "/sheet"), read(outside, "/page"))
    run, row = await researched(mira, models, LOOK, together)
    moves = [(one.number, one.thought, one.call.step) async for one in row.moves.select_related("call")]
    first = "research.1.0.2"
    assert moves[1:4] == [(2, "I look.", first), (3, "", first), (4, "", first)]
    assert (run.outcome, await row.sources.acount()) == ("answered", 2)
    assert (await row.moves.aget(number=4, place="research.1.0")).result.startswith("This was asked already")
    assert not await sync_to_async(lambda: list(verify_all().faults))()


async def test_no_more_is_used_at_once_than_the_limits_leave(mira, models, outside):
    together, limits = at_once(read(outside), read(outside, "/sheet")), InquiryLimits(patience=0, pages=1, moves=6)
    _, row = await researched(mira, models, LOOK, together, limits=limits)
    assert await row.moves.filter(tool="web.read").acount() == 1
    with pytest.raises(ValueError, match="2 are taken"):
        read_research(at_once(LOOK, LOOK, LOOK, LOOK), {"web.search": WebSearchArguments})
    with pytest.raises(ValueError, match="does both"):
        read_research(json.dumps({**json.loads(found(there=False)), "also": [{"tool": "web.search"}]}), {})


async def test_what_cannot_be_read_costs_a_move_and_no_retry(mira, models, outside):
    question = f"What do {outside.address('/gone')} and {outside.address('/private')} say?"
    run, row = await researched(
        mira, models, read(outside, "/gone"), read(outside, "/private"), quote="", question=question
    )
    assert ("404" in await result_of(row, 1), "robots.txt" in await result_of(row, 2)) == (True, True)
    assert (run.status, run.outcome, row.state.retry_count) == ("finished", "unanswered", 0)


async def test_a_search_that_is_down_is_no_finding(mira, models, outside):
    with override_settings(SEARCH={"provider": "searxng", "address": outside.address("/broken"), "key": ""}):
        _, row = await researched(mira, models, LOOK, quote="")
    assert "The search did not answer" in await result_of(row, 1)
    assert [one.status async for one in ToolCall.objects.filter(run=row.pk)] == ["failed"]


async def test_sites_can_be_named_beyond_which_nothing_is_read(mira, models, outside):
    question = f"What does {outside.address('/page')} say?"
    _, row = await researched(mira, models, LOOK, read(outside), quote="", question=question, hosts=["law.example"])
    assert "Nothing was found" in await result_of(row, 1)
    assert "none of the sites" in await result_of(row, 2)


async def test_no_redirect_leads_beyond_the_sites_that_were_named(mira, models, outside, settings):
    port = outside.place.rpartition(":")[2]
    settings.PAGES_ALLOWED_HOSTS = [outside.place, f"localhost:{port}"]
    path = f"/moved?to=http://localhost:{port}/page"
    question = f"What does {outside.address(path)} say?"
    _, row = await researched(mira, models, read(outside, path), quote="", question=question, hosts=["127.0.0.1"])
    assert "localhost is none of the sites" in await result_of(row, 1)


async def test_documents_alone_have_no_tool_that_looks_outside(mira, models, outside):
    going_well(models, researcher=[found(("The limit is 150.", 1, "a warming potential of 150 or more"))])
    await perform((await sync_to_async(inquiry)(mira)).pk, models)
    system = next(messages[0]["content"] for model, messages in models.asked if model == "test/researcher")
    assert "web." not in system


async def test_after_the_last_page_there_is_no_more_reading(mira, models, outside):
    limits = InquiryLimits(patience=0, pages=1)
    run, _ = await researched(mira, models, LOOK, read(outside), limits=limits)
    told = [messages[0]["content"] for model, messages in models.asked if model == "test/researcher"]
    assert ["web.read" in one for one in told] == [True, True, False]
    assert run.outcome == "answered"


async def test_the_same_text_again_is_the_same_source(mira, models, outside):
    question = f"What do {outside.address('/page')} and {outside.address('/packed')} say?"
    run, row = await researched(mira, models, read(outside), read(outside, "/packed"), question=question)
    assert (run.outcome, await InquirySource.objects.filter(inquiry=row).acount()) == ("answered", 1)


async def test_a_sum_can_be_quoted_as_it_was_worked_out(mira, models):
    going_well(
        models,
        expert=[
            calls("figures.calculate", expression="6350 - 350"),
            answers("It is 6000.", claims=[{"text": "It is 6000.", "quotes": [
                {"source": 3, "quote": "6350 - 350 = 6000"}], "reasoned_from": [1]}]),
        ],
        finalizer=[final("[answer] [claim:2]")],
    )  # fmt: skip
    run = await perform((await sync_to_async(inquiry)(mira)).pk, models)
    assert (run.outcome, (await InquirySource.objects.aget(inquiry=run.pk, number=3)).kind) == (
        "answered",
        "calculation",
    )
    assert not await sync_to_async(faults)()


async def test_a_csv_of_the_web_is_a_table_of_its_site(mira, models, outside):
    asks = calls("tables.ask", source=1, sql="SELECT SUM(Price) AS total FROM data")
    told = {"source": 2, "quote": "total: 13350.5"}
    question = f"What do all pumps of {outside.address('/prices.csv')} cost?"
    run, row = await researched(mira, models, read(outside, "/prices.csv"), asks, question=question, **told)
    page, table = await sync_to_async(lambda: list(row.sources.all()))()
    assert (run.outcome, page.is_csv, table.kind, table.host) == ("answered", True, "table", page.host)
    assert are_from_one_site([page, table])
    follows = await sync_to_async(page.as_document)()
    assert (follows.kind, follows.lines[1]) == ("csv", "N12 | 6.350,50")
    assert not await sync_to_async(faults)()


async def test_what_was_read_goes_with_a_redaction(read_outside):
    run, _ = read_outside
    await sync_to_async(redact_run)(run.pk, "mira", "It is asked for.")
    source = await InquirySource.objects.aget(inquiry=run.pk)
    assert (source.read, source.address, source.title, source.number) == ("", "", "", 1)
    assert not await SourcePassage.objects.filter(source=source).aexists()
    assert not await sync_to_async(faults)()


def test_the_web_is_asked_for_by_a_tick_where_a_search_is_set_up():
    with override_settings(SEARCH={}):
        _, wrong = submit_values({"question": "What may be sold?", "web": "on"})
    assert wrong == [("web", "It cannot look outside: no search is set up here.")]
    with override_settings(SEARCH={"tool": "mcp.finder.find"}):
        values, wrong = submit_values({"question": "What may be sold?", "web": "on", "hosts": "Law.example, b.example"})
        assert (wrong, values["web"], values["hosts"], values["documents"]) == (
            [],
            True,
            ["law.example", "b.example"],
            [],
        )
        assert submit_values({"question": "What may be sold?", "hosts": "http://x"})[1][0][0] == "hosts"


async def test_a_filter_of_a_provider_gets_the_newest_result_no_more(mira, models, outside):
    going_well(models)
    models.script["test/researcher"] = [LOOK, read(outside, "/sheet"), ContentFiltered("No."), found(there=False)]
    models.script["test/expert"] = [answers("It is said nowhere.", numbers=(), answerable=False)]
    row = await sync_to_async(inquiry)(mira, documents=(), web=True, limits=InquiryLimits(patience=0))
    await perform(row.pk, models)
    asked_last = [m[1]["content"] for model, m in models.asked if model == "test/researcher"][-1]
    assert (OMITTED_TEXT in asked_last, "R290" in asked_last, "What may be sold" in asked_last) == (True, False, True)
    state = (await sync_to_async(load_inquiry)(row.pk)).state
    assert (state.retry_count, state.errors) == (1, 1)


async def test_a_claim_carries_the_flags_that_all_of_its_sources_have(mira, models, outside):
    quote = "The Norrvik N12 uses R290, whose warming potential is 0.02."
    _, row = await researched(mira, models, LOOK, read(outside, "/sheet"), quote=quote)
    shown = [claim_view(row, one) for one in row.claims.all()]
    assert [one.flags for one in shown] == [(ADDRESSES_MACHINE_TEXT, ONE_SITE_TEXT)] * 2
    [asked_critic] = [m[1]["content"] for model, m in models.asked if model == "test/critic_researcher"]
    assert ADDRESSES_MACHINE_TEXT in asked_critic
    assert "norrvik" in (await SearchText.objects.aget(run=row.pk)).words


async def test_a_claim_of_one_site_comes_back_where_two_are_wanted(mira, models, outside):
    limits = InquiryLimits(patience=0, sites=2)
    handed_in = [read(outside), found(("The limit is 150.", 1, OF_PAGE))]
    run, row = await researched(mira, models, LOOK, *handed_in, quote=None, limits=limits)
    [refused] = [one.refused for one in row.moves.all() if one.refused]
    assert (run.outcome, refused) == (
        "unanswered",
        "“The limit is 150.” rests on one site alone. Quote another site, too, or drop the claim.",
    )
    [told, *_] = [m[0]["content"] for model, m in models.asked if model == "test/researcher"]
    assert TWO_SITES.strip() in told


@pytest.mark.parametrize(
    ("hosts", "one"),
    [
        (["a.example"], True),
        (["a.example", "www.a.example", "docs.a.example"], True),
        (["a.example", "b.example"], False),
        (["ba.example", "a.example"], False),
    ],
)
def test_hosts_within_another_are_one_site(hosts, one):
    pages = [InquirySource(kind="page", address=f"https://{host}/x") for host in hosts]
    worked_out = InquirySource(kind="calculation", title="A calculation")
    assert (are_from_one_site([*pages, worked_out]), are_from_one_site([*pages, InquirySource(kind="document")])) == (
        one,
        False,
    )


async def test_the_doctor_says_whether_the_search_answers(outside):
    assert "answers, with 2 hits" in str(await check_search())
    broken = {"provider": "searxng", "address": outside.address("/broken"), "key": ""}
    with override_settings(SEARCH=broken):
        assert "JSON format is off (403)" in str(await check_search())
    with override_settings(SEARCH={}):
        assert await check_search() is None


async def test_a_source_is_read_around_words(mira, models):
    long = NewDocument("long.txt", "text", ("word " * 2_000, "The needle stands here."), "0" * 64)
    going_well(models, researcher=[calls("sources.read", source=1, around="needle"), found(there=False)])
    models.script["test/expert"] = [answers("It is said nowhere.", numbers=(), answerable=False)]
    row = await sync_to_async(inquiry)(mira, documents=(long,))
    await perform(row.pk, models)
    assert "The needle stands here." in await result_of(row, 1)
