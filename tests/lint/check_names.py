#!/usr/bin/env python3
"""lint.names: forbidden words (forbidden.txt), include guards, file names."""

import fnmatch
import os
import re
import sys

from source_tree import finish, read_lines, tracked_files

NAMELESS = re.compile(r"(^|_)(utils?|helpers?|manager|misc)(_|\.|$)")


def read_forbidden(path):
    with open(path, encoding="utf-8") as file:
        for line in file:
            if line.strip() and not line.startswith("#"):
                pattern, rest = line.split("|", 1)
                expression, why = rest.rsplit("|", 1)
                yield pattern.strip(), re.compile(expression.strip()), why.strip()


def check_words(root, files, forbidden):
    for path in files:
        rules = [rule for rule in forbidden if fnmatch.fnmatch(path, rule[0])]
        for number, line in enumerate(read_lines(root, path), 1):
            for _, expression, why in rules:
                if expression.search(line):
                    yield f"{path}:{number}: {why}: {line.strip()}"


def check_guards(root, files):
    for path in files:
        guard = "ODYSSEY_" + re.sub(r"[/.]", "_", path).upper() + "_"
        if path.endswith(".h") and f"#ifndef {guard}" not in read_lines(root, path):
            yield f"{path}: its include guard is not {guard}"


def check_file_names(files):
    for path in files:
        if path.endswith((".cc", ".h")) and NAMELESS.search(os.path.basename(path)):
            yield f"{path}: names no concept"


def main(root, forbidden_path):
    files = tracked_files(root)
    own = os.path.relpath(forbidden_path, root)
    texts = [path for path in files if path != own and not path.startswith("tests/fuzz/corpus/")]
    finish("lint.names", [*check_words(root, texts, list(read_forbidden(forbidden_path))),
                          *check_guards(root, files), *check_file_names(files)])


if __name__ == "__main__":
    main(*sys.argv[1:3])
