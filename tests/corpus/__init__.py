"""What somebody with the whole database could do to the record: every case stands in `CASES`."""

from tests.corpus import beside, chains, doors, rewritten, rows
from tests.corpus.means import CASES, INSIDE

__all__ = ["CASES", "INSIDE", "beside", "chains", "doors", "rewritten", "rows"]
