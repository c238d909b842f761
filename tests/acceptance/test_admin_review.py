"""A reviewer at work, months later, in a real browser: find a past judgement, read it, take it along."""

import csv
import json
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from urllib.request import urlopen

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from tests.acceptance.cases import REFUND, RELEASE
from tests.acceptance.scene import AcceptanceScene
from tests.acceptance.site import ROOT, environment, manage

LIST = reverse("admin:judgements_judgement_changelist")
LAST_MONTH = datetime.now(UTC).replace(day=1) - timedelta(days=3)

# all of it as if it had been then, and sealed anew
AGED = """
from datetime import timedelta
from django.db.models import F
from engine.audit import sealing
from engine.ledger.checkpoints import Checkpoint
from engine.ledger.entries import AuditEntry
from engine.ledger.merkle_log import LogLeaf, DigestSalt
from engine.models import ModelCall, Run
from tests.databases import tampering
back = timedelta(days={days})
with tampering():
    for model in (DigestSalt, LogLeaf, AuditEntry, Checkpoint):
        model.objects.all().delete()
    during = {{"started": F("started") - back, "ended": F("ended") - back}}
    Run.objects.filter(pk="{pk}").update(created=F("created") - back, **during)
    ModelCall.objects.filter(run="{pk}").update(**during)
sealing.adopt_unsealed_runs()
"""


@pytest.fixture(scope="module")
def scene(browser, tmp_path_factory):
    """Of three judgements the rejected one is of last month."""
    folder = tmp_path_factory.mktemp("review")
    with AcceptanceScene(browser, folder) as scene:
        for moment in ("rejected", "approved", "error"):
            scene.judgement(moment)
        aged = AGED.format(pk=scene.judgement("rejected"), days=(datetime.now(UTC) - LAST_MONTH).days)
        done = manage("shell", "-c", aged, env=environment(scene.site.log.parent))
        assert done.returncode == 0, done.stderr
        scene.sign_in(scene.site)
        yield scene


@pytest.fixture(scope="module")
def complaints(scene):
    complaints = []
    scene.page.on("console", lambda said: said.type == "error" and complaints.append(said.text))
    scene.page.on("pageerror", lambda error: complaints.append(str(error)))
    return complaints


@pytest.fixture
def page(scene, complaints):
    scene.page.emulate_media(media="screen")
    yield scene.open(LIST)
    assert complaints == []


def titles(page):
    return page.locator("#result_list .field-shown_title")


def search(page, words):
    page.get_by_role("searchbox", name="Search").fill(words)
    page.get_by_role("button", name="Search").click()


def run(page, action):
    page.get_by_label("Action:").select_option(action)
    page.get_by_role("button", name="Go").click()


def lines_of(page, action):
    with page.expect_download() as started:
        run(page, action)
    return started.value.path().read_text(encoding="utf-8-sig")


def test_a_rejected_judgement_of_last_month_is_found_by_a_word_of_a_reason(page):
    expect(titles(page)).to_have_count(3)
    page.get_by_role("link", name="Rejected", exact=True).click()
    dates = page.get_by_role("navigation", name="Dates")
    dates.get_by_role("link", name=f"{LAST_MONTH:%Y}").click()
    dates.get_by_role("link", name=f"{LAST_MONTH:%B}").click()
    search(page, "undisputed")
    expect(titles(page)).to_have_text([REFUND.title])
    expect(dates).to_contain_text(f"{LAST_MONTH:%B}")
    search(page, "zeppelin")
    expect(titles(page)).to_have_count(0)


def test_the_transcript_says_why_an_agent_changed_its_mind(page):
    page.get_by_role("link", name=REFUND.title).click()
    analyst = page.get_by_role("region", name="Fraud analyst")
    changed = analyst.locator(".rec-round", has_text="Changed its mind in round 2")
    expect(changed).to_contain_text(REFUND.members[1].says[1][1])
    result = page.get_by_role("region", name="Result")
    expect(result).to_contain_text("Swayed: the first round alone would have approved it.")
    expect(page.get_by_role("complementary", name="Review")).to_contain_text("Fraud analyst rejects")


def test_a_folded_prompt_is_opened_and_the_way_back_leads_to_the_same_list(page):
    search(page, "refund")
    page.get_by_role("link", name=REFUND.title).click()
    analyst = page.get_by_role("region", name="Fraud analyst")
    prompt = analyst.get_by_text("You are agent B of these three").first
    expect(prompt).to_be_hidden()
    analyst.get_by_text("Prompt and raw answer").first.click()
    expect(prompt).to_be_visible()
    expect(analyst.get_by_text(REFUND.members[1].criteria).first).to_be_hidden()
    analyst.get_by_text("Criteria", exact=False).first.click()
    expect(analyst.get_by_text(REFUND.members[1].criteria).first).to_be_visible()
    page.get_by_role("navigation", name="Breadcrumbs").get_by_role("link", name="Judgements").last.click()
    expect(page.get_by_role("searchbox", name="Search")).to_have_value("refund")
    expect(titles(page)).to_have_count(1)


def test_the_selection_is_exported_and_the_list_stays(page):
    page.get_by_role("row", name=REFUND.title).get_by_role("checkbox").check()
    table = list(csv.DictReader(lines_of(page, "export_table").splitlines()))
    assert [(row["title"], row["agent 2 verdict"]) for row in table] == [(REFUND.title, "rejected")]
    lines = [json.loads(line) for line in lines_of(page, "export_lines").splitlines()]
    assert [line["title"] for line in lines] == [REFUND.title]
    expect(titles(page)).to_have_count(3)


def test_what_is_exported_as_evidence_is_verified_by_somebody_else(scene, page, tmp_path):
    page.get_by_role("row", name=REFUND.title).get_by_role("checkbox").check()
    evidence = tmp_path / "evidence.jsonl"
    evidence.write_text(lines_of(page, "export_evidence"))
    key = json.load(urlopen(f"{scene.site.url}/api/v1/key"))["key"]
    verified = subprocess.run(
        [sys.executable, "-I", "-S", "tools/verify.py", evidence, "--key", key],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert (verified.returncode, verified.stderr) == (0, "")
    assert verified.stdout.startswith("Intact: 1 records")
    evidence.write_text(evidence.read_text().replace("undisputed", "disputed"))
    assert subprocess.run([sys.executable, "tools/verify.py", evidence, "--key", key], cwd=ROOT).returncode == 1


def test_a_note_and_an_override_stay_beside_the_verdict(scene, page):
    page.get_by_role("link", name=REFUND.title).click()
    beside = page.get_by_role("complementary", name="Review")
    expect(beside).to_contain_text("Intact")
    for what, text in (("Note", "Asked the customer: the payment was hers."), ("Override: approved", "Refund it.")):
        beside.get_by_label(what, exact=True).check()
        beside.get_by_label("Note or reason").fill(text)
        beside.get_by_role("button", name="Add to the record").click()
        expect(page.get_by_text("It is in the record.")).to_be_visible()
        expect(page.get_by_role("region", name="Reviews")).to_contain_text(text)
    expect(page.locator(".plate").first).to_contain_text("Rejected")
    expect(beside).to_contain_text("Intact")
    page.get_by_role("link", name="Live page").click()
    expect(page.get_by_text("Overridden: approved by")).to_be_visible()


def test_the_selection_is_printed_as_one_page(page):
    page.get_by_label("Select all objects on this page").check()
    run(page, "print_records")
    expect(page.get_by_role("article")).to_have_count(3)
    expect(page.get_by_role("button", name="Print all")).to_be_visible()
    page.emulate_media(media="print")
    expect(page.get_by_role("button").filter(visible=True)).to_have_count(0)
    expect(page.get_by_role("article").nth(1)).to_have_css("break-before", "page")
    expect(page.get_by_role("heading", name=RELEASE.title).first).to_be_visible()


def test_a_person_is_found_by_the_beginning_of_its_name(page):
    page.get_by_label("Name").fill("okaf")
    page.get_by_role("button", name="Find").click()
    expect(titles(page)).to_have_count(3)
    page.get_by_role("link", name="M. Okafor").click()
    expect(page.locator("#changelist-filter .selected", has_text="M. Okafor")).to_be_visible()
