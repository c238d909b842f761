"""How long texts are kept: the numbers and the words. True on paper."""

HALF_YEAR = 183
LONGEST = 36_500
OBLIGATION = (
    "Laws may ask you to keep logs longer: the EU AI Act, for one, asks those who use high-risk systems to keep theirs "
    "for at least six months."
)


def is_short(days: int) -> bool:
    """Shorter than six months; 0 is for ever."""
    return 0 < days < HALF_YEAR


def in_words(days: int) -> str:
    """As in "Texts are kept ..."."""
    if not days:
        return "for ever"
    return f"for {_days(days)}{', shorter than six months' if is_short(days) else ''}"


def reason(days: int, whose: str) -> str:
    """Why texts were erased whose time was over; `whose` word it was that they are kept so long."""
    return f"Kept for {_days(days)}, as {whose} says."


def _days(days: int) -> str:
    return "1 day" if days == 1 else f"{days:,} days"
