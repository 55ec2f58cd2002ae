"""The library's messages in the words of the command line."""

from __future__ import annotations

import re

from thresher.cli.names import flag

# Parameters that messages begin with, as in "syncs must be", and their options.
_PARAMETERS = {
    **{name: flag(name) for name in (
        "format", "on_bad_line", "delimiter", "ngrams", "analyzer", "hash", "threads", "every", "syncs", "workers",
    )},
    "n_shards": "--shards",
}  # fmt: skip
_PHRASES = {
    " or None. Got": ". Got",  # an option that is not given is None
    ", such as ',' or '\\t'. Got": ", or tab. Got",
    "a range of lengths from 1 to 1,000, such as 2, (1, 3) or '1-3'. Got": "a range from 1 to 1,000, as 2 or 1-3. Got",
}
_FIRST = re.compile(rf"^({'|'.join(_PARAMETERS)})(?= must be )")


def in_words(message: str) -> str:
    """Return a message with options for the parameters that it names."""
    changed = _FIRST.sub(lambda found: _PARAMETERS[found[1]], message)
    if changed != message:
        for phrase, ours in _PHRASES.items():
            changed = changed.replace(phrase, ours)
    return changed
