"""Detection of answers that only repeat the instructions of their request.

Small models return the words that told them what to write, and such an answer has the right format. Material and
texts that users wrote into a prompt are no instructions: quoting them is right.

Why so: engine/DESIGN.md, What models are told and asked.
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
    """Whether a task is described in fewer than FEWEST words, or only by one of these names."""
    said = words(text)
    return len(said) < FEWEST or said in map(words, names)


def instructions_of(messages: Iterable[Mapping[str, str]], but: Iterable[str] = ()) -> str:
    """Return a conversation's own instructions, complaints included.

    Left out are fenced material, the model's answers, what complaints quote of them, and the texts of `but`: what
    users wrote, or what a model may say in these exact words.
    """
    told = "\n\n".join(_told(one) for one in messages if one["role"] != "assistant")
    for text in filter(str.strip, but):
        told = told.replace(text, "\n")
    return told


def but_for(texts: Iterable[str], allowed: Iterable[str]) -> list[str]:
    """Return the texts that are none of the allowed ones. Those are right answers although instructions contain
    them.
    """
    known = [words(one) for one in allowed]
    return [text for text in texts if words(text) not in known]


def _told(message: Mapping[str, str]) -> str:
    text, quoted = _FENCED.sub("\n", message["content"]), int(message["role"] != "system")
    while quoted:
        text, quoted = _QUOTED.subn(" ", text)
    return text


def repeats_instructions(text: str, instructions: str) -> str | None:
    """Return the passage of a text that is in the instructions, if it is most of the text; otherwise None.

    Case, punctuation, white space and invisible characters are ignored. A sentence of two to four words counts only
    if it is a whole sentence there, if it is in the description of the answer's format, or if it breaks off in the
    middle of a sentence there. One word never counts: it may be there by chance.
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
    """Return for each text that repeats an earlier one word for word the place of the first one.

    `texts` are by place, and places are compared in order. Such a text is valid, but readers should know.
    """
    first: dict[tuple[str, ...], K] = {}
    found = {}
    for place in sorted(texts):
        said = tuple(words(texts[place]))
        if said and first.setdefault(said, place) != place:
            found[place] = first[said]
    return found


def is_placeholder(text: str) -> bool:
    """Whether a text is a placeholder: dots, a lone word of a template, or one pair of brackets, with or without
    quotes.
    """
    folded = _folded(text).strip(_MARKS + string.whitespace)
    lone = " ".join(words(folded))
    return bool(folded.strip(". …") == "" or _BRACKETS.fullmatch(folded) or _LONE.fullmatch(lone))


def not_own(texts: Iterable[str], instructions: str) -> str:
    """Return a complaint for the model if one of the texts is a placeholder or repeats the instructions; otherwise an
    empty string.

    Empty texts are ignored: the answer's format must refuse them.
    """
    for text in filter(str.strip, texts):
        if is_placeholder(text):
            return f"The answer says “{_short(text)}”, which is a placeholder. Write out in its place what is meant."
        if passage := repeats_instructions(text, instructions):
            return _complaint(passage, instructions)
    return ""


def _complaint(passage: str, instructions: str) -> str:
    """Quote the passage, but only once: small models add another pair of quotes to what they are shown each time."""
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
    """Yield the start and end of each sentence, counted in words."""
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
