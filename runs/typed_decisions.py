"""A line that was typed on a terminal at a gate, read as one of the gate's options or as none of them."""

from collections.abc import Sequence
from dataclasses import dataclass

from engine.models.gates import DecisionValue

from .approvals.pending import DecisionOption

SYNONYMS = {DecisionValue.APPROVE: "allow", DecisionValue.REJECT: "refuse"}


class UnreadableDecision(Exception):
    """The line names no option, or more than one. The text is a sentence for people."""


@dataclass(frozen=True)
class Typed:
    option: DecisionOption
    text: str


def listed(options: Sequence[DecisionOption]) -> list[str]:
    """The options in a line each, with the numbers by which `read` takes them."""
    return [f"    {number}. {_shown(one)}" for number, one in enumerate(options, 1)]


def _shown(option: DecisionOption) -> str:
    word = _word(option)
    return f"{word}: {option.sentence}" if word and option.decision != DecisionValue.ANSWER else option.sentence


def _word(option: DecisionOption) -> str:
    return option.word or SYNONYMS.get(DecisionValue(option.decision), "")


def read(line: str, options: Sequence[DecisionOption], needs_words: Sequence[str] = ()) -> Typed:
    """The option whose number, word or sentence the whole line is, or what stands before a colon; then words of one's
    own follow. After a refusal they may follow a space. NotRead for any other line: no option is usual.

    `needs_words`: the words of those that say nothing by themselves.
    """
    head, _, text = line.partition(":")
    if found := _named(line, options):
        typed = Typed(_only(found, line), "")
    elif found := _named(head, options):
        typed = Typed(_only(found, head), text.strip())
    else:
        typed = _refusal(line, options)
    if typed.option.word in needs_words and not typed.text:
        raise UnreadableDecision(f"Write the words after a colon, as in “{options.index(typed.option) + 1}: my words”.")
    return typed


def _refusal(line: str, options: Sequence[DecisionOption]) -> Typed:
    head, _, text = line.strip().partition(" ")
    refusals = [one for one in _named(head, options) if one.decision == DecisionValue.REJECT]
    if not refusals:
        raise UnreadableDecision("Write a number or a word of these.")
    return Typed(_only(refusals, head), text.strip())


def _named(said: str, options: Sequence[DecisionOption]) -> list[DecisionOption]:
    """Those that this names; by `#2` the second one alone."""
    said = said.strip().casefold()
    names = ({f"#{number}", str(number), *_names(one)} for number, one in enumerate(options, 1))
    return [one for one, known in zip(options, names, strict=True) if said in known]


def _names(option: DecisionOption) -> set[str]:
    words = {option.word, option.sentence, _word(option), "" if option.word else option.decision}
    return {word.strip().casefold() for word in words if word}


def _only(found: Sequence[DecisionOption], said: str) -> DecisionOption:
    if len(found) > 1:
        raise UnreadableDecision(
            f"“{said.strip()}” names {len(found)} of these. Write its number with a sign before it, as in “#1”."
        )
    return found[0]
