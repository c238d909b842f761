"""A model that does its worst: what it turns, leaves bare or leaves out is refused, or marked for whoever reads it."""

import asyncio
import json
from itertools import product

import pytest

from engine.evidence.audit import verify_all
from inquiries.prompts.finalizer import Approved, inserted, own_words, read_final
from runs.api.objects import run_object
from runs.face import face_of
from tests.conftest import perform
from tests.inquiries.scenes import final, going_well, inquiry

# ---- the finalizer turns the answer -----------------------------------------------------------------------

TRUE = "The N12 may be sold in 2027."
TURNED = (
    "The N12 may not be sold.",
    "No: selling the N12 is forbidden.",
    "It is untrue that [answer]",
    "Nobody should believe this: [answer]",
    "The opposite of [answer] is right.",
    "[answer] That was said by mistake, and does not hold.",
    "[claim:2] is wrong, and so is [answer]",
    "[answer] [claim:2] Yet it was found that the law forbids it.",
    "[answer]\n\nThe claim [claim:2] was withdrawn later.",
    "Der N12 darf nicht verkauft werden. [answer]",
)
PLACES = ("{}", "{} [claim:2]", "[claim:2] {}", "\n{}\n")
APPROVED = Approved(
    "May the N12 be sold?", TRUE, "It follows.", [{"number": 2, "text": "0.02 is below 150."}], ["Plan."]
)


def test_no_wording_of_a_finalizer_becomes_the_answer_or_stands_unmarked():
    unmarked, variants = [], [place.format(text) for text, place in product(TURNED, PLACES)]
    for text in variants:
        try:
            said = read_final(final(text, "All critics agreed on it."), APPROVED)
        except ValueError:
            continue
        own = " ".join(piece for piece, own in inserted(said.wording, TRUE, {2: "0.02 is below 150."}) if own)
        as_it_was = said.final.answer == f"{TRUE} [claim:2]" and said.final.trace == "Plan."
        unmarked += [] if as_it_was and own.split() == own_words(text).split() and own else [text]
    assert (unmarked, len(variants)) == ([], 40)


@pytest.mark.django_db(transaction=True)
def test_page_api_and_record_tell_the_answer_from_the_words_of_the_finalizer(mira, models, client):
    going_well(models, finalizer=[final("It is untrue that [answer] For [claim:2] is doubted.", "Nobody looked.")])
    run = asyncio.run(perform(inquiry(mira).pk, models))
    told = run_object(face_of(run).rows().get(pk=run.pk), "")
    assert (told["answer"], told["trace"].partition(":")[0]) == ("It may be sold. [claim:2]", "Plan")
    own = [one["text"] for one in told["finalizer"]["wording"] if one["own"]]
    assert (own, told["finalizer"]["told"]) == (["It is untrue that", "For", "is doubted."], "Nobody looked.")
    client.force_login(mira)
    for page in (f"/inquiries/{run.pk}/", f"/inquiries/{run.pk}/record/"):
        shown = client.get(page).content.decode()
        assert [text for text in (*own, "Nobody looked.") if f"<mark>{text}</mark>" not in shown] == [], page
    assert verify_all().faults == []


def test_names_and_numbers_that_nobody_approved_are_refused_in_a_wording():
    for text in ("[answer] It costs 7,000.", "[answer] So says Siemens."):
        with pytest.raises(ValueError, match="does not stand in the approved answer"):
            read_final(json.dumps({"final_answer": text, "final_reasoning_trace": "So it was."}), APPROVED)
