"""Rules of a debate: who has the floor, when time is up, what a member may say, and the outcome. They use no
database and no framework; tools/verify.py states draw and outcome a second time."""
