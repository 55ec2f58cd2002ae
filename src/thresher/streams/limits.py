"""How long a line of text, or a row of a CSV, may be: one that never ends must not take all of the memory."""

from __future__ import annotations

from thresher.messages import shown_size
from thresher.parameters import Whole

LONGEST_LINE = 1 << 28
# No less than the largest piece that is read at a time: so a line that is too long never lies within one.
LEAST_LONGEST_LINE, MOST_LONGEST_LINE = 1 << 22, 1 << 40
ALLOWED = Whole(LEAST_LONGEST_LINE, MOST_LONGEST_LINE)


def too_long(what: str, longest: int, hint: str = "") -> str:
    """Return what is wrong with a line or row that is longer than allowed, and what to do."""
    return f"the {what} is longer than {shown_size(longest)}: {hint}if it is a row, raise the limit with longest_line="
