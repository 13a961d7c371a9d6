"""Rows of the egress benchmark as values: what is measured in turn, compared, and printed."""

import dataclasses
import statistics
from typing import Callable, Dict, List, Optional

FLOOR, HAPROXY, TINYPROXY, SQUID, ODYSSEY = "floor", "haproxy", "tinyproxy", "squid", "odyssey"
WAYS = (FLOOR, HAPROXY, TINYPROXY, SQUID, ODYSSEY)


@dataclasses.dataclass(frozen=True)
class Target:
    """A bound of Odyssey's median, of its ratio to the floor's ("ratio"), or of what it adds to it ("added")."""
    of: str  # "value", "ratio" or "added"
    bound: float
    least: bool = False

    def met(self, measured):
        return measured >= self.bound if self.least else measured <= self.bound


@dataclasses.dataclass(frozen=True)
class Row:
    """`measures`: by way, a function that takes one sample in the row's unit. `rounds`: instead of the run's."""
    name: str
    unit: str
    decimals: int
    measures: Dict[str, Callable[[], float]]
    target: Optional[Target] = None
    compared: str = "ratio"  # with the floor, in a row without a target
    rounds: Optional[int] = None


@dataclasses.dataclass
class Measured:
    row: Row
    samples: Dict[str, List[float]]
    failures: Dict[str, str]  # by way, why it has no sample


def measure(row, rounds):
    """Every way once, in turn, `rounds` times. One that fails is not tried again."""
    done = Measured(row, {way: [] for way in WAYS if way in row.measures}, {})
    for _ in range(row.rounds or rounds):
        for way, samples in done.samples.items():
            if way in done.failures:
                continue
            try:
                samples.append(row.measures[way]())
            except Exception as error:  # pylint: disable=broad-except
                done.failures[way] = f"{type(error).__name__}: {error}"
    return done


def comparison(done):
    """(what Odyssey is beside the floor, the target, whether it is met) in words."""
    row = done.row
    median = {way: statistics.median(done.samples[way]) for way in (FLOOR, ODYSSEY)
              if done.samples.get(way) and way not in done.failures}
    beside = {}
    if len(median) == 2:
        beside = {"ratio": median[ODYSSEY] / median[FLOOR], "added": median[ODYSSEY] - median[FLOOR]}
    shown = {"ratio": "{:.2f} ×", "added": f"{{:+.{row.decimals}f}} {row.unit}",
             "value": f"{{:.{row.decimals}f}} {row.unit}"}
    target = row.target
    kind = target.of if target and target.of in ("ratio", "added") else row.compared
    compared = shown[kind].format(beside[kind]) if kind in beside else ""
    if target is None:
        return compared, "", ""
    wanted = f"{'≥' if target.least else '≤'} " + shown[target.of].format(target.bound)
    measured = {"value": median.get(ODYSSEY), **beside}.get(target.of)
    met = "not measured" if measured is None else "met" if target.met(measured) else "**missed**"
    return compared, wanted, met


def line(done):
    row = done.row
    cells = []
    for way in WAYS:
        if way in done.failures:
            cells.append("failed")
        elif way in done.samples:
            cells.append(f"{statistics.median(done.samples[way]):.{row.decimals}f}")
        else:
            cells.append("")
    return "| " + " | ".join([f"{row.name}, {row.unit}", *cells, *comparison(done)]) + " |"


HEAD = "| row | " + " | ".join(WAYS) + " | Odyssey beside the floor | target | |\n" + "|---" * 9 + "|"
