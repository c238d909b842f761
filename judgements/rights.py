"""What may be done with a judgement beside what may be done with any run."""

from runs.rights import Right

RECEIVE = Right("judgements.issue_receipt", "get a receipt for it")
