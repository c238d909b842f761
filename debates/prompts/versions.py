"""The versions of what is said here: a new one for whatever changes in it, also in a complaint."""

VERSION = "3"
KNOWN = ("1", "2", VERSION)  # in the first nothing was ever shortened
SPEAKERS_ALONE = ("1", "2")  # whose notes said of verdicts what is so of those who could still speak
