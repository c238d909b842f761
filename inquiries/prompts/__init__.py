"""What those who work on an inquiry are told, and how their answers are read."""

PROMPT_VERSION = "5"  # a new one for whatever changes in what is said here
