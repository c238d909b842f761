"""Three examples to try: question, options and members."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class DebateExample:
    """`key` is the name in URLs, `title` the name on pages. `options`: word, direction and meaning; `members`: name
    and description."""

    key: str
    title: str
    question: str
    options: Sequence[tuple[str, str, str]]
    members: Sequence[tuple[str, str]]
    rule: str = "majority"

    def form_values(self, model: str) -> dict[str, Any]:
        """Return the initial values of a new debate's form, with this model for every member."""
        options: list[Mapping[str, str]] = [
            {"word": word, "direction": direction, "meaning": meaning} for word, direction, meaning in self.options
        ]
        members = [{"name": name, "who": who, "model": model} for name, who in self.members]
        return {"question": self.question, "options": options, "members": members, "rule": self.rule}


EXAMPLES = (
    DebateExample(
        "sundays",
        "A library on Sundays",
        "Should the city library open on Sundays from one to six, for a year to begin with? Two thirds of those asked "
        "want it. It takes four more people at the desk, and the budget has room for two.",
        (
            ("OPEN", "for", "Open all year, for the children and for whom nobody asks."),
            ("OPEN IN WINTER", "between", "Open from November to March, and see what else would change in the city."),
            ("STAY CLOSED", "against", "Keep the hours, the work and the costs of the books as they are."),
        ),
        (
            ("Ada Lund", "Runs the library. Asks who would do the work, and what they would give up for it. Calm."),
            ("Ben Ortega", "Keeps the city's books. Asks what it costs in the third year. Dry, exact, never rude."),
            ("Cleo Park", "Reads there every week with her children. Speaks for those whom nobody asks. Warm, quick."),
            ("Dev Rao", "Plans the city. Asks what else would change if it were open. Thinks aloud, likes examples."),
        ),
    ),
    DebateExample(
        "rewrite",
        "Rewrite or repair",
        "Our billing program is twelve years old. Each change takes three weeks and breaks something. Shall we write "
        "it anew within a year, take it apart piece by piece beside daily work, or leave it until the new tax law?",
        (
            ("PIECE BY PIECE", "for", "Replace one part after the other while it runs."),
            ("WRITE ANEW", "between", "Stop new features for a year and write it again."),
            ("LEAVE IT", "against", "Change only what the tax law asks for."),
        ),
        (
            ("Ines Varga", "The architect. Sees seams where others see a wall. Draws before she speaks. Impatient."),
            ("Olu Bello", "Runs it at night. Knows each failure by its date. Distrusts what has no way back."),
            ("Nora Kiss", "Came last month. Asks what everybody has stopped seeing. Polite, and does not let go."),
            ("Jörg Lind", "Answers for what customers pay. Wants to know what they would notice. Short sentences."),
        ),
        "plurality",
    ),
    DebateExample(
        "grant",
        "One grant, three years",
        "A foundation offers 900,000 for three years of work on river deltas. It wants a say in what is published. "
        "Half of the group's posts end in autumn. Shall we sign as it stands, sign with changes, or decline?",
        (
            ("SIGN", "for", "Sign it as it stands."),
            ("SIGN WITH CHANGES", "between", "Sign once the clause on publishing is struck or bounded in time."),
            ("DECLINE", "against", "Thank them, and do not sign."),
        ),
        (
            ("Mei Tan", "Leads the group. Thinks of the people whose posts end. Careful, keeps her promises."),
            (
                "Rafael Cruz",
                "Knows the law of contracts. Reads the clause aloud. Says what it allows, not what it means.",
            ),
            ("Hana Kubo", "Publishes. Has withdrawn a paper once and would not again. Direct, with a long memory."),
            ("Tomás Ferro", "Answers for the institute's money. Asks what happens in the fourth year. Sceptical."),
            ("Amara Osei", "Refereed for this foundation. Tells what they did before. Weighs each word."),
        ),
    ),
)


def example_by_key(key: str) -> DebateExample | None:
    return next((example for example in EXAMPLES if example.key == key), None)
