"""Words about what stands in a TOML file: what a value is, what was probably meant, what is wrong with a URL."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import urlsplit

_TOML_WORDS = ((bool, "true or false"), (str, "text"), (int | float, "a number"), (list, "a list"), (dict, "a table"))


def toml_word(value: object) -> str:
    """What a value is, in the words of someone who writes TOML."""
    return next((word for kind, word in _TOML_WORDS if isinstance(value, kind)), "a date or time")


def url_problem(text: str, schemes: Iterable[str] = ("http", "https")) -> str:
    """What is wrong with a URL, if anything is. It is not repeated: addresses of chat rooms are secrets."""
    try:
        parts = urlsplit(text)
        host, _ = parts.hostname, parts.port
    except ValueError as problem:
        return f"is not a URL ({str(problem).rstrip('.')})"
    if parts.scheme not in schemes:
        return f"does not begin with {' or '.join(f'{each}://' for each in schemes)}"
    if not host or any(not letter.isprintable() or letter == " " for letter in text):
        return "is not a URL"
    return ""


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word that was probably meant."""
    from difflib import get_close_matches  # only a wrong file pays for it

    folded = {each.lower(): each for each in known}
    found = get_close_matches(word.lower(), folded, n=1, cutoff=0.6)
    return folded[found[0]] if found else None


def meant(word: str, known: Iterable[str]) -> str:
    """A suggestion: the nearest word, or all of them where none is near."""
    words = list(dict.fromkeys(each for each in known if each))
    found = nearest(word, words)
    return f"did you mean {found!r}?" if found else f"known are {', '.join(words)}"
