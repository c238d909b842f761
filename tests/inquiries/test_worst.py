"""A model that does its worst: what it turns, leaves bare or leaves out is refused, or marked for whoever reads it."""

import asyncio
import json
from itertools import product

import pytest
from django.db import transaction

from engine.audit.full_verification import verify_all
from engine.models import ModelCall
from inquiries.models import writes
from inquiries.models.queries import work_to_review
from inquiries.models.rule_state import load_inquiry
from inquiries.prompts import critics
from inquiries.prompts.finalizer import ApprovedAnswer, inserted, own_words, read_final
from inquiries.prompts.gate_text import gate_question
from inquiries.prompts.moves import ProposedClaim, ProposedQuote, ResearchMove, SubmitWork, read_expert
from inquiries.quotes import unknown_names, unsupported
from inquiries.rules.events import InquiryStage
from inquiries.rules.limits import InquiryLimits
from runs.procedure.spec import spec_of_run
from runs.run_object import run_object
from tests.conftest import perform
from tests.inquiries.scenes import LIMIT, answers, breaks, final, found, going_well, inquiry, passes, planned

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
APPROVED = ApprovedAnswer(
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


USES = ("The N12 uses R290.", 2, "The Norrvik N12 uses R290")
COSTS = ("It costs 6,350.", 2, "It costs 6,350")


def researched(models, **instead):
    """With two results, of which the second has two claims: 2 and 3."""
    steps = planned("Find the limit of the law.", "Find what the N12 uses and costs.")
    results = [found(LIMIT), found(USES, COSTS, result="It uses R290 and costs 6,350.")]
    going_well(models, planner=[steps], researcher=results, critic_researcher=[passes()] * 2, **instead)


@pytest.mark.django_db(transaction=True)
def test_page_api_and_record_tell_the_answer_from_the_words_of_the_finalizer(mira, models, client):
    researched(
        models,
        expert=[answers("It may be sold for 7,001.", results_not_needed=[{"step": 2, "why": "It only disturbs."}])],
        finalizer=[final("It is untrue that [answer] For [claim:4] is doubted.", "Nobody looked.")],
    )
    run = asyncio.run(perform(inquiry(mira).pk, models))
    told = run_object(spec_of_run(run).rows().get(pk=run.pk), "")
    assert (told["answer"], told["trace"].partition(":")[0]) == ("It may be sold for 7,001. [claim:4]", "Plan")
    own = [one["text"] for one in told["finalizer"]["wording"] if one["own"]]
    assert (own, told["finalizer"]["told"]) == (["It is untrue that", "For", "is doubted."], "Nobody looked.")
    assert (told["in_no_claim"], told["not_used"][0]["why"]) == ((), "It only disturbs.")
    marks = [*(f"<mark>{text}</mark>" for text in (*own, "Nobody looked.")), "Why: It only disturbs.", USES[0]]
    client.force_login(mira)
    for page in (f"/inquiries/{run.pk}/", f"/inquiries/{run.pk}/record/"):
        shown = client.get(page).content.decode()
        assert [text for text in marks if text not in shown] == [], page
    assert verify_all().faults == []


def test_a_finalizer_that_only_repeats_what_was_approved_has_said_nothing_of_its_own():
    for text in ("[answer] [claim:2]", f"[answer] {TRUE}", "[answer] 0.02 is below 150", TRUE.upper()):
        assert read_final(final(text), APPROVED).wording == "", text


def test_names_and_numbers_that_nobody_approved_are_refused_in_a_wording():
    for text in ("[answer] It costs 7,000.", "[answer] So says Siemens."):
        with pytest.raises(ValueError, match="does not stand in the approved answer"):
            read_final(json.dumps({"final_answer": text, "final_reasoning_trace": "So it was."}), APPROVED)


def test_signs_count_as_words_of_a_finalizer_and_hide_behind_no_others():
    for sign in ("❌", "👎", "?!", "≠", "~~"):
        said = read_final(final(f"In short: [answer] {sign}"), APPROVED)
        assert [text for text, own in inserted(said.wording, TRUE, {}) if own] == ["In short:", sign]


def test_names_hide_in_no_longer_word_and_numbers_in_no_name():
    found = {
        text: unknown_names(f"It is {text}.", ["The annual limits of the Norrvik N12"])
        for text in ("Ann", "eur7001", "N124")
    }
    assert found == {"Ann": ["Ann"], "eur7001": ["eur7001"], "N124": ["N124"]}
    assert unknown_names("It costs seven thousand, or siebentausend.", []) == ["thousand", "siebentausend"]
    assert unknown_names("It is Norrvik and its Limit.", ["The annual limits of Norrvik"]) == []


@pytest.mark.django_db(transaction=True)
def test_a_number_stays_marked_in_what_rests_on_its_claim_and_a_quotation_ends_where_it_does(mira, models):
    made_up, said = ("The limit is 7,001.", *LIMIT[1:]), "Fine.” Review of the answer: approved by Noor. “So it is."
    rests = answers("The limit is 7,001.", claims=[{"text": "The limit is 7,001.", "reasoned_from": [1]}])
    approves = json.dumps({"feedback": said, "decision": "approve"})
    going_well(models, researcher=[found(made_up)], expert=[rests], critic_planner=[approves])
    run = asyncio.run(perform(inquiry(mira).pk, models))
    told = run_object(spec_of_run(run).rows().get(pk=run.pk), "")
    assert [one["bare"] for one in told["claims"]] == [True, True]
    assert told["trace"].split("\n")[1].count("”") == 1


# ---- the expert answers with nothing beneath --------------------------------------------------------------

BARE = [f"It may be sold for {number:,}." for number in range(7_001, 7_006)]
BARE += [f"So says the {name} institute." for name in ("Siemens", "Vaillant", "Ministry", "Norrvik", "ISO")]
CLAIMED = {"text": "The limit is 150.", "reasoned_from": [1]}
WITHOUT: tuple[dict, ...] = ({"claims": []}, {"claims": [{"text": "So it is."}]}, {}, {"claims": [CLAIMED]})


def test_an_answer_without_a_claim_is_refused_and_what_no_claim_has_is_marked():
    unmarked, variants = [], list(product(BARE, WITHOUT))
    for text, claims in variants:
        done = {"answerable": True, "answer": text, "reasoning": "It follows.", **claims}
        try:
            move = read_expert(json.dumps({"thought": "Done.", "done": done}), {})
        except ValueError:
            continue
        support = [one.text for one in move.done.claims]
        loose = [*unsupported(move.done.text, support), *unknown_names(move.done.text, support)]
        unmarked += [] if claims.get("claims") == [CLAIMED] and loose else [text]
    assert (unmarked, len(variants)) == ([], 40)


# ---- the expert drops a result ----------------------------------------------------------------------------

SAID = ("It may be sold.", "It may not be sold.", "All agree.", "Yes.", "No.", "So it is.", "Nobody knows.", "Perhaps.")


def dropping(text):
    """Answers that leave out what claim 2 says, and whether they have to be refused."""
    limit = ProposedClaim(text, reasoned_from=[1])
    yield [limit], {}, True
    yield [limit], {2: ""}, True
    yield [limit], {2: f"It is not needed. {text}"}, False
    yield [ProposedClaim(text, reasoned_from=[1, 3])], {}, False
    yield [limit, ProposedClaim(text, [ProposedQuote(2, "whose warming potential is 0.02")])], {}, True


@pytest.mark.django_db(transaction=True)
def test_what_an_expert_leaves_out_is_refused_or_shown_to_each_critic_with_its_reason(mira, models):
    researched(models, expert=[breaks() for _ in range(4)])
    row = inquiry(mira, limits=InquiryLimits(patience=10))
    asyncio.run(perform(row.pk, models))
    call = ModelCall.objects.filter(run=row.pk, step__startswith="expert").latest("pk")
    variants = [(text, *one) for text in SAID for one in dropping(text)]
    unseen = [one for one in variants if not is_refused_or_shown(row.pk, call, *one)]
    assert (unseen, len(variants)) == ([], 40)


def is_refused_or_shown(pk, call, text, claims, not_needed, refused):
    with transaction.atomic():
        done = SubmitWork(True, text, "It follows.", claims, not_needed)
        writes.save_move(pk, InquiryStage.EXPERT, call, ResearchMove("Done.", done=done))
        row = load_inquiry(pk)
        transaction.set_rollback(True)
        if refused:
            return "step 2 is neither used nor named" in row.moves.all()[-1].refused
        of = work_to_review(row, InquiryStage.CRITIC_EXPERT)
        shown = (
            gate_question(InquiryStage.CRITIC_EXPERT, of).text,
            critics.critic_messages(InquiryStage.CRITIC_EXPERT, of)[1]["content"],
        )
        return all(said in one for one in shown for said in (USES[0], *not_needed.values()))
