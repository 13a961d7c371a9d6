#!/usr/bin/env python3
"""The tools of a model, called by a scenario in real cells: Glob, Grep, hard links, the list of tools."""

import os

import bundles
from world import WorldTest, main

ALL = ("Bash", "Edit", "Glob", "Grep", "LS", "Read", "Write")


class ToolsTest(WorldTest):

    def results(self, steps, **options):
        """What each call of the steps returned, in order."""
        name = self.id().rpartition(".")[2]
        options.setdefault("offered", ALL)
        bundle = bundles.write(f"{self.world.directory}/{name}", [*steps, bundles.say("done")], **options)
        done = self.world.ctl("-o", "json", "run", bundle, "--prompt", "go")
        self.assertEqual(done.code, 0, done.out[-500:] + done.err)
        events = [event["payload"] for event in done.lines()]
        return [event["payload"]["result"] for event in events if event["type"] == "tool_call_finished"]


class SearchTest(ToolsTest):

    TREE = ("mkdir -p src/x node_modules secrets && echo needle >src/a.rs && echo 'a needle' >src/x/b.rs && "
            "echo needle >node_modules/c.rs && echo needle >secrets/k.rs && echo needle >.hidden && "
            "echo needle >build.log && printf 'node_modules/\\n*.log\\n' >.gitignore && echo x >-e")

    def test_glob_and_grep_follow_the_ignore_rules_without_a_repository(self):
        made, glob, grep = self.results([
            bundles.bash(self.TREE), bundles.call("Glob", pattern="**/*.rs"),
            bundles.call("Grep", pattern="needle", glob="{*.rs,.h*}")])
        self.assertEqual(made["status_code"], 0, made)
        self.assertEqual(glob, {"matches": ["secrets/k.rs", "src/a.rs", "src/x/b.rs"], "truncated": False})
        self.assertEqual([(m["path"], m["line"], m["text"]) for m in grep["matches"]],
                         [(".hidden", 1, "needle"), ("secrets/k.rs", 1, "needle"),
                          ("src/a.rs", 1, "needle"), ("src/x/b.rs", 1, "a needle")])

    def test_globs_of_grep_bring_back_nothing_that_is_ignored(self):
        _, logs, rust = self.results([
            bundles.bash(self.TREE), bundles.call("Grep", pattern="needle", glob="*.log"),
            bundles.call("Grep", pattern="NEEDLE", case_insensitive=True, glob="src/*.rs", path=".")])
        self.assertEqual(logs["matches"], [])
        self.assertEqual([m["path"] for m in rust["matches"]], ["src/a.rs"])

    def test_what_the_rules_deny_for_read_is_left_out(self):
        _, glob, grep = self.results(
            [bundles.bash(self.TREE), bundles.call("Glob", pattern="*.rs"), bundles.call("Grep", pattern="needle")],
            rules={"allow": ["*"], "deny": ["Read(secrets/*)"]})
        self.assertEqual(glob["matches"], ["src/a.rs", "src/x/b.rs"])
        self.assertNotIn("secrets/k.rs", [m["path"] for m in grep["matches"]])

    def test_errors_are_about_the_arguments(self):
        regex, glob, missing, many = self.results([
            bundles.call("Grep", pattern="("), bundles.call("Glob", pattern="a["),
            bundles.call("Grep", pattern="x", path="none"), bundles.call("Glob", pattern="*", max_results=2000)])
        self.assertIn("invalid arguments: regex parse error", regex["error"])
        self.assertEqual(glob["error"], 'invalid arguments: pattern "a[": unbalanced "["')
        self.assertIn("none", missing["error"])
        self.assertEqual(many["error"], "invalid arguments: max_results is 2000; at most 1000")

    def test_results_are_capped_and_say_so(self):
        _, glob = self.results([
            bundles.bash("mkdir many && cd many && seq 300 | xargs touch"), bundles.call("Glob", pattern="many/*")])
        self.assertEqual((len(glob["matches"]), glob["truncated"]), (200, True))
        self.assertEqual(glob["matches"], sorted(f"many/{i}" for i in range(1, 301))[:200])

    def test_a_cell_of_named_programs_shows_ripgrep(self):
        wrote, grep = self.results([
            bundles.call("Write", path="a.txt", content="needle\n"), bundles.call("Grep", pattern="needle", glob="*.txt")],
            tools=("sh",))
        self.assertEqual(wrote["bytes"], 7)
        self.assertEqual(grep["matches"], [{"path": "a.txt", "line": 1, "text": "needle"}], grep)

    def test_hard_links_keep_one_content(self):
        _, _, _, read = self.results([
            bundles.bash("echo one >a && ln a b"), bundles.call("Edit", path="a", old_text="one", new_text="two"),
            bundles.call("Write", path="b", content="three\n"), bundles.call("Read", path="a")])
        self.assertEqual(read["content"], "three\n")


class SkillTest(ToolsTest):

    SHIP = "---\nname: ship\ndescription: Build and ship.\n---\n# Ship\nRun make.\n"

    def test_skills_are_listed_and_loaded(self):
        listed, loaded, missing = self.results(
            [bundles.call("Skill"), bundles.call("Skill", name="ship"), bundles.call("Skill", name="none")],
            offered=(), skills={"release": self.SHIP, "plain": "# Plain\n\nThe plain one.\n"})
        self.assertEqual(listed["skills"], [
            {"name": "plain", "description": "The plain one.", "path": "skills/plain/SKILL.md"},
            {"name": "ship", "description": "Build and ship.", "path": "skills/release/SKILL.md"}])
        self.assertEqual((loaded["content"], loaded["truncated"]), (self.SHIP, False))
        self.assertEqual(missing["error"], "execution failed: skill none not found")

    def test_two_skills_of_one_name_make_no_session(self):
        bundle = bundles.write(f"{self.world.directory}/twice", [bundles.say("done")],
                               skills={"a": self.SHIP, "b": self.SHIP})
        for verb in (("bundle", "validate", bundle), ("run", bundle, "--prompt", "go")):
            done = self.world.ctl(*verb)
            self.assertNotEqual(done.code, 0, done)
            self.assertIn("skill name is used twice: `ship`", done.out + done.err)


class ShellTest(ToolsTest):

    BASHISMS = ("set -o pipefail; mkdir -p proj/{data/raw,docs} && [[ -d proj/data/raw ]] && "
                "cat <(echo substituted); false | true; echo $?")

    def test_bash_is_bash(self):
        done, = self.results([bundles.bash(self.BASHISMS)])
        self.assertEqual((done["status_code"], done["stdout"]), (0, "substituted\n1\n"), done)

    def test_a_cell_without_bash_has_sh(self):
        done, = self.results([bundles.bash("echo $${BASH_VERSION:-plain}")], tools=("sh",))
        self.assertEqual(done["stdout"], "plain\n", done)
        done, = self.results([bundles.bash("echo $${BASH_VERSION:+bash}")], tools=("sh", "bash"))
        self.assertEqual(done["stdout"], "bash\n", done)


class ListTest(WorldTest):

    def test_schemas_are_published(self):
        tools = self.world.ctl("-o", "json", "tool", "list").json()["tools"]
        self.assertEqual([t["name"] for t in tools],
                         sorted(t["name"] for t in tools))
        read = next(t for t in tools if t["name"] == "Read")
        self.assertEqual(read["input_schema"]["required"], ["path"])
        self.assertEqual(read["output_schema"]["properties"]["content"], {"type": "string"})
        with open(f"{os.path.dirname(__file__)}/../../docs/TOOLS.md", encoding="utf-8") as file:
            pages = dict(part.split("\n", 1) for part in file.read().split("\n## ")[1:])
        for tool in tools:
            for argument in tool["input_schema"]["properties"]:
                self.assertIn(f"`{argument}`", pages[tool["name"]])
        text = self.world.ctl("tool", "list").out
        self.assertIn("Grep  Search file contents", text)


if __name__ == "__main__":
    main()
