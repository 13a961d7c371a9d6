#!/usr/bin/env python3
"""lint.root_needed, lint.client_needed: what programs link at run time.

usage: check_root_needed.py [--root PROGRAM…] [--static PROGRAM…] [--client PROGRAM…]
The programs of root may need the libraries below and no other; a client the C library, since what it loads is waited for
at each command; the static ones none, nor an interpreter.
"""

import argparse
import re
import subprocess

from source_tree import finish

ALLOWED = re.compile(r"^(libc|libm|libstdc\+\+|libgcc_s|libcap|ld-linux[-a-z0-9_]*)\.so\.\d+$")

ALLOWED_OF_CLIENT = re.compile(r"^(libc|libm|ld-linux[-a-z0-9_]*)\.so\.\d+$")


def readelf(option, program):
    return subprocess.run(["readelf", "--wide", option, program],
                          capture_output=True, check=True, text=True).stdout


def needed(program):
    return re.findall(r"\(NEEDED\)\s+Shared library: \[([^\]]+)\]", readelf("-d", program))


def has_interpreter(program):
    return re.search(r"^\s+INTERP\b", readelf("-l", program), re.MULTILINE) is not None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", nargs="*", default=[])
    parser.add_argument("--static", nargs="*", default=[])
    parser.add_argument("--client", nargs="*", default=[])
    options = parser.parse_args()
    violations = []
    for program in options.root:
        libraries = needed(program)
        print(f"{program} needs: {' '.join(libraries)}")
        violations += [f"{program}: needs {library}; allowed: libc libm libstdc++ libgcc_s libcap"
                       for library in libraries if not ALLOWED.match(library)]
    for program in options.client:
        violations += [f"{program}: needs {library}; allowed: libc libm"
                       for library in needed(program) if not ALLOWED_OF_CLIENT.match(library)]
    for program in options.static:
        violations += [f"{program}: needs {library}; it must be static" for library in needed(program)]
        if has_interpreter(program):
            violations.append(f"{program}: has a program interpreter; it must be static")
    finish("lint.client_needed" if options.client else "lint.root_needed", violations)


if __name__ == "__main__":
    main()
