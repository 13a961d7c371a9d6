#!/usr/bin/env python3
"""A manual page made of a Markdown document of this repository, on standard output.

usage: make_page.py --name NAME --section N --summary TEXT --version V [--heading TITLE] [--document PATH]
                    [--help-of PROGRAM] FILE

--heading takes one section of FILE. --document is the installed path that SEE ALSO names. --help-of appends, as
OPTIONS, what PROGRAM --help prints. The Markdown is what docs/ uses: headings, paragraphs, lists, tables, code, links,
emphasis.
"""

import argparse
import re
import subprocess
import sys

ESCAPES = {"\\": "\\e", "-": "\\-", "'": "\\(aq", "`": "\\(ga", "^": "\\(ha", "~": "\\(ti", '"': "\\(dq"}
# A code span, bold, italic, a link, an escaped character.
INLINE = re.compile(r"`(?P<code>[^`]+)`|\*\*(?P<bold>[^*]+(?:\*[^*]+)*)\*\*|(?<![\w*])\*(?P<italic>[^*\s][^*]*)\*(?!\w)"
                    r"|\[(?P<text>(?:`[^`]*`|[^\]`])*)\]\((?P<target>[^)\s]*)\)|\\(?P<plain>[*|_\\`])")
ITEM = re.compile(r"(?P<mark>\*|-|\d+\.) +(?P<text>.*)")
# What an item begins with, if it is a term and its meaning.
TERM = re.compile(r"(?P<term>(?:`[^`]+`|\*\*[^*]+\*\*)(?:,? (?:`[^`]+`|required))*): +(?P<text>.*)", re.DOTALL)
WORDS_OF_HELP = 20  # columns: what is indented further continues the line before


def escaped(text):
    """Text as roff shows it: ASCII, with no request and no escape in it."""
    out = "".join(ESCAPES.get(c, c if ord(c) < 128 else f"\\[u{ord(c):04X}]") for c in text)
    return "\\&" + out if out.startswith(".") else out


def inline(text):
    out, at = "", 0
    for found in INLINE.finditer(text):
        out += escaped(text[at:found.start()])
        at = found.end()
        if found["text"] is not None:
            out += inline(found["text"]) + (escaped(f" ({found['target']})") if "://" in found["target"] else "")
        elif found["plain"]:
            out += escaped(found["plain"])
        elif found["italic"]:
            out += f"\\fI{escaped(found['italic'])}\\fR"
        else:
            strong = escaped(found["code"] or found["bold"].replace("`", ""))
            out += "\\fB" + re.sub(r",(?=\S)", r",\\:", strong) + "\\fR"  # a long list of names breaks after a comma
    return out + ("\\&" if out + text[at:] == "" else "") + escaped(text[at:])


def heading(line):
    marks, _, title = line.partition(" ")
    plain = escaped(re.sub(r"[`*]", "", title))
    return f'.SH "{plain}"' if marks == "##" else f'.SS "{plain}"'


def code(lines):
    return [".PP", ".RS 4", ".EX", *(escaped(line.rstrip()) for line in lines), ".EE", ".RE"]


def item(mark, text):
    term = TERM.fullmatch(text)
    if term and mark in "*-":
        return [".TP", inline(term["term"]), inline(term["text"])]
    return [f'.IP "{escaped(mark)}" 4' if mark[0].isdigit() else ".IP \\(bu 2", inline(text)]


def cells(row):
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", row.strip().strip("|"))]


def table(rows):
    """Each row as a term, the first cell, and the others, with the titles of their columns from the third on."""
    titles, out = cells(rows[0]), []
    for row in rows[2:]:
        first, *others = cells(row)
        parts = [f"{title}: {cell}" if title and at > 0 else cell
                 for at, (title, cell) in enumerate(zip(titles[1:], others)) if cell]
        out += [".TP", inline(first), inline("; ".join(parts)) if parts else "\\&"]
    return out


def blocks(lines):
    """(kind, lines) in order: heading, code, table, item, text. An empty line or another kind ends a block."""
    fenced, block, kind = False, [], None
    for line in [*lines, ""]:
        if line.startswith("```"):
            if block:
                yield kind, block
            fenced, kind, block = not fenced, None if fenced else "code", []
        elif fenced:
            block.append(line)
        elif kind == "code" and block and (line.startswith("    ") or not line):
            block.append(line[4:])
        else:
            begins = ("heading" if line.startswith("#") else "table" if line.startswith("|") else
                      "item" if ITEM.fullmatch(line) else
                      "code" if line.startswith("    ") and kind not in ("item", "text") else None)
            if block and (not line or kind == "code" or begins and (begins != kind or begins in ("heading", "item"))):
                yield kind, block
                block, kind = [], None
            if line:
                kind = begins or kind or "text"
                block.append(line[4:] if begins == "code" else line)
    if block:
        yield kind, block


def body(lines):
    out = []
    for kind, block in blocks(lines):
        text = " ".join(line.strip() for line in block)
        if kind == "heading":
            out.append(heading(block[0]))
        elif kind == "code":
            while block and not block[-1].strip():
                block.pop()
            out += code(block)
        elif kind == "table":
            out += table(block)
        elif kind == "item":
            found = ITEM.fullmatch(text)
            out += item(found["mark"], found["text"])
        else:
            out += [".PP", inline(text)]
    return out


def section_of(lines, title):
    """The lines below a heading of the second level, to the next one."""
    start = lines.index("## " + title) + 1
    end = next((at for at in range(start, len(lines)) if lines[at].startswith("## ")), len(lines))
    return lines[start:end]


def options_of(program):
    """What --help prints, an option a term."""
    text = subprocess.run([program, "--help"], capture_output=True, text=True, check=True).stdout
    out = ['.SH "OPTIONS"']
    for line in text.splitlines():
        indent = len(line) - len(line.lstrip())
        if line.startswith("  --"):
            words, *meaning = re.split(r"  +", line.strip(), maxsplit=1)
            out += [".TP", inline(f"**{words}**"), *map(inline, meaning)]
        elif indent >= WORDS_OF_HELP:
            out.append(inline(line.strip()))
    return out


def main():
    parser = argparse.ArgumentParser()
    for name in ("name", "section", "summary", "version"):
        parser.add_argument("--" + name, required=True)
    for name in ("heading", "document", "help-of"):
        parser.add_argument("--" + name)
    parser.add_argument("file")
    given = parser.parse_args()

    with open(given.file, encoding="utf-8") as file:
        lines = file.read().splitlines()
    lines = section_of(lines, given.heading) if given.heading else lines[1:]
    see = [".BR odyssey\\-ctl (1)"]
    if given.document:
        see[0] += ","
        see.append(f"\\fI{escaped(given.document)}\\fR")
    page = [f'.\\" Made by packaging/man/make_page.py from {given.file.rpartition("/")[2]}',
            ".nr HY 0",  # no hyphens in names
            f'.TH {escaped(given.name.upper())} {given.section} "" "Odyssey {given.version}" "Odyssey"', ".ad l",
            '.SH "NAME"', f"{escaped(given.name)} \\- {escaped(given.summary)}", '.SH "DESCRIPTION"',
            *body(lines), *(options_of(given.help_of) if given.help_of else []), '.SH "SEE ALSO"', *see]
    sys.stdout.write("\n".join(page) + "\n")


if __name__ == "__main__":
    main()
