#!/usr/bin/env python3
"""lint.messages: a status's message is shown; what it is about is read from its detail()."""

import re
import sys

from source_tree import code_of, finish, is_cpp, is_test, read_lines, tracked_files

DIRECTORIES = ("agentd/", "common/", "ctl/", "policy/", "supervisor/")
# Where the text itself is what is asked about.
ALLOWED = {
    "common/base/refusal.cc": "takes off the field that it has put there",
    "common/base/status_text.cc": "compares two",
    "ctl/exec/outcome_report.cc": "an outcome's, without the command's name, which is shown before it",
}
READS = ("back|begin|cbegin|compare|contains|ends_with|find|find_first_not_of|find_first_of|find_last_of|front|rfind|"
         "starts_with|substr")
CALL = re.compile(rf"message\(\)\s*(?:\.\s*(?:{READS})\(|==|!=|\[)|"
                  r"const std::string(?:_view)?&? \w+ ?= ?[\w.>()-]*message\(\);")


def check(root):
    files = [path for path in tracked_files(root)
             if path.startswith(DIRECTORIES) and is_cpp(path) and not is_test(path) and path not in ALLOWED]
    for path in files:
        for number, line in enumerate(read_lines(root, path), 1):
            if CALL.search(code_of(line)):
                yield f"{path}:{number}: reads a message; detail() says what it is about: {line.strip()}"


if __name__ == "__main__":
    finish("lint.messages", [*check(sys.argv[1])])
