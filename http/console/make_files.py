#!/usr/bin/env python3
"""Writes console_files.cc: the named files as string literals, with the type that a browser needs."""

import os
import sys

TYPES = {".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8",
         ".svg": "image/svg+xml"}
DELIMITER = "console_file"


def literal(path):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    assert f"){DELIMITER}\"" not in text, path
    return f'R"{DELIMITER}({text}){DELIMITER}"'


def main(out, *paths):
    rows = [f'{{"{os.path.basename(path)}", "{TYPES[os.path.splitext(path)[1]]}", {literal(path)}}}' for path in paths]
    with open(out, "w", encoding="utf-8") as file:
        file.write('#include "http/console/console_files.h"\n\nnamespace odyssey::console {\nnamespace {\n\n'
                   f"constexpr File kFiles[] = {{\n{(',' + chr(10)).join(rows)}}};\n\n}}  // namespace\n\n"
                   "const File* FindFile(std::string_view name) {\n  for (const File& file : kFiles) {\n"
                   "    if (file.name == name) return &file;\n  }\n  return nullptr;\n}\n\n"
                   "}  // namespace odyssey::console\n")


main(*sys.argv[1:])
