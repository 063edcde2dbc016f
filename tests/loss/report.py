"""What came of rounds, in a few lines that a person likes to read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from tests.loss.rounds import Verdict


def summary(verdicts: Iterable[Verdict]) -> str:
    """All rounds together."""
    verdicts = list(verdicts)
    total: Counter[str] = Counter()
    for verdict in verdicts:
        total += verdict.figures
    lost = sum(len(verdict.losses) for verdict in verdicts)
    faults = {name.removeprefix("fault "): count for name, count in total.items() if name.startswith("fault ")}
    told = ", ".join(f"{name} {count}" for name, count in sorted(faults.items()))
    latest = max((verdict.latest_start_seconds for verdict in verdicts), default=0.0)
    writes = (total[f"writes {outcome}"] for outcome in ("ok", "refused", "unknown"))
    return "\n".join(
        (
            f"rounds {len(verdicts)}, {sum(verdict.seconds for verdict in verdicts):.0f} s; losses {lost}",
            f"faults {sum(faults.values())}: {told}",
            "writes {} acknowledged, {} refused, {} unknown".format(*writes),
            f"journal {total['facts']} facts",
            f"latest start {latest:.1f} s after its NotBefore",
            f"power cuts {total['power cuts']}",
            f"documents {total['documents']}, looks {total['looks']}, impacts {total['impacts']}",
        )
    )


def line(number: int, seed: int, kind: str, verdict: Verdict) -> str:
    """One round."""
    found = verdict.figures
    faults = sum(count for name, count in found.items() if name.startswith("fault "))
    return (
        f"round {number} (seed {seed}, {kind}): {verdict.seconds:.0f} s, {faults} faults, "
        f"{found['writes ok']}/{found['writes refused']}/{found['writes unknown']} writes ok/refused/unknown, "
        f"{found['facts']} facts, {found['documents']} documents, {len(verdict.losses)} losses"
    )
