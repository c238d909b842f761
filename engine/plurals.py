"""Numbers in sentences."""


def counted(number: int, noun: str, nouns: str = "") -> str:
    """As in "1 model" and "1,200 models"."""
    return f"{number:,} {noun if number == 1 else nouns or f'{noun}s'}"


def ordinal(number: int) -> str:
    """As in "3rd"."""
    ends = {1: "st", 2: "nd", 3: "rd"}
    return f"{number:,}{'th' if 11 <= number % 100 <= 13 else ends.get(number % 10, 'th')}"
