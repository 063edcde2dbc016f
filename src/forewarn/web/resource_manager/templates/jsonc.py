"""Templates as people write them, and as ``az deployment`` sends them: JSON with comments, bare keys and loose ends."""

from __future__ import annotations

import re

# Nothing here may try the same letters in two ways: a ruler of slashes in a comment would else take for ever. For the
# same reason a text or comment that is never closed is one piece: else each quote in it would be tried as a beginning.
_PIECE = re.compile(
    r'(?P<text>"(?:[^"\\]|\\.)*+(?:"|\\?\Z))|(?P<open>/\*(?:[^*]|\*(?!/))*+\Z)'
    r"|(?P<comment>//[^\r\n]*|/\*(?:[^*]|\*(?!/))*+\*/)|(?P<key>(?<!\w)[A-Za-z_]\w*+)(?=\s*+:)"
    r"|(?P<comma>,)(?=(?:\s|//[^\r\n]*+|/\*(?:[^*]|\*(?!/))*+\*/)*+[}\]])",
    re.DOTALL,
)
_RAW = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def to_json(text: str) -> str:
    """The text as strict JSON. Other errors than comments, bare keys and trailing commas are left for the parser."""
    return _PIECE.sub(_plain, text)


def _plain(match: re.Match[str]) -> str:
    if match["text"]:
        return "".join(_RAW.get(letter, letter) for letter in match["text"])
    if match["open"]:
        return match["open"]
    return f'"{match["key"]}"' if match["key"] else ""
