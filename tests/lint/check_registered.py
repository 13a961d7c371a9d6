#!/usr/bin/env python3
"""lint.registered: ctest runs what is written as a test.

usage: check_registered.py ROOT
Each *_test.cc, and each class of a *_test.py that has tests, is named in the nearest CMakeLists.txt: the one beside it, or
else of a directory above.
"""

import ast
import os
import re
import sys

from source_tree import finish, read_lines, tracked_files


def classes_with_tests(text):
    for node in ast.parse(text).body:
        methods = [item.name for item in getattr(node, "body", ()) if isinstance(item, ast.FunctionDef)]
        if isinstance(node, ast.ClassDef) and any(name.startswith("test") for name in methods):
            yield node.name


def nearest_lists(directory, files):
    while directory and os.path.join(directory, "CMakeLists.txt") not in files:
        directory = os.path.dirname(directory)
    return os.path.join(directory, "CMakeLists.txt")


def main():
    root = sys.argv[1]
    files = tracked_files(root)
    violations = []
    for path in files:
        directory, name = os.path.split(path)
        if not name.endswith(("_test.cc", "_test.py")):
            continue
        lists = nearest_lists(directory, files)
        registered = "\n".join(read_lines(root, lists)) if lists in files else ""
        if name.endswith(".cc"):
            wanted = [os.path.relpath(path, os.path.dirname(lists))]
        else:
            wanted = classes_with_tests("\n".join(read_lines(root, path)))
        violations += [f"{path}: {lists} does not name {word}" for word in wanted
                       if not re.search(rf"(?<![\w/]){re.escape(word)}(?!\w)", registered)]
    finish("lint.registered", violations)


if __name__ == "__main__":
    main()
