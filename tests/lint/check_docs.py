#!/usr/bin/env python3
"""lint.docs: links in Markdown lead to a file and a heading; a decision's title is `# NNNN: …`, and the index has it."""

import os
import re
import sys

from source_tree import finish, read_lines, tracked_files

DECISIONS = "docs/adr/"
INDEX = DECISIONS + "README.md"
LINK = re.compile(r"\]\(([^)\s]*)\)")


def headings(root, path):
    """The anchors of a page, as GitHub makes them."""
    titles = [line.lstrip("#") for line in read_lines(root, path) if line.startswith("#")]
    return {re.sub(r"[^\w -]", "", title.strip().lower()).replace(" ", "-") for title in titles}


def check_links(root, pages):
    for page in pages:
        for number, line in enumerate(read_lines(root, page), 1):
            for link in LINK.findall(line):
                if "://" in link:
                    continue
                name, _, anchor = link.partition("#")
                target = os.path.normpath(os.path.join(os.path.dirname(page), name)) if name else page
                if not os.path.exists(os.path.join(root, target)):
                    yield f"{page}:{number}: {link}: there is no such file"
                elif anchor and anchor not in headings(root, target):
                    yield f"{page}:{number}: {link}: there is no such heading"


def check_decisions(root, pages):
    decisions = [page for page in pages if re.match(rf"{DECISIONS}\d{{4}}-", page)]
    index = read_lines(root, INDEX) if decisions else []
    for page in decisions:
        name = os.path.basename(page)
        title = re.fullmatch(rf"# {name[:4]}: (.+)", read_lines(root, page)[0])
        if title is None:
            yield f"{page}:1: its title is not `# {name[:4]}: Title`"
        elif not any(line.startswith(f"| [{name[:4]}]({name}) | {title[1]} |") for line in index):
            yield f"{page}: {INDEX} has no row `| [{name[:4]}]({name}) | {title[1]} | status |`"


if __name__ == "__main__":
    where = sys.argv[1]
    markdown = [path for path in tracked_files(where) if path.endswith(".md")]
    finish("lint.docs", [*check_links(where, markdown), *check_decisions(where, markdown)])
