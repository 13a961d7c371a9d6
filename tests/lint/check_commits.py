#!/usr/bin/env python3
"""lint.commits: the messages of the commits after the one that commits_start.txt names.

usage: check_commits.py ROOT START_FILE
A shallow clone without that commit has only later ones: all of them are checked. A tree without .git, or with a
history of another beginning, has none of them: status 77, which ctest shows as skipped.
"""

import os
import re
import subprocess
import sys

from source_tree import finish, tracked_files

LONGEST = 72
SUBJECT = re.compile(r"(?P<areas>[^:]+): (?P<rest>.+)")
AREA = re.compile(r"[a-z][a-z0-9_./-]*")
# Areas that are no directory: what spans several.
OTHER_AREAS = {"build", "cells", "exec"}
NO_VERBS = {"a", "all", "also", "an", "and", "another", "both", "each", "every", "if", "in", "is", "it", "its", "more",
            "never", "new", "no", "not", "now", "of", "only", "that", "the", "there", "this", "what", "when", "where",
            "which", "while"}
VERBS = {"alias", "bias", "bring", "embed", "exceed", "feed", "focus", "need", "ping", "proceed", "seed", "shed", "speed",
         "string"}


def git(root, *arguments):
    command = ["git", "-c", "safe.directory=*", "-c", "core.quotePath=false", "-C", root, *arguments]
    return subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)


def commits_after(root, start):
    """[(hash, message, changed paths)], without merges. Raises LookupError where they cannot be known."""
    after = ["HEAD"]
    if git(root, "cat-file", "-e", start + "^{commit}").returncode == 0:
        after.append("^" + start)
    elif git(root, "rev-parse", "--is-shallow-repository").stdout.strip() != "true":
        raise LookupError(f"the start commit {start} is not in this repository, and the clone is not shallow")
    log = git(root, "log", "--no-merges", "--no-renames", "--root", "--name-only", "--format=%x00%h%x01%B%x01", *after)
    if log.returncode != 0:
        raise LookupError(log.stderr.strip())
    for entry in log.stdout.split("\0")[1:]:
        name, message, paths = entry.split("\1")
        yield name, message.rstrip("\n"), paths.split("\n")


def areas_of(paths):
    """Each directory of the paths, by its path, the ends of its path and its name; and the files of the top."""
    areas = set(OTHER_AREAS)
    for path in filter(None, paths):
        parts = path.lower().split("/")
        if len(parts) == 1:
            areas.add(parts[0].split(".")[0])
        for end in range(1, len(parts)):
            areas |= {"/".join(parts[begin:end]).lstrip(".") for begin in range(end)}
    return {area.replace("-", "_") for area in areas}


def is_imperative(word):
    if word in VERBS:
        return True
    third_person = word.endswith("s") and not word.endswith("ss")
    return (re.fullmatch(r"[a-z][a-z-]*", word) is not None and word not in NO_VERBS and not third_person
            and not word.endswith(("ed", "ing")))


def faults_of(message, areas):
    lines = message.split("\n")
    subject = lines[0]
    if len(subject) > LONGEST:
        yield f"{len(subject)} characters, at most {LONGEST}"
    if ";" in subject:
        yield "a `;` joins two changes: make two commits"
    if subject.endswith("."):
        yield "ends with a full stop"
    if len(lines) > 1 and lines[1]:
        yield "no empty line between the subject and the body"
    parsed = SUBJECT.fullmatch(subject)
    if parsed is None:
        yield "is not `area: imperative`"
        return
    for area in parsed["areas"].split(", "):
        if AREA.fullmatch(area) is None:
            yield f"`{area}` is no area: a directory in lower case; two with `, ` between them"
        elif area.replace("-", "_") not in areas:
            yield f"`{area}` is no area: no directory has this name"
    verb = parsed["rest"].split(" ")[0].rstrip(",")
    if not is_imperative(verb):
        yield f"`{verb}` is not an imperative"


def main(root, start_file):
    if not os.path.exists(os.path.join(root, ".git")):
        print("lint.commits: no .git here, so no commits to check")
        sys.exit(77)
    with open(start_file, encoding="utf-8") as file:
        start = next(line.strip() for line in file if not line.startswith("#"))
    known = areas_of(tracked_files(root))
    try:
        violations = [f"{name}: {message.partition(chr(10))[0]}: {fault}"
                      for name, message, paths in commits_after(root, start)
                      for fault in faults_of(message, known | areas_of(paths))]
    except LookupError as error:
        print(f"lint.commits: {error}")
        sys.exit(77)
    finish("lint.commits", violations)


if __name__ == "__main__":
    main(*sys.argv[1:3])
