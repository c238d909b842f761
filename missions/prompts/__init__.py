"""What agents of missions are told, and how their answers are read."""

PROMPT_VERSION = "4"  # a new one for whatever changes in what is said here
