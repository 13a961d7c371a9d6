"""What the lint checks share: which files there are, what of a line is code, and how violations are reported."""

import os
import re
import subprocess
import sys


def tracked_files(root):
    """Paths relative to root: tracked files and new ones that are not ignored; without git, all."""
    git = ["git", "-c", "safe.directory=*", "-C", root, "ls-files", "-co", "--exclude-standard", "-z"]
    try:
        listed = subprocess.run(git, capture_output=True, check=True).stdout.decode().split("\0")
        files = [name for name in listed if name]
    except (OSError, subprocess.CalledProcessError):
        files = []
        for directory, subdirectories, names in os.walk(root):
            subdirectories[:] = [d for d in subdirectories if d not in ("build", ".git", ".cache")]
            files += [os.path.relpath(os.path.join(directory, name), root) for name in names]
    return sorted(name for name in files if os.path.isfile(os.path.join(root, name)))


def read_lines(root, path):
    with open(os.path.join(root, path), encoding="utf-8", errors="replace") as file:
        return file.read().splitlines()


def is_cpp(path):
    return path.endswith((".cc", ".h"))


def is_test(path):
    return path.startswith("tests/") or path.endswith(("_test.cc", "_fixture.h"))


def code_of(line):
    """The line of C++ without its comment and what its literals say."""
    return re.sub(r'"(?:[^"\\]|\\.)*"', '""', line).split("//")[0]


def finish(check, violations):
    """Prints the violations and leaves: status 0 if there are none."""
    for violation in violations:
        print(violation)
    print(f"{check}: {len(violations)} violation(s)")
    sys.exit(1 if violations else 0)
