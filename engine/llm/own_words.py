"""Whether a text is a model's own, or says only what stands in the instructions of its request.

Small models give back the words by which they were told what to write, and an answer in the right form is not noticed
by its form. Material is no instruction, nor is what users have written into a prompt: to cite them is right.

Why so: docs/decisions.md, What models are told and asked.
"""

import re
import string
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

K = TypeVar("K", int, tuple[int, str])

STRETCH = 5  # words in a row that stand in the instructions: fewer are found there by accident
MOST = 0.6  # of a text that may stand in such stretches
LONGEST_QUOTED = 80
FEWEST = 2  # words that say what is to be done

# scripts without spaces, in which each sign counts as a word: Thai, Lao, Myanmar, Khmer, kana, bopomofo and Han
_ALONE = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u312f\u3400-\u4dbf\u4e00-\u9fff"
_WORD = re.compile(rf"[{_ALONE}]|[^\W_{_ALONE}]+")
_SENTENCE = re.compile(r"[^.!?:;\n<>]+")  # tags are around sentences, too
# what others wrote, between two lines with one mark: "BEGIN MATERIAL x" or "WHO x", and their "END …"
_FENCED = re.compile(r"^(?:BEGIN )?([A-Z][A-Z ]*) (\S+)\n.*?\nEND \1 \2$", re.MULTILINE | re.DOTALL)
# how an answer has to look: the line that asks for it, and those behind that name its keys
_FORM = re.compile(r'exactly one JSON object.*(?:\n+(?!#).*"[a-z_]+".*)*')
_HANGING = {*"a an the of to and or that which whether if your its two three".split()}  # no answer ends in one of these
_BRACKETS = re.compile(r"\s*(<+ANY>+|\[+ANY\]+|\{+ANY\}+)[\s.…]*".replace("ANY", r"[^\W\d][\w .…'-]{0,80}"))
_LONE = re.compile(
    r"string|text|reason|your \w+|(your|insert|write|put|enter|add)( \w+){1,3} here|lorem ipsum.*"
    r"|((a|an|the|my|some|example|sample) )?(reason|reasoning|explanation)( (text|here|goes here|for \w+ decision))?"
    r"|(a|some|example|sample|insert) text"
)
_QUOTED = re.compile("“[^“”]*”")
_MARKS = "\"'`“”„‟‘’‚‛«»‹›「」『』"  # of quotes
_UNQUOTED = str.maketrans("", "", "“”")  # each complaint has one pair, so that its end is found
_REPEATS = "The answer only repeats its instructions"
_OWN = "Write in words of your own, about what is in the material."


def words(text: str) -> list[str]:
    return [word.casefold() for word in _WORD.findall(text)]


def says_nothing(text: str, names: Iterable[str]) -> bool:
    """Whether what somebody has to do is put in one word, or is only one of these names."""
    said = words(text)
    return len(said) < FEWEST or said in map(words, names)


def instructions_of(messages: Iterable[Mapping[str, str]], but: Iterable[str] = ()) -> str:
    """What a conversation itself tells the model, complaints included: all that stands outside of fences, but for the
    model's own answers, what a complaint quotes of them, and the texts of `but`: what users have written, or what a
    model may say in just these words."""
    told = "\n\n".join(_told(one) for one in messages if one["role"] != "assistant")
    for text in filter(str.strip, but):
        told = told.replace(text, "\n")
    return told


def but_for(texts: Iterable[str], allowed: Iterable[str]) -> list[str]:
    """Those texts that are none of these, which are what there is to say although instructions say them, too."""
    known = [words(one) for one in allowed]
    return [text for text in texts if words(text) not in known]


def _told(message: Mapping[str, str]) -> str:
    text, quoted = _FENCED.sub("\n", message["content"]), int(message["role"] != "system")
    while quoted:
        text, quoted = _QUOTED.subn(" ", text)
    return text


def repeats_instructions(text: str, instructions: str) -> str | None:
    """The passage of a text that stands in the instructions, where that is the text or most of it.

    Case, marks, blanks and what nobody sees make no difference. Of less than four words, those count that are a whole
    sentence there, that stand where the form of the answer is told, or that break off in the midst of a sentence; one
    word never does: a number or a name may stand there by chance.
    """
    folded, told = _folded(text), _folded(instructions)
    said, known = words(folded), words(told)
    length = STRETCH - (len(said) < STRETCH)  # a text of four words that all stand there in a row, too
    covered, stretches = [False] * len(said), set(_stretches(known, length))
    for begin, stretch in enumerate(_stretches(said, length)):
        if stretch in stretches:
            covered[begin : begin + length] = [True] * length
    sentences = {tuple(words(one)) for one in _SENTENCE.findall(told)}
    form = [words(line) for found in _FORM.findall(told) for line in found.splitlines()]
    for begin, end in _sentences(folded):
        if 1 < end - begin < STRETCH:
            few = tuple(said[begin:end])
            hangs = few[-1] in _HANGING and few in _stretches(known, len(few))
            if few in sentences or hangs or any(few in _stretches(line, len(few)) for line in form):
                covered[begin:end] = [True] * (end - begin)
    if not said or sum(covered) <= MOST * len(said):
        return None
    begin, end = max(_covered(covered), key=lambda stretch: stretch[1] - stretch[0])
    places = [found.span() for found in _WORD.finditer(folded)]
    return folded[places[begin][0] : places[end - 1][1]]


def repeated(texts: Mapping[K, str]) -> dict[K, K]:
    """Of texts by their places, in the order of these: which say word for word what one before them said, and which
    that was first. Such a text is an answer like any other, but whoever reads it should know."""
    first: dict[tuple[str, ...], K] = {}
    found = {}
    for place in sorted(texts):
        said = tuple(words(texts[place]))
        if said and first.setdefault(said, place) != place:
            found[place] = first[said]
    return found


def is_placeholder(text: str) -> bool:
    """Whether a text stands where another was to be put: dots, a lone word of a template, one pair of brackets; with
    whatever quotes around it."""
    folded = _folded(text).strip(_MARKS + string.whitespace)
    lone = " ".join(words(folded))
    return bool(folded.strip(". …") == "" or _BRACKETS.fullmatch(folded) or _LONE.fullmatch(lone))


def not_own(texts: Iterable[str], instructions: str) -> str:
    """A sentence for the model where one of its texts is none of its own; empty where all are. Empty texts say
    nothing, and their form has to refuse them."""
    for text in filter(str.strip, texts):
        if is_placeholder(text):
            return f"The answer says “{_short(text)}”, which is a placeholder. Write out in its place what is meant."
        if passage := repeats_instructions(text, instructions):
            return _complaint(passage, instructions)
    return ""


def _complaint(passage: str, instructions: str) -> str:
    """What was quoted to a model once and came back is not quoted again: small models wrap what they are shown in one
    more pair of quotes each time."""
    if _REPEATS in instructions:
        return f"{_REPEATS} again. {_OWN}"
    return f"{_REPEATS}: “{_short(passage.translate(_UNQUOTED))}”. {_OWN}"


def _folded(text: str) -> str:
    if text.isascii():
        return text
    return "".join(char for char in unicodedata.normalize("NFKC", text) if unicodedata.category(char) != "Cf")


def _stretches(some: Sequence[str], length: int) -> Iterator[tuple[str, ...]]:
    return (tuple(some[begin : begin + length]) for begin in range(len(some) - length + 1))


def _sentences(text: str) -> Iterator[tuple[int, int]]:
    """The places of their words."""
    begin = 0
    for one in _SENTENCE.findall(text):
        end = begin + len(words(one))
        yield begin, end
        begin = end


def _covered(covered: Sequence[bool]) -> Iterator[tuple[int, int]]:
    begin = 0
    for place, one in enumerate([*covered, False]):
        if not one:
            if place > begin:
                yield begin, place
            begin = place + 1


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= LONGEST_QUOTED else f"{flat[:LONGEST_QUOTED]}…"
