"""What agents of missions are told, and how their answers are read."""

VERSION = "4"  # a new one for whatever changes in what is said here
