"""Comparison of two inquiries: answers, claims and sources."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from runs.procedure.comparison_parts import (
    ComparedPair,
    ComparedPairs,
    ComparedRun,
    ComparisonResult,
    Difference,
    pair_texts,
)

from .display import InquiryDisplay, SourceView


def compare_inquiries(a: InquiryDisplay, b: InquiryDisplay, erased: bool) -> ComparisonResult:
    answer = ComparedPair("Answer", _answer(a), _answer(b), erased=erased)
    sources = [] if erased else _sources(a, b)
    differences = _counted(a, b) if erased else _differs(a, b, sources)
    return ComparisonResult(
        differs=[*differences, *_rejection_difference(a, b)],
        same=[*(_same_counts(a, b) if erased else _same(a, b, sources)), *_same_rejections(a, b)],
        pairs=[ComparedPairs("What was answered", [answer]), *([ComparedPairs("Sources", sources)] if sources else [])],
    )


def _answer(display: InquiryDisplay) -> ComparedRun:
    claims = len(display.claims)
    figure = f"{claims} claim{'' if claims == 1 else 's'}, {display.retries} of {display.retry_limit}"
    return ComparedRun(display.word, display.state, figure, "\n\n".join(display.answer))


# ---- sources ----------------------------------------------------------------------------------------------


def _sources(a: InquiryDisplay, b: InquiryDisplay) -> list[ComparedPair]:
    """Pair sources by address, file or digest: titles are not unique."""
    titles = {_place(one): one.title for one in (*b.sources, *a.sources)}
    return [replace(pair, name=titles[pair.name]) for pair in pair_texts(_read(a.sources), _read(b.sources))]


def _place(source: SourceView) -> str:
    return source.address or source.file or source.digest


def _read(sources: Sequence[SourceView]) -> Iterator[tuple[str, ComparedRun]]:
    quoted = {_place(one) for one in sources if one.quoted}
    for one in sources:
        word, state = ("Quoted", "approve") if _place(one) in quoted else ("Read", "wait")
        yield _place(one), ComparedRun(word, state, digest=one.digest)


def _changed(sources: Sequence[ComparedPair]) -> int:
    return sum(bool(pair.a and pair.b and pair.a.digest != pair.b.digest) for pair in sources)


def _alone(sources: Sequence[ComparedPair]) -> int:
    return sum(not (pair.a and pair.b) for pair in sources)


# ---- sentences --------------------------------------------------------------------------------------------


def _differs(a: InquiryDisplay, b: InquiryDisplay, sources: Sequence[ComparedPair]) -> Iterator[Difference]:
    if a.answer != b.answer:
        yield Difference("quest", "The answer.", f"Claims that hold it: {len(a.claims)} in A, {len(b.claims)} in B.")
    if text := " ".join(_of_sources(_alone(sources), _changed(sources))):
        yield Difference("search", "The sources.", text)


def _of_sources(alone: int, changed: int) -> Iterator[str]:
    if alone:
        yield f"{alone} of them {'was' if alone == 1 else 'were'} read in one of the two alone."
    if changed:
        yield f"{changed} of them had another text in B."


def _same(a: InquiryDisplay, b: InquiryDisplay, sources: Sequence[ComparedPair]) -> Iterator[str]:
    if sources and not _alone(sources) and not _changed(sources):
        yield "sources"
    if a.answer and a.answer == b.answer:
        yield "answer"


def _counted(a: InquiryDisplay, b: InquiryDisplay) -> Iterator[Difference]:
    """Compare by counts alone, since texts were erased."""
    if len(a.claims) != len(b.claims):
        yield Difference("quest", "The claims.", f"{len(a.claims)} in A, {len(b.claims)} in B.")
    if len(a.sources) != len(b.sources):
        yield Difference("search", "The sources.", f"{len(a.sources)} in A, {len(b.sources)} in B.")


def _same_counts(a: InquiryDisplay, b: InquiryDisplay) -> Iterator[str]:
    yield from ["number of claims"] if len(a.claims) == len(b.claims) else []
    yield from ["number of sources"] if len(a.sources) == len(b.sources) else []


def _rejection_difference(a: InquiryDisplay, b: InquiryDisplay) -> Iterator[Difference]:
    if a.retries != b.retries:
        yield Difference("retry", "The critics.", f"Retries: {a.retries} in A, {b.retries} in B.")


def _same_rejections(a: InquiryDisplay, b: InquiryDisplay) -> Iterator[str]:
    yield from ["number of retries"] if a.retries == b.retries else []
