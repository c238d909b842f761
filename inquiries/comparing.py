"""Two inquiries side by side: what each answered, which claims hold it, and which sources were read."""

from collections.abc import Iterator

from runs.compared import Compared, Differs, Pair, Pairs, Side, paired

from .display import Display


def compared(a: Display, b: Display) -> Compared:
    sources = paired(_sources(a), _sources(b))
    alone = [pair for pair in sources if not (pair.a and pair.b)]
    answers = [Pair("Answer", _answer(a), _answer(b))]
    return Compared(
        differs=list(_differs(a, b, len(alone))),
        same=[
            *([] if alone or not sources else ["sources"]),
            *([] if answers[0].differs else ["answer"]),
            *([] if a.retries != b.retries else ["number of times it was sent back"]),
        ],
        pairs=[Pairs("What was answered", answers), *([Pairs("Sources", sources)] if sources else [])],
    )


def _answer(display: Display) -> Side:
    claims = len(display.claims)
    figure = f"{claims} claim{'' if claims == 1 else 's'}, sent back {display.retries} of {display.retry_limit}"
    return Side(display.word, display.state, figure, "\n\n".join(display.answer))


def _sources(display: Display) -> Iterator[tuple[str, Side]]:
    for source in display.sources:
        yield source.title, Side("Quoted" if source.quoted else "Read", "approve" if source.quoted else "wait")


def _differs(a: Display, b: Display, alone: int) -> Iterator[Differs]:
    if a.answer != b.answer:
        yield Differs("quest", "The answer.", f"Claims that hold it: {len(a.claims)} in A, {len(b.claims)} in B.")
    if alone:
        yield Differs(
            "search", "The sources.", f"{alone} of them {'was' if alone == 1 else 'were'} read in one of the two alone."
        )
    if a.retries != b.retries:
        yield Differs("retry", "The critics.", f"How often they sent work back: {a.retries} in A, {b.retries} in B.")
