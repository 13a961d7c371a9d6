#!/usr/bin/env python3
"""lint.by_name: in ctl, calls that take a path are made only in the files that by_name.txt lists."""

import re
import sys

from source_tree import code_of, finish, is_cpp, is_test, read_lines, tracked_files

DIRECTORY = "ctl/"
SYSTEM_CALLS = ("access|chmod|chown|creat|fopen|lchown|link|lstat|mkdir|mkfifo|mknod|open|opendir|readlink|realpath|"
                "rename|rmdir|scandir|stat|symlink|truncate|unlink|utimes")
OURS = "MakeDirectories|OpenHostPath|OpenHostPathAs|ReadFile|ReadRegularFile|WriteFileAtomically"
FILESYSTEM = (r"(?:filesystem|fs)::(?:\w*canonical|copy\w*|create_\w+|current_path|equivalent|exists|file_size|is_\w+|"
              r"last_write_time|permissions|read_symlink|remove\w*|rename|resize_file|space|\w*status|"
              r"\w*directory_iterator)\b")
CALL = re.compile(rf"(?<![\w.>])(?:::)?(?:{SYSTEM_CALLS}|{OURS})\(|\bAT_FDCWD\b|\b[io]?fstream\b|\b{FILESYSTEM}")


def read_allowed(path):
    with open(path, encoding="utf-8") as file:
        lines = [line.split("#")[0].strip() for line in file]
    return [line.partition(":")[0].strip() for line in lines if line]


def check(root, allowed):
    files = [path for path in tracked_files(root)
             if path.startswith(DIRECTORY) and is_cpp(path) and not is_test(path)]
    for path in sorted(set(allowed) - set(files)):
        yield f"{path}: is in by_name.txt, and is no file"
    for path in files:
        found = [(number, line.strip()) for number, line in enumerate(read_lines(root, path), 1)
                 if CALL.search(code_of(line))]
        if path not in allowed:
            for number, line in found:
                yield f"{path}:{number}: by a path, which only ctl/file/named_place.cc walks: {line}"
        elif not found:
            yield f"{path}: is in by_name.txt, and opens nothing by its path"


if __name__ == "__main__":
    finish("lint.by_name", [*check(sys.argv[1], read_allowed(sys.argv[2]))])
