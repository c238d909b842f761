"""The rules of a debate, as they are on paper: who has the floor, when time is up, what a member may say, what its
verdicts come to. They know no database and no framework; tools/verify.py states draw and outcome a second time."""
