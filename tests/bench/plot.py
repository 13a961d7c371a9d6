#!/usr/bin/python3
"""plot.py RECORD PICTURE: the times of a record of ./dev bench as bars, an SVG.

Each row of the record's whole path that has a median of Odyssey and of a floor or a peer is a group of bars, on a
logarithmic scale: figures differ by four orders of magnitude. Needs python3-matplotlib."""

import re
import sys

# Told apart also by people who do not tell red from green.
COLOURS = {"Odyssey": "#0072b2", "floor": "#999999", "peer": "#e69f00"}
SCALE = {"ns": 1e-6, "µs": 1e-3, "ms": 1, "s": 1e3}


def medians(cell):
    """[(name, milliseconds)] of "bwrap: p50 3.9 ms, p99 6.8 ms<br>…"; the name may be missing."""
    found = []
    for name, number, unit in re.findall(r"(?:([^:;<>]+): )?p50 ([0-9.]+) (ns|µs|ms|s)\b", cell):
        found.append((name.strip().replace("`", ""), float(number) * SCALE[unit]))
    return found


def rows(record):
    """[(figure, [(who, label, milliseconds)])] of the Markdown table."""
    out = []
    for line in record.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if not line.startswith("| ") or len(cells) != 5 or cells[1] == "Odyssey":
            continue
        bars = [(who, name, time) for who, cell in zip(COLOURS, cells[1:4]) for name, time in medians(cell)]
        if {who for who, _, _ in bars} > {"Odyssey"}:
            out.append((cells[0].replace("`", ""), bars))
    return out


def draw(figures, path):
    import matplotlib  # here, so that reading a record does not need it
    matplotlib.use("svg")
    matplotlib.rcParams["svg.fonttype"] = "none"
    from matplotlib import pyplot
    count = sum(len(bars) + 1 for _, bars in figures)
    picture, axes = pyplot.subplots(figsize=(9, 0.28 * count + 1.2), layout="constrained")
    place, ticks, labels = 0, [], []
    for figure, bars in figures:
        axes.text(0, place, figure, weight="bold", va="center", fontsize=9, transform=axes.get_yaxis_transform())
        place += 1
        for who, name, time in bars:
            axes.barh(place, time, height=0.8, color=COLOURS[who])
            axes.annotate(f"{time:.3g} ms" if time < 1000 else f"{time / 1000:.3g} s", (time, place), xytext=(4, 0), textcoords="offset points", va="center",
                          fontsize=8)
            ticks.append(place)
            labels.append(name or who)
            place += 1
    axes.set_xscale("log")
    axes.set_yticks(ticks, labels, fontsize=8)
    axes.invert_yaxis()
    axes.margins(x=0.15)
    axes.set_xlabel("median, milliseconds (logarithmic)")
    axes.spines[["top", "right"]].set_visible(False)
    for who, colour in COLOURS.items():
        axes.barh([0], [0], color=colour, label=who)
    axes.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=3, frameon=False, fontsize=8)
    picture.savefig(path, metadata={"Date": None})


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: plot.py RECORD PICTURE")
    with open(sys.argv[1], encoding="utf-8") as file:
        figures = rows(file.read())
    if not figures:
        sys.exit(f"{sys.argv[1]}: has no row with a median beside a floor or a peer")
    draw(figures, sys.argv[2])


if __name__ == "__main__":
    main()
