"""What models are told in a plan, and how their answers are read. It knows no framework."""

VERSION = "6"  # a new one for whatever changes in what is said here
