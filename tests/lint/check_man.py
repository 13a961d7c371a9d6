#!/usr/bin/env python3
"""lint.man: a manual page renders without a warning, and holds every command of its program.

usage: check_man.py PAGE [PROGRAM]
PROGRAM --help lists the commands under "commands:", one a line, and takes --help after each.
"""

import re
import subprocess
import sys

from source_tree import finish


def render(page):
    """The page as a terminal of 80 columns shows it, without bold and underline; and the warnings."""
    run = subprocess.run(["groff", "-man", "-Tutf8", "-ww", "-P-cbou", page],
                         capture_output=True, text=True, check=False)
    warnings = run.stderr.splitlines()
    if run.returncode != 0 and not warnings:
        warnings = [f"groff exits with {run.returncode}"]
    return run.stdout, warnings


def help_of(program, *words):
    return subprocess.run([program, *words, "--help"], capture_output=True, text=True,
                          check=True).stdout


def commands(program):
    listed = help_of(program).partition("\ncommands:\n")[2].partition("\n\n")[0]
    return re.findall(r"^  (\S+(?: \S+)?)(?:  |\n|$)", listed, re.MULTILINE)


def section_of(text, command):
    """What stands below the command's heading, which is indented by three."""
    found = re.search(rf"^   {re.escape(command)}\n((?:       .*\n|\n)*)", text, re.MULTILINE)
    return found and found[1]


def main():
    page, *programs = sys.argv[1:]
    text, violations = render(page)
    for program in programs:
        names = commands(program)
        if not names:
            violations.append(f"{program} --help: no commands")
        for command in names:
            section = section_of(text, command)
            if section is None:
                violations.append(f"{page}: no command `{command}`")
                continue
            for option in re.findall(r"^  (?:-\w, )?(--[\w-]+)", help_of(program, *command.split()),
                                     re.MULTILINE):
                if not re.search(rf"^ +(?:-\w, )?{option}\b", section, re.MULTILINE):
                    violations.append(f"{page}: no option {option} of `{command}`")
    finish("lint.man", violations)


if __name__ == "__main__":
    main()
