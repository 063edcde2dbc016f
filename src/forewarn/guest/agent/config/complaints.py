"""What is wrong with an ``agent.toml``: each complaint with its line and, where there is one, the way out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass

from forewarn.guest.agent.config.toml_lines import LineNumbers, Place


@dataclass(frozen=True, slots=True)
class Complaint:
    """One thing that is wrong, or that will probably not do what its author wanted (a warning)."""

    path: str
    line: int  # 0: it is about the file as a whole
    message: str
    suggestion: str = ""
    warning: bool = False

    def __str__(self) -> str:
        where = f"{self.path}:{self.line}" if self.line else self.path
        level = "warning: " if self.warning else ""
        return f"{where}: {level}{self.message}{f'; {self.suggestion}' if self.suggestion else ''}"

    def as_json(self) -> dict[str, object]:
        fields = asdict(self)
        return {"level": "warning" if fields.pop("warning") else "error", **fields}


class BadConfig(Exception):  # noqa: N818 - it reads as what it is
    """The file cannot be obeyed. Everything that is wrong with it is in ``complaints``."""

    def __init__(self, complaints: Iterable[Complaint]) -> None:
        self.complaints = tuple(complaints)
        super().__init__("\n".join(str(each) for each in self.complaints))


class Complaints:
    """Collects complaints about one file, so that its author learns of all of them at once."""

    def __init__(self, path: str, lines: LineNumbers) -> None:
        self._path = path
        self._lines = lines
        self._noted: list[Complaint] = []
        self._wrong: list[Place] = []

    def line(self, *place: str | int) -> int:
        return self._lines.of(*place)

    def sound(self, place: Place = ()) -> bool:
        """Whether nothing within a place was wrong so far: what follows from a slip is not worth a complaint."""
        return not any(each[: len(place)] == place for each in self._wrong)

    def complain(self, place: Place, message: str, suggestion: str = "") -> None:
        self._wrong.append(place)
        self._noted.append(Complaint(self._path, self._lines.of(*place), message, suggestion))

    def warn(self, place: Place, message: str, suggestion: str = "") -> None:
        self._noted.append(Complaint(self._path, self._lines.of(*place), message, suggestion, warning=True))

    def noted(self) -> tuple[Complaint, ...]:
        """In the order of the file; errors before warnings where they share a line."""
        return tuple(sorted(dict.fromkeys(self._noted), key=lambda each: (each.line, each.warning)))
