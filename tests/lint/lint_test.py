#!/usr/bin/env python3
"""Each lint check, tried on a small tree: it passes clean code and fails on a planted violation.

usage: lint_test.py [ClassName]
"""

import os
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))

GUARDED = "#ifndef ODYSSEY_{0}_H_\n#define ODYSSEY_{0}_H_\n{1}\n#endif  // ODYSSEY_{0}_H_\n"
LAYERS = """
dir low:
dir high: low
only yaml-cpp/*: high
lines low 10
closure high 20
"""


class LintCase(unittest.TestCase):
    """A clean tree of two directories in self.root."""

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.root = directory.name
        self.write("low/a.h", GUARDED.format("LOW_A", "int A();"))
        self.write("low/a.cc", '#include "low/a.h"\n\nint A() { return 1; }\n')
        self.write("low/README.md", "# low\n")
        self.write("high/b.cc", '#include <yaml-cpp/yaml.h>\n\n#include "low/a.h"\n\nint B() { return A(); }\n')
        self.write("high/README.md", "# high\n")
        self.write(".clang-format", "BasedOnStyle: Google\n")
        self.write("layers.txt", LAYERS)

    def write(self, path, text):
        path = os.path.join(self.root, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def run_check(self, script, *arguments):
        run = subprocess.run([sys.executable, os.path.join(HERE, script), *arguments],
                             capture_output=True, text=True, check=False)
        return run.returncode, run.stdout + run.stderr

    def assert_passes(self, script, *arguments):
        status, output = self.run_check(script, *arguments)
        self.assertEqual(status, 0, output)

    def assert_fails(self, message, script, *arguments):
        status, output = self.run_check(script, *arguments)
        self.assertEqual(status, 1, output)
        self.assertIn(message, output)


class LayersTest(LintCase):
    def arguments(self):
        return "check_layers.py", self.root, os.path.join(self.root, "layers.txt")

    def test_passes_clean_tree(self):
        self.assert_passes(*self.arguments())

    def test_fails_on_upward_include(self):
        self.write("high/b.h", GUARDED.format("HIGH_B", "int B();"))
        self.write("low/c.cc", '#include "high/b.h"\n')
        self.assert_fails("low/c.cc:1: low may not include high", *self.arguments())

    def test_fails_on_undeclared_directory(self):
        self.write("other/c.cc", "int C() { return 1; }\n")
        self.assert_fails("other/c.cc: its directory is not declared", *self.arguments())

    def test_fails_on_include_not_from_root(self):
        self.write("low/c.cc", '#include "a.h"\n')
        self.assert_fails('"a.h" is not a path from the repository', *self.arguments())

    def test_fails_on_third_party_header_in_wrong_layer(self):
        self.write("low/c.cc", "#include <yaml-cpp/yaml.h>\n")
        self.assert_fails("low/c.cc:1: <yaml-cpp/yaml.h> is only for high", *self.arguments())

    def test_a_third_party_header_may_be_for_the_tests_of_a_layer(self):
        with open(os.path.join(self.root, "layers.txt"), "a", encoding="utf-8") as rules:
            rules.write("only grpc*: low/*_test.cc\n")
        self.write("low/c_test.cc", "#include <grpcpp/grpcpp.h>\n")
        self.assert_passes(*self.arguments())
        self.write("low/c.cc", "#include <grpcpp/grpcpp.h>\n")
        self.assert_fails("low/c.cc:1: <grpcpp/grpcpp.h> is only for low/*_test.cc", *self.arguments())

    def test_fails_over_directory_budget(self):
        self.write("low/c.cc", "int c;\n" * 10)
        self.assert_fails("low: 16 code lines, at most 10", *self.arguments())

    def test_comments_and_tests_are_outside_the_budget(self):
        self.write("low/c.cc", "// why\n\n" * 10)
        self.write("low/c_test.cc", "int c;\n" * 20)
        self.assert_passes(*self.arguments())

    def test_fails_over_closure_budget(self):
        self.write("high/d.cc", "int d;\n" * 13)
        self.assert_fails("high with everything it links: 22 code lines, at most 20", *self.arguments())


class RootNeededTest(LintCase):
    def build(self, name, *options):
        self.write("p.cc", "int main() { return 0; }\n")
        program = os.path.join(self.root, name)
        subprocess.run(["g++", "-o", program, os.path.join(self.root, "p.cc"), *options], check=True)
        return program

    def test_passes_small_program(self):
        self.assert_passes("check_root_needed.py", "--root", self.build("small"))

    def test_fails_on_library_outside_the_list(self):
        program = self.build("fat", "-Wl,--no-as-needed", "-lseccomp")
        self.assert_fails("needs libseccomp.so.2", "check_root_needed.py", "--root", program)

    def test_looks_at_every_program(self):
        fat = self.build("fat", "-Wl,--no-as-needed", "-lseccomp")
        self.assert_fails("fat: needs libseccomp.so.2", "check_root_needed.py", "--root",
                          self.build("small"), fat)

    def test_a_client_needs_the_c_library_only(self):
        self.assert_passes("check_root_needed.py", "--client", self.build("small"))
        program = self.build("fat", "-Wl,--no-as-needed", "-lstdc++")
        self.assert_fails("needs libstdc++.so.6; allowed: libc libm", "check_root_needed.py", "--client", program)

    def test_passes_static_program(self):
        self.assert_passes("check_root_needed.py", "--static", self.build("static", "-static"))

    def test_fails_on_dynamic_program_that_must_be_static(self):
        program = self.build("dynamic")
        self.assert_fails("needs libc.so.6; it must be static", "check_root_needed.py", "--static", program)


MAN = """.TH P 1 "" "p 1" "p"
.SH COMMANDS
.SS "up"
does it
.TP
\\fB\\-\\-fast\\fR \\fIN\\fR
sooner
.SS "cell list"
lists them
"""
HELP = r"""case "$1 $2" in
"--help ") printf 'usage: p\n\ncommands:\n  up          does it\n  cell list   lists them\n\noptions:\n';;
"up --help") printf 'usage: p up\n\noptions:\n  --fast N   sooner\n';;
esac
"""


class ManTest(LintCase):
    def arguments(self, page, script=HELP):
        self.write("p.1", page)
        self.write("p", "#!/bin/sh\n" + script)
        os.chmod(os.path.join(self.root, "p"), 0o755)
        return "check_man.py", os.path.join(self.root, "p.1"), os.path.join(self.root, "p")

    def test_passes_a_whole_page(self):
        self.assert_passes(*self.arguments(MAN))

    def test_fails_on_a_warning(self):
        self.assert_fails("warning: macro 'no' not defined", *self.arguments(MAN + ".no\n"))

    def test_fails_on_a_missing_command(self):
        self.assert_fails("p.1: no command `cell list`",
                          *self.arguments(MAN.replace("cell list", "cell rm")))

    def test_fails_on_a_missing_option(self):
        self.assert_fails("p.1: no option --fast of `up`",
                          *self.arguments(MAN.replace("fast", "slow")))

    def test_fails_on_a_program_without_commands(self):
        self.assert_fails("p --help: no commands", *self.arguments(MAN, "true"))


class FormatTest(LintCase):
    def test_passes_formatted_tree(self):
        self.assert_passes("check_format.py", self.root)

    def test_fails_on_unformatted_file(self):
        self.write("low/c.cc", "int  C( ) {return 1;}\n")
        self.assert_fails("low/c.cc: run clang-format -i on it", "check_format.py", self.root)


class ByNameTest(LintCase):
    def setUp(self):
        super().setUp()
        self.write("ctl/walk.cc", "int A() { return open(path, 0); }\n")
        self.write("by_name.txt", "ctl/walk.cc: the walk\n")

    def arguments(self):
        return "check_by_name.py", self.root, os.path.join(self.root, "by_name.txt")

    def test_passes_clean_tree(self):
        self.write("ctl/a_test.cc", "int A() { return open(path, 0); }\n")
        self.write("ctl/a.cc", 'int A() { return fd.open() + call->open(x) + Reopen(x) + B("open("); }  // stat(x)\n')
        self.assert_passes(*self.arguments())

    def test_fails_on_a_path_that_is_opened(self):
        for call in ("open(path)", "::realpath(path, 0)", "fs::weakly_canonical(path)", "std::ofstream(path)",
                     "fstatat(AT_FDCWD, path)", "std::filesystem::is_directory(path, error)", "ReadFile(path, 1)"):
            self.write("ctl/a.cc", f"int A() {{ return {call}; }}\n")
            self.assert_fails("ctl/a.cc:1: by a path, which only ctl/file/named_place.cc walks", *self.arguments())

    def test_fails_on_an_exception_that_is_not_needed(self):
        self.write("ctl/a.cc", "int A();\n")
        self.write("by_name.txt", "ctl/walk.cc: the walk\nctl/a.cc: no more\nctl/gone.cc: no more\n")
        self.assert_fails("ctl/a.cc: is in by_name.txt, and opens nothing", *self.arguments())
        self.assert_fails("ctl/gone.cc: is in by_name.txt, and is no file", *self.arguments())


class MessagesTest(LintCase):
    def arguments(self):
        return "check_messages.py", self.root

    def test_passes_clean_tree(self):
        self.write("policy/a.cc", 'auto A() { return "x: " + status.message() + Text(error.message()); }\n')
        self.write("policy/a_test.cc", 'auto A() { return status.message().find("x"); }\n')
        self.assert_passes(*self.arguments())

    def test_fails_on_a_message_that_is_read(self):
        for code in ('return status.message().find("x")', "return e.error_message().substr(3)",
                     'return s->message() == "x"', "const std::string& text = failure.message();",
                     "return status.message()[0]"):
            self.write("policy/a.cc", f"auto A() {{\n  {code}\n}}\n")
            self.assert_fails("policy/a.cc:2: reads a message", *self.arguments())


class NamesTest(LintCase):
    def arguments(self):
        return "check_names.py", self.root, os.path.join(HERE, "forbidden.txt")

    def test_passes_clean_tree(self):
        self.assert_passes(*self.arguments())

    def test_fails_on_todo_without_owner(self):
        self.write("low/c.cc", "// TO" + "DO: later\n")
        self.assert_fails("low/c.cc:1: a TODO needs an owner", *self.arguments())

    def test_fails_on_path_of_a_machine(self):
        self.write("low/notes.md", "see /wor" + "k/main\n")
        self.assert_fails("low/notes.md:1: a path of somebody's machine", *self.arguments())

    def test_fails_on_using_namespace(self):
        self.write("low/c.cc", "using name" + "space std;\n")
        self.assert_fails("low/c.cc:1: names are written out", *self.arguments())

    def test_fails_on_wrong_guard(self):
        self.write("low/c.h", GUARDED.format("C", "int C();"))
        self.assert_fails("low/c.h: its include guard is not ODYSSEY_LOW_C_H_", *self.arguments())

    def test_fails_on_file_that_names_no_concept(self):
        self.write("low/string_utils.cc", "int C();\n")
        self.assert_fails("low/string_utils.cc: names no concept", *self.arguments())


class RegisteredTest(LintCase):
    def setUp(self):
        super().setUp()
        self.write("low/CMakeLists.txt", "odyssey_test(low SOURCES a_test.cc)\npython_test(a OneTest)\n")
        self.write("low/a_test.cc", "TEST(A, B) {}\n")
        self.write("low/a_test.py", "class Base:\n    pass\n\n\nclass OneTest(Base):\n    def test_it(self):\n        pass\n")

    def test_passes_clean_tree(self):
        self.assert_passes("check_registered.py", self.root)

    def test_fails_on_a_file_that_is_not_built(self):
        self.write("low/b_test.cc", "TEST(B, C) {}\n")
        self.assert_fails("low/b_test.cc: low/CMakeLists.txt does not name b_test.cc", "check_registered.py", self.root)

    def test_fails_on_a_class_that_is_not_run(self):
        self.write("low/a_test.py", "class TwoTest:\n    def test_it(self):\n        pass\n")
        self.assert_fails("low/a_test.py: low/CMakeLists.txt does not name TwoTest", "check_registered.py", self.root)

    def test_fails_where_nothing_is_registered(self):
        self.write("high/c_test.cc", "TEST(C, D) {}\n")
        self.assert_fails("high/c_test.cc: CMakeLists.txt does not name high/c_test.cc", "check_registered.py", self.root)

    def test_takes_the_list_of_a_directory_above(self):
        self.write("low/deep/c_test.cc", "TEST(C, D) {}\n")
        self.assert_fails("low/deep/c_test.cc: low/CMakeLists.txt does not name deep/c_test.cc", "check_registered.py",
                          self.root)


class DocsTest(LintCase):
    def setUp(self):
        super().setUp()
        self.write("docs/a.md", "# A page\n\nSee [b](b.md#more-of-b), [here](#a-page), [away](https://example.com/x).\n")
        self.write("docs/b.md", "# B\n\n## More of `b`\n")
        self.write("docs/adr/0001-do-it.md", "# 0001: Do it\n")
        self.write("docs/adr/README.md", "| [0001](0001-do-it.md) | Do it | accepted |\n")

    def test_passes_clean_tree(self):
        self.assert_passes("check_docs.py", self.root)

    def test_fails_on_a_link_that_leads_nowhere(self):
        self.write("docs/b.md", "# B\n\n[c](c.md)\n")
        self.assert_fails("docs/b.md:3: c.md: there is no such file", "check_docs.py", self.root)
        self.assert_fails("docs/a.md:3: b.md#more-of-b: there is no such heading", "check_docs.py", self.root)

    def test_fails_on_a_decision_with_another_title(self):
        self.write("docs/adr/0001-do-it.md", "# ADR 0001: Do it\n")
        self.assert_fails("docs/adr/0001-do-it.md:1: its title is not", "check_docs.py", self.root)

    def test_fails_on_a_decision_that_the_index_lacks(self):
        self.write("docs/adr/0001-do-it.md", "# 0001: Do it again\n")
        self.assert_fails("docs/adr/README.md has no row", "check_docs.py", self.root)


PROTO = """syntax = "proto3";
package odyssey.low.v1;
enum Kind {
  KIND_UNSPECIFIED = 0;
  KIND_A = 1;
}
message Thing {
  reserved 9;
  string name = 1;
  repeated int32 numbers = 2;
  optional bool maybe = 3;
  oneof choice {
    Kind kind = 4;
    bytes data = 5;
  }
  map<string, string> env = 6;
}
message AskRequest {}
message AskResponse {
  Thing thing = 1;
}
service Low {
  rpc Ask(AskRequest) returns (AskResponse);
  rpc Watch(AskRequest) returns (stream AskResponse);
}
"""


class ProtosTest(LintCase):
    def setUp(self):
        super().setUp()
        self.write("CMakeLists.txt", "project(low VERSION 0.1.0 LANGUAGES CXX)\n")
        self.write("proto/odyssey/low/v1/low.proto", PROTO)
        os.makedirs(f"{self.root}/proto/released")
        self.assert_passes("check_protos.py", self.root, "--write")

    def change(self, *replacements):
        text = PROTO
        for old, new in replacements:
            self.assertIn(old, text)
            text = text.replace(old, new)
        self.write("proto/odyssey/low/v1/low.proto", text)

    def assert_breaks(self, message, *replacements):
        self.change(*replacements)
        self.assert_fails(f"since 0.1.0: {message}", "check_protos.py", self.root)
        self.assert_fails(message, "check_protos.py", self.root, "--write")

    def test_passes_what_is_the_same(self):
        self.assert_passes("check_protos.py", self.root)

    def test_passes_additions_comments_and_another_order(self):
        self.change(("  string name = 1;\n", ""), ("  map<", "  // Its name.\n  string name = 1;\n  Kind other = 7;\n  map<"),
                    ("  KIND_A = 1;", "  KIND_A = 1;\n  KIND_B = 2;"), ("  bytes data", "  bool more = 8;\n    bytes data"),
                    ("service Low {", "message NewRequest {}\nmessage NewResponse {}\nservice Low {\n"
                                      "  rpc New(NewRequest) returns (NewResponse);"))
        self.assert_passes("check_protos.py", self.root)

    def test_passes_removed_fields_and_values_whose_numbers_are_reserved(self):
        self.change(("reserved 9;", "reserved 1, 9;"), ("  string name = 1;\n", ""), ("  KIND_A = 1;", "  reserved 1;"))
        self.assert_passes("check_protos.py", self.root)

    def test_fails_on_a_removed_field(self):
        self.assert_breaks("field odyssey.low.v1.Thing 1: `name singular string` is gone and its number is not reserved",
                           ("  string name = 1;\n", ""))

    def test_fails_on_another_number(self):
        self.assert_breaks("field odyssey.low.v1.Thing 1: `name singular string` is gone", ("name = 1", "name = 10"))

    def test_fails_on_another_type(self):
        for message, change in (("1: was `name singular string`, is `name singular bytes`", ("string name", "bytes name")),
                                ("2: was `numbers repeated int32`, is `numbers repeated sint32`", ("int32", "sint32")),
                                ("4: was `kind in choice odyssey.low.v1.Kind`, is `kind in choice int32`",
                                 ("Kind kind", "int32 kind"))):
            self.assert_breaks("field odyssey.low.v1.Thing " + message, change)
        self.assert_breaks("field odyssey.low.v1.Thing.EnvEntry 2: was", ("map<string, string>", "map<string, int32>"))

    def test_fails_on_another_name(self):
        self.assert_breaks("field odyssey.low.v1.Thing 1: was `name singular string`, is `title singular string`",
                           ("string name", "string title"))
        self.assert_breaks("value odyssey.low.v1.Kind 1: was `KIND_A`, is `KIND_FIRST`", ("KIND_A", "KIND_FIRST"))

    def test_fails_on_another_label(self):
        for message, change in (("1: was `name singular string`, is `name repeated", ("string name", "repeated string name")),
                                ("2: was `numbers repeated int32`, is `numbers singular", ("repeated int32", "int32")),
                                ("3: was `maybe optional bool`, is `maybe singular", ("optional bool", "bool")),
                                ("4: was `kind in choice", ("oneof choice", "oneof other"))):
            self.assert_breaks("field odyssey.low.v1.Thing " + message, change)

    def test_fails_where_a_reserved_number_is_used_or_free_again(self):
        self.assert_breaks("odyssey.low.v1.Thing: the reserved number 9 is used again, by again",
                           ("reserved 9", "string again = 9"))
        self.assert_breaks("odyssey.low.v1.Thing: the number 9 is no longer reserved", ("  reserved 9;\n", ""))

    def test_fails_on_a_removed_value(self):
        self.assert_breaks("value odyssey.low.v1.Kind 1: `KIND_A` is gone and its number is not reserved",
                           ("  KIND_A = 1;\n", ""))

    def test_fails_on_a_removed_message_enum_method_or_service(self):
        self.assert_breaks("message odyssey.low.v1.Thing: is gone", ("message Thing", "message Other"),
                           ("  Thing thing", "  Other thing"))
        self.assert_breaks("enum odyssey.low.v1.Kind: is gone", ("enum Kind", "enum Sort"), ("Kind kind", "Sort kind"))
        self.assert_breaks("rpc odyssey.low.v1.Low/Ask: is gone", ("rpc Ask(", "rpc Request("))
        self.assert_breaks("service odyssey.low.v1.Low: is gone", ("service Low", "service High"))

    def test_fails_on_another_request_response_or_stream(self):
        ask = "rpc odyssey.low.v1.Low/Ask: was `odyssey.low.v1.AskRequest returns odyssey.low.v1.AskResponse`, is `"
        self.assert_breaks(ask + "odyssey.low.v1.Thing returns", ("Ask(AskRequest)", "Ask(Thing)"))
        self.assert_breaks(ask + "odyssey.low.v1.AskRequest returns odyssey.low.v1.Thing`",
                           ("Ask(AskRequest) returns (AskResponse)", "Ask(AskRequest) returns (Thing)"))
        self.assert_breaks(ask + "stream odyssey.low.v1.AskRequest returns", ("Ask(AskRequest)", "Ask(stream AskRequest)"))
        self.assert_breaks("rpc odyssey.low.v1.Low/Watch: was", ("(stream AskResponse)", "(AskResponse)"))

    def test_fails_on_another_package_or_file(self):
        self.assert_breaks("file odyssey/low/v1/low.proto: was `package odyssey.low.v1`, is `package odyssey.low.v2`",
                           ("package odyssey.low.v1", "package odyssey.low.v2"))
        os.remove(f"{self.root}/proto/odyssey/low/v1/low.proto")
        self.write("proto/odyssey/low/v1/other.proto", PROTO)
        self.assert_fails("file odyssey/low/v1/low.proto: is gone", "check_protos.py", self.root)

    def test_compares_with_the_newest_release(self):
        self.change(("  string name = 1;", "  string name = 1;\n  string more = 10;"))
        self.write("CMakeLists.txt", "project(low VERSION 0.10.0 LANGUAGES CXX)\n")
        self.assert_passes("check_protos.py", self.root, "--write")
        self.write("proto/released/0.9.0.txt", "field odyssey.low.v1.Thing 1: other singular string\n")
        self.assert_passes("check_protos.py", self.root)
        self.write("proto/odyssey/low/v1/low.proto", PROTO)
        self.assert_fails("since 0.10.0: field odyssey.low.v1.Thing 10: `more singular", "check_protos.py", self.root)

    def test_fails_without_a_release(self):
        self.write("proto/released/0.1.0.txt", "")
        self.assert_fails("0.1.0.txt: it has no field", "check_protos.py", self.root)
        os.remove(f"{self.root}/proto/released/0.1.0.txt")
        self.assert_fails("no release to compare with", "check_protos.py", self.root)


class CommitsTest(LintCase):
    def setUp(self):
        super().setUp()
        self.git("init", "-q", "-b", "main")
        self.commit("Old subject; of another style.")
        start = self.git("rev-parse", "HEAD").strip()
        self.write("start.txt", f"# the start\n{start}\n")
        self.commit("low: add a thing")

    def git(self, *arguments):
        identity = ["-c", "user.name=A", "-c", "user.email=a@example.com", "-c", "commit.gpgSign=false"]
        run = subprocess.run(["git", *identity, "-C", self.root, *arguments],
                             capture_output=True, text=True, check=True)
        return run.stdout

    def commit(self, message):
        self.write("low/count", message)
        self.git("add", "-A")
        self.git("commit", "-q", "--cleanup=verbatim", "-m", message)

    def arguments(self, root=None):
        return "check_commits.py", root or self.root, os.path.join(self.root, "start.txt")

    def test_passes_good_messages(self):
        self.commit("low, high: read the field `a: b`\n\nWhy it is read. It is read; so it is.")
        self.commit("build: embed a file")
        self.assert_passes(*self.arguments())

    def test_passes_a_directory_that_is_gone(self):
        self.write("high/deep-er/a.txt", "a")
        self.commit("high/deep-er: add a file")
        self.git("rm", "-rq", "high/deep-er")
        self.commit("deep-er: remove the file")
        self.assert_passes(*self.arguments())

    def test_fails_on_a_bad_message(self):
        for message, fault in (("low: add " + "a" * 64, "73 characters, at most 72"),
                               ("low: add a; remove b", "two changes"),
                               ("low: add a.", "full stop"),
                               ("low: add a\nand b", "no empty line"),
                               ("add a", "is not `area: imperative`"),
                               ("Low: add a", "`Low` is no area"),
                               ("low,high: add a", "`low,high` is no area"),
                               ("other: add a", "`other` is no area"),
                               ("low: Add a", "`Add` is not an imperative"),
                               ("low: added a", "`added` is not an imperative"),
                               ("low: adding a", "`adding` is not an imperative"),
                               ("low: adds a", "`adds` is not an imperative"),
                               ("low: now add a", "`now` is not an imperative")):
            with self.subTest(message):
                self.commit(message)
                self.assert_fails(fault, *self.arguments())
                self.git("reset", "-q", "--hard", "HEAD~1")

    def test_checks_each_commit_of_a_merged_branch(self):
        self.git("checkout", "-q", "-b", "side")
        self.commit("low: changes a")
        self.git("checkout", "-q", "main")
        self.git("merge", "-q", "--no-ff", "-m", "Merge branch 'side'", "side")
        self.commit("low: add b")
        self.assert_fails("`changes` is not an imperative", *self.arguments())
        self.assertIn("1 violation(s)", self.run_check(*self.arguments())[1])

    def clone(self, *options):
        directory = os.path.join(self.root, "clone")
        self.git("clone", "-q", *options, "file://" + self.root, directory)
        return directory

    def test_checks_what_a_shallow_clone_has(self):
        self.commit("low: fixed a")
        self.commit("low: add b")
        self.assert_fails("`fixed` is not an imperative", *self.arguments(self.clone("--depth=2")))

    def test_skips_a_full_history_without_the_start(self):
        self.write("start.txt", "0" * 40 + "\n")
        status, output = self.run_check(*self.arguments())
        self.assertEqual(status, 77, output)
        self.assertIn("the start commit 0000", output)

    def test_skips_a_tree_without_history(self):
        directory = os.path.join(self.root, "unpacked")
        os.mkdir(directory)
        status, output = self.run_check(*self.arguments(directory))
        self.assertEqual(status, 77, output)
        self.assertIn("no .git here", output)


if __name__ == "__main__":
    unittest.main()
