#!/usr/bin/env python3
"""lint.format: every C++ file is as clang-format writes it (.clang-format)."""

import subprocess
import sys

from source_tree import finish, is_cpp, tracked_files


def main(root):
    files = [path for path in tracked_files(root) if is_cpp(path)]
    if not files:
        finish("lint.format", [])
    run = subprocess.run(["clang-format", "--dry-run", "-Werror", *files],
                         cwd=root, capture_output=True, text=True, check=False)
    badly_formatted = sorted({line.split(":")[0] for line in run.stderr.splitlines() if "error:" in line})
    violations = [f"{path}: run clang-format -i on it" for path in badly_formatted]
    if run.returncode != 0 and not violations:
        violations = [run.stderr.strip() or f"clang-format exited with {run.returncode}"]
    finish("lint.format", violations)


if __name__ == "__main__":
    main(sys.argv[1])
