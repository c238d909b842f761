"""Ready-made councils: three to start with, three that review the work of inquiries, one for what leaves a mission."""

from engine.ledger.hashing import EntryDraft, format_timestamp
from engine.migrations._sealing import seal

CHAIN = "6d616769-0000-4000-8000-636f756e6373"
FIRST_COUNCILS = {
    "Magi": [
        (
            "Melchior",
            "Approve only if the facts that this rests on are stated and can be checked, and its main risk is named. "
            "Reject what rests on a guess that matters.",
        ),
        (
            "Balthasar",
            "Approve if nobody who has not agreed can come to serious harm. Reject when others could be harmed and "
            "nothing is said about it.",
        ),
        (
            "Casper",
            "Approve if the aim is clear and the effort fits it. Reject what cannot be undone, unless it says why it "
            "must be done now.",
        ),
    ],
    "Release gate": [
        (
            "Reliability engineer",
            "Approve only if the change can be undone within 15 minutes and somebody who knows it is on call for the "
            "next 24 hours. Reject when either is not stated.",
        ),
        (
            "Security reviewer",
            "Approve only if no secret, permission or customer data leaves its present boundary and every new "
            "dependency has been reviewed.",
        ),
        (
            "Customer advocate",
            "Reject anything that may show a customer a wrong amount, unless the proposal says how customers will be "
            "told and how it is corrected within one working day.",
        ),
    ],
    "Travel and spend": [
        (
            "Budget holder",
            "Approve if the purpose is named, the cost or a credible estimate of it is stated, and it is in proportion "
            "to the purpose. Reject open-ended spending.",
        ),
        (
            "Duty of care",
            "Approve if nothing speaks against the safety and health of those who travel, at the place and at the time "
            "named. Reject when the place or the time is not stated.",
        ),
        (
            "Climate lead",
            "Reject a flight where a train takes less than six hours or a call would do. Otherwise approve.",
        ),
    ],
}
REVIEW_COUNCILS = {
    "Plan review": [
        (
            "Complete",
            "Approve if the steps, when each of them succeeds, answer the whole question. Reject when a part of the "
            "question is in no step, and name that part.",
        ),
        (
            "Clear",
            "Approve if somebody who sees one step alone knows what to look for and when it is found. Reject a step "
            "that cannot be acted on by itself, and name it.",
        ),
        (
            "Sufficient",
            "Approve if no step is missing that the last one needs, and none could be left out. Reject otherwise, and "
            "name the step that is missing or needless.",
        ),
    ],
    "Research review": [
        (
            "Relevant",
            "Approve if the result says what its step asks for. Reject what belongs to another question, and say what "
            "was asked.",
        ),
        (
            "Accurate",
            "Approve if the quotes carry every claim, in what they say and in their numbers. Reject a claim that says "
            "more than its quotes, and name it. Where nothing is claimed, approve.",
        ),
        (
            "Complete",
            "Approve if nothing is missing that the step asks for, or if it is said where it was looked for in vain. "
            "Reject when a quote that is shown contradicts the result and the result does not say so.",
        ),
    ],
    "Answer review": [
        (
            "To the question",
            "Approve if it answers the very question that was asked, or says why it cannot be answered. Reject an "
            "answer to another question.",
        ),
        (
            "Reasoned",
            "Approve if the answer follows from the claims that it rests on, step by step. Reject a leap, and name it.",
        ),
        (
            "Nothing left out",
            "Approve if nothing of weight is left out that is among the claims, nor anything that speaks against the "
            "answer. Reject otherwise, and name what is left out.",
        ),
    ],
}
LEAVING_REVIEW = "Leaving review"
MEMBERS = [
    (
        "Asked for",
        "Approve if the goal needs exactly this, and no more leaves than it needs. Reject what the goal does not ask "
        "for, and name it.",
    ),
    (
        "Harmless",
        "Approve if nothing in it can do harm where it goes: to people, to machines, to what others rely on. Reject what "
        "destroys, weakens a check or hides something, and name it.",
    ),
    (
        "Nothing secret",
        "Approve if no key, no password and nothing about a person leaves with it, and the place that it goes to is the "
        "one that its purpose names. Reject otherwise, and name what is too much.",
    ),
]


def create_councils(apps, schema_editor):
    councils = FIRST_COUNCILS | REVIEW_COUNCILS
    seal(apps, CHAIN, [draft_of(found(apps, name, members)) for name, members in councils.items()])
    seal(apps, CHAIN, [draft_of(found(apps, LEAVING_REVIEW, MEMBERS))])


def found(apps, name, members):
    Council, Version, Member, Change = (
        apps.get_model("judgements", model) for model in ("Council", "CouncilVersion", "CouncilMember", "CouncilChange")
    )
    council = Council.objects.create(name=name)
    version = Version.objects.create(council=council, number=1, name=name)
    for seat, (member, criteria) in zip("ABC", members):
        Member.objects.create(version=version, seat=seat, name=member, criteria=criteria)
    Council.objects.filter(pk=council.pk).update(current=version)
    state = {"archived": False, "locked": False, "retention_days": council.retention_days}
    return Change.objects.create(council=council, kind="founded", version=version, name=name, **state)


def draft_of(change):
    facts = {"id": change.council_id, "change": change.kind, "by": "", "owner": None, "owner_name": ""}
    facts |= {name: getattr(change, name) for name in ("name", "archived", "locked", "retention_days")}
    names = ("seat", "name", "model", "criteria", "fallback")
    agents = [{name: getattr(one, name) for name in names} for one in change.version.members.order_by("seat")]
    return EntryDraft("council", format_timestamp(change.made) or "", {**facts, "version": 1, "agents": agents})
