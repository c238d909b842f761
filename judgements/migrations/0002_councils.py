"""The ready-made councils: three trios to start from. Their members take the installation's default model."""

from django.db import migrations

COUNCILS = {
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


def add(apps, schema_editor):
    Council = apps.get_model("judgements", "Council")
    Member = apps.get_model("judgements", "Member")
    for name, members in COUNCILS.items():
        council = Council.objects.create(name=name)
        for seat, (member, criteria) in zip("ABC", members):
            Member.objects.create(council=council, seat=seat, name=member, criteria=criteria)


class Migration(migrations.Migration):
    dependencies = [("judgements", "0001_initial")]
    operations = [migrations.RunPython(add, migrations.RunPython.noop)]
