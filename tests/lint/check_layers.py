#!/usr/bin/env python3
"""lint.layers: include edges, users of third-party headers and line budgets against layers.txt."""

import fnmatch
import os
import re
import sys

from source_tree import finish, is_cpp, is_test, read_lines, tracked_files

INCLUDE = re.compile(r'^\s*#\s*include\s+(?:"([^"]+)"|<([^>]+)>)')


class Rules:
    """layers.txt, parsed."""

    def __init__(self, path):
        self.edges, self.test_edges, self.only, self.generated = {}, {}, {}, {}
        self.budgets, self.closures = {}, {}
        with open(path, encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                words = line.split("#")[0].split()
                if words:
                    self._add(words, f"{path}:{number}")

    def _add(self, words, where):
        kind, rest = words[0], words[1:]
        tables = {"dir": self.edges, "tests": self.test_edges, "only": self.only, "generated": self.generated}
        if kind in tables:
            table = tables[kind]
            table[rest[0].rstrip(":")] = rest[1:]
        elif kind in ("lines", "closure"):
            {"lines": self.budgets, "closure": self.closures}[kind][rest[0]] = int(rest[1])
        else:
            sys.exit(f"{where}: unknown rule {kind!r}; allowed: dir tests only generated lines closure")


def includes_of(root, path):
    """(line number, quoted path or None, angle path or None) of every include."""
    for number, line in enumerate(read_lines(root, path), 1):
        match = INCLUDE.match(line)
        if match:
            yield number, match.group(1), match.group(2)


def code_lines(root, path):
    """Lines that are neither blank nor comment only."""
    stripped = (line.strip() for line in read_lines(root, path))
    return sum(1 for line in stripped if line and not line.startswith("//"))


def layer_of(rules, path):
    """The longest declared directory that holds the path."""
    directory = os.path.dirname(path)
    while directory and directory not in rules.edges:
        directory = os.path.dirname(directory)
    return directory


def generated_layer(rules, include):
    """The layer that a generated header belongs to, or None for a header that is in the repository."""
    matching = (layer for pattern, (layer,) in rules.generated.items() if fnmatch.fnmatch(include, pattern))
    return next(matching, None)


def check_edges(rules, root, files):
    for path in files:
        layer = layer_of(rules, path)
        if not layer:
            yield f"{path}: its directory is not declared in layers.txt"
            continue
        allowed = {layer, *rules.edges[layer]}
        if is_test(path):
            allowed |= {*rules.test_edges.get("*", []), *rules.test_edges.get(layer, [])}
        for number, quoted, _ in includes_of(root, path):
            if quoted is None:
                continue
            generated = generated_layer(rules, quoted)
            target = generated or layer_of(rules, quoted)
            if not generated and not os.path.isfile(os.path.join(root, quoted)):
                yield f'{path}:{number}: "{quoted}" is not a path from the repository\'s root'
            elif target not in allowed:
                yield f'{path}:{number}: {layer} may not include {target or "an undeclared directory"} ("{quoted}")'


def is_one_of(path, layer, users):
    """Users are layers, and patterns of paths: DIR/*_test.cc is every test at or below DIR."""
    return any(user == layer or fnmatch.fnmatch(path, user) for user in users)


def check_third_party(rules, root, files):
    for path in files:
        layer = layer_of(rules, path)
        for number, quoted, angle in includes_of(root, path):
            for pattern, users in rules.only.items():
                if fnmatch.fnmatch(quoted or angle, pattern) and not is_one_of(path, layer, users):
                    yield f"{path}:{number}: <{quoted or angle}> is only for {' '.join(users) or 'nobody'}"


def closure(root, start, known):
    """Every file of ours that ends up in a program made of `start`: x.h brings x.cc."""
    seen, waiting = set(), list(start)
    while waiting:
        path = waiting.pop()
        if path in seen or path not in known:
            continue
        seen.add(path)
        waiting += [quoted for _, quoted, _ in includes_of(root, path) if quoted]
        if path.endswith(".h"):
            waiting.append(path[:-2] + ".cc")
    return seen


def check_budgets(rules, root, files):
    product = [path for path in files if not is_test(path)]
    for directory, limit in rules.budgets.items():
        own = sum(code_lines(root, p) for p in product if p.startswith(directory + "/"))
        print(f"{directory}: {own} code lines of {limit}")
        if own > limit:
            yield f"{directory}: {own} code lines, at most {limit}"
    for directory, limit in rules.closures.items():
        start = [p for p in product if p.startswith(directory + "/")]
        linked = sum(code_lines(root, p) for p in closure(root, start, set(product)))
        print(f"{directory} with everything it links: {linked} code lines of {limit}")
        if linked > limit:
            yield f"{directory} with everything it links: {linked} code lines, at most {limit}"


def may_include(rules, directory):
    """The line of a README that says what layers.txt says."""
    edges = [f"`{edge}`" for edge in rules.edges[directory]]
    return f"May include: {', '.join(edges) or 'nothing of ours'}."


def check_readmes(rules, root, write):
    """The line `May include: …` of a directory's README is layers.txt's; `write` makes it so."""
    for directory in rules.edges:
        path = os.path.join(root, directory, "README.md")
        if not os.path.isfile(path):
            continue
        lines, wanted = read_lines(root, os.path.join(directory, "README.md")), may_include(rules, directory)
        stated = [number for number, line in enumerate(lines) if line.startswith("May include")]
        if not stated or all(lines[number] == wanted for number in stated):
            continue
        if write:
            for number in stated:
                lines[number] = wanted
            with open(path, "w", encoding="utf-8") as file:
                file.write("\n".join(lines) + "\n")
        else:
            yield f"{directory}/README.md:{stated[0] + 1}: not what layers.txt says; check_layers.py … --write"


def main(root, rules_path, *options):
    rules = Rules(rules_path)
    files = [path for path in tracked_files(root) if is_cpp(path)]
    violations = [*check_edges(rules, root, files), *check_third_party(rules, root, files),
                  *check_budgets(rules, root, files), *check_readmes(rules, root, "--write" in options)]
    finish("lint.layers", violations)


if __name__ == "__main__":
    main(*sys.argv[1:])
