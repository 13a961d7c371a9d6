#!/usr/bin/env python3
"""Rules on paths, and ignore files, in real cells: what a path with a symbolic link leads to is judged, and Read and LS
see what Glob and Grep see."""

import os
import subprocess

import bundles
from world import WorldTest, main

ALL = ("Bash", "Edit", "Glob", "Grep", "LS", "MultiEdit", "Read", "Write")

# secrets/ is denied, by rules. Links to it of each kind; pub/plain is what anyone may read.
# By Python: what it writes and reads is no word of the command line, on which the rules would have a say.
TREE = ("python3 -c '\n"
        "import os\n"
        "os.makedirs(\"secrets/deep\")\n"
        "os.makedirs(\"pub\")\n"
        "for name, text in ((\"secrets/a\", \"token\"), (\"secrets/deep/b\", \"token\"), (\"pub/plain\", \"plain\")):\n"
        "    print(text, file=open(name, \"w\"))\n"
        "for target, link in ((\"../secrets/a\", \"file\"), (\"/workspace/secrets/a\", \"absolute\"), (\"../secrets\", \"tree\"),\n"
        "                     (\"tree/deep\", \"chain\"), (\"../secrets/new\", \"dangling\"), (\"../pub/plain\", \"same\"),\n"
        "                     (\".\", \"self\")):\n"
        "    os.symlink(target, \"pub/\" + link)\n"
        "'")
THROUGH = ("pub/file", "pub/absolute", "pub/tree/a", "pub/chain/b", "/workspace/pub/tree/deep/b", "pub/self/file",
           "pub/self/self/tree/a")


class FileRulesTest(WorldTest):

    flags = ()

    def run_bundle(self, steps, **options):
        name = self.id().rpartition(".")[2]
        options.setdefault("offered", ALL)
        bundle = bundles.write(f"{self.world.directory}/{name}", [*steps, bundles.say("done")], **options)
        done = self.world.ctl("-o", "json", "run", bundle, "--prompt", "go", *self.flags)
        self.assertEqual(done.code, 0, done.out[-500:] + done.err)
        return [event["payload"] for event in done.lines()]

    def results(self, steps, **options):
        """What each call of the steps returned, in order."""
        return [event["payload"]["result"] for event in self.run_bundle(steps, **options)
                if event["type"] == "tool_call_finished"]


class LinksTest(FileRulesTest):

    def denied(self, result, tool):
        self.assertIn(f"permission denied: tool {tool}(secrets/**) is denied", result.get("error", ""), result)
        self.assertNotIn("token", str(result))

    def test_read_is_judged_where_the_path_ends(self):
        made, plain, same, *through = self.results(
            [bundles.bash(TREE), bundles.call("Read", path="pub/plain"), bundles.call("Read", path="pub/same"),
             *[bundles.call("Read", path=path) for path in THROUGH]],
            rules={"allow": ["*"], "deny": ["Read(secrets/**)"]})
        self.assertEqual(made["status_code"], 0, made)
        self.assertEqual((plain["content"], same["content"]), ("plain\n", "plain\n"))
        self.assertEqual(same["path"], "pub/same")
        for result in through:
            self.denied(result, "Read")

    def test_writes_are_judged_where_the_path_ends(self):
        made, *calls, kept = self.results(
            [bundles.bash(TREE), bundles.call("Write", path="pub/file", content="x"),
             bundles.call("Write", path="pub/dangling", content="x"),
             bundles.call("Write", path="pub/tree/none/of/it", content="x"),
             bundles.call("Edit", path="pub/chain/b", old_text="token", new_text="x"),
             bundles.call("MultiEdit", path="pub/tree/a", edits=[{"old_text": "token", "new_text": "x"}]),
             bundles.bash("cat secrets/a secrets/deep/b; find secrets -mindepth 1 | wc -l")],
            rules={"allow": ["*"], "deny": ["Write(secrets/**)", "Edit(secrets/**)"]})
        self.assertEqual(made["status_code"], 0, made)
        for result, tool in zip(calls, ("Write", "Write", "Write", "Edit", "Edit")):
            self.denied(result, tool)
        self.assertEqual(kept["stdout"], "token\ntoken\n3\n")

    def test_a_write_through_an_allowed_link_keeps_the_link(self):
        _, wrote, read = self.results(
            [bundles.bash(TREE), bundles.call("Write", path="pub/same", content="new\n"),
             bundles.bash("cat pub/plain; readlink pub/same")],
            rules={"allow": ["*"], "deny": ["Write(secrets/**)"]})
        self.assertEqual(wrote["bytes"], 4, wrote)
        self.assertEqual(read["stdout"], "new\n../pub/plain\n")

    def test_ls_is_judged_where_the_path_ends(self):
        _, tree, inside, own = self.results(
            [bundles.bash(TREE), bundles.call("LS", path="pub/tree"), bundles.call("LS", path="pub/chain"),
             bundles.call("LS", path="pub/self")],
            rules={"allow": ["*"], "deny": ["LS(secrets/**)"]})
        self.denied(tree, "LS")
        self.denied(inside, "LS")
        self.assertIn("pub/plain", [entry["path"] for entry in own["entries"]])

    def test_searches_do_not_show_denied_files_through_a_link(self):
        _, glob, grep, of_file, all_of_it, denied, allowed = self.results(
            [bundles.bash(TREE), bundles.call("Glob", pattern="*", path="pub/tree"),
             bundles.call("Grep", pattern="token", path="pub/chain"),
             bundles.call("Grep", pattern="token", path="pub/file"), bundles.call("Grep", pattern="token"),
             bundles.call("Grep", pattern="token", path="pub/tree/deep"),
             bundles.call("Grep", pattern="plain", path="pub/self")],
            rules={"allow": ["*"], "deny": ["Read(secrets/**)", "Grep(secrets/deep)"]})
        for result in (glob, of_file, all_of_it):
            # The script of the model has the words that are looked for.
            others = [match for match in result["matches"] if match["path"] != "scenario.yaml"]
            self.assertEqual(others, [], result)
        self.denied_grep(grep)
        self.denied_grep(denied)
        self.assertEqual([m["path"] for m in allowed["matches"]], ["pub/plain"])

    def denied_grep(self, result):
        self.assertIn("permission denied: tool Grep(secrets/deep) is denied", result.get("error", ""), result)

    def test_a_person_is_asked_once_and_sees_both_paths(self):
        self.flags = ("--approve", "all")
        events = self.run_bundle(
            [bundles.bash(TREE), bundles.call("Write", path="pub/file", content="new\n"),
             bundles.bash("cat secrets/a")],
            rules={"allow": ["*"], "ask": ["Write(secrets/**)"]})
        asked = [e["payload"] for e in events if e["type"] == "permission_requested"]
        self.assertEqual(len(asked), 1)
        self.assertEqual((asked[0]["arguments"]["path"], asked[0]["leads_to"]), ("pub/file", "/workspace/secrets/a"))
        self.assertIn("-token", asked[0]["diff"])
        results = [e["payload"]["result"] for e in events if e["type"] == "tool_call_finished"]
        self.assertEqual(results[-1]["stdout"], "new\n")


class ExchangeTest(FileRulesTest):
    """A file of a host directory that is exchanged with a link to a denied one, while calls use its name."""

    READS = 400

    # renameat2(RENAME_EXCHANGE) without a pause, from the host.
    EXCHANGER = ("import ctypes, sys\nlibc = ctypes.CDLL(None)\na, b = (p.encode() for p in sys.argv[1:3])\n"
                 "print('ready', flush=True)\nwhile True: libc.renameat2(-100, a, -100, b, 2)\n")

    def exchange(self, directory, steps, deny):
        os.makedirs(f"{directory}/secrets")
        for name, text in (("secrets/a", "token\n"), ("plain", "plain\n")):
            with open(f"{directory}/{name}", "w", encoding="utf-8") as file:
                file.write(text)
        os.symlink("secrets/a", f"{directory}/link")
        os.chmod(directory, 0o777)
        for name in ("secrets", "secrets/a", "plain"):
            os.chmod(f"{directory}/{name}", 0o777)
        exchanger = subprocess.Popen(["python3", "-c", self.EXCHANGER, f"{directory}/plain", f"{directory}/link"],
                                     stdout=subprocess.PIPE, text=True)
        try:
            self.assertEqual(exchanger.stdout.readline(), "ready\n")
            return self.results(steps, rules={"allow": ["*"], "deny": [f"{deny}(*secrets*)"]}, write_=[directory])
        finally:
            exchanger.kill()
            exchanger.wait()
            exchanger.stdout.close()

    def test_no_read_follows_a_link_to_a_denied_file(self):
        directory = f"{self.world.directory}/exchanged"
        path = f"mount/write/abs{directory}/plain"
        calls = [bundles.call("Read", path=path) for _ in range(self.READS // 16)]
        together = [{"call": [call["call"] for call in calls[i:i + 1] * 16]} for i in range(len(calls))]
        results = self.exchange(directory, together, "Read")
        self.assertEqual(len(results), self.READS // 16 * 16)
        leaks = [r for r in results if "token" in r.get("content", "")]
        read = [r for r in results if r.get("content") == "plain\n"]
        denied = [r for r in results if "permission denied" in r.get("error", "")]
        self.assertEqual((len(leaks), len(read) + len(denied)), (0, len(results)), results[:3])
        self.assertGreater(len(read), 0)
        self.assertGreater(len(denied), 0)

    def test_no_write_follows_a_link_to_a_denied_file(self):
        directory = f"{self.world.directory}/written"
        path = f"mount/write/abs{directory}/plain"
        call = bundles.call("Write", path=path, content="plain\n")["call"]
        results = self.exchange(directory, [{"call": [call] * 16} for _ in range(8)], "Write")
        self.assertEqual(len(results), 128)
        with open(f"{directory}/secrets/a", encoding="utf-8") as file:
            self.assertEqual(file.read(), "token\n")


class IgnoredTest(FileRulesTest):

    TREE = ("mkdir -p build/keep src/gen vendor/lib/.git/info && echo x >ignored.txt && echo x >.hidden && "
            "echo x >build/keep/a && echo x >src/a.o && echo x >src/keep.o && echo x >src/gen/b && "
            "echo x >vendor/lib/c.o && echo x >vendor/lib/private && printf 'private\\n' >vendor/lib/.git/info/exclude && "
            "printf 'ignored.txt\\n*.o\\nbuild/\\n' >.gitignore && printf '!keep.o\\n/gen\\n' >src/.gitignore && "
            "ln -s ../ignored.txt src/link")

    def test_read_refuses_what_is_ignored(self):
        made, *read, link = self.results(
            [bundles.bash(self.TREE),
             *[bundles.call("Read", path=path) for path in
               ("ignored.txt", "build/keep/a", "src/a.o", "src/gen/b", "vendor/lib/private", ".hidden", "src/keep.o",
                "vendor/lib/c.o", ".gitignore", "/workspace/src/a.o")],
             bundles.call("Read", path="src/link")])
        self.assertEqual(made["status_code"], 0, made)
        self.assertEqual(read[0]["error"], "permission denied: path `ignored.txt` is ignored by .gitignore")
        self.assertEqual(["error" in result for result in read],
                         [True, True, True, True, True, False, False, False, False, True], read)
        self.assertEqual(link["error"], "permission denied: path `src/link` is ignored by .gitignore")

    def test_ls_leaves_out_what_is_ignored(self):
        _, top, source, build, gen = self.results(
            [bundles.bash(self.TREE), bundles.call("LS"), bundles.call("LS", path="src"),
             bundles.call("LS", path="build"), bundles.call("LS", path="src/gen")])
        names = [entry["name"] for entry in top["entries"]]
        for name in ("src", ".hidden", ".gitignore", "vendor"):
            self.assertIn(name, names)
        self.assertFalse({"build", "ignored.txt"} & set(names), names)
        self.assertEqual([entry["name"] for entry in source["entries"]], [".gitignore", "keep.o", "link"])
        self.assertEqual(build["error"], "permission denied: path `build` is ignored by .gitignore")
        self.assertEqual(gen["error"], "permission denied: path `src/gen` is ignored by .gitignore")

    def test_read_agrees_with_glob(self):
        _, glob, ignored, files = self.results(
            [bundles.bash(self.TREE), bundles.call("Glob", pattern="*"),
             bundles.call("Glob", pattern="*", path="build/keep"),
             bundles.bash("find . -type f -not -path '*/.git/*' -printf '%P\\n'")])
        self.assertEqual(ignored["error"], "permission denied: path `build/keep` is ignored by .gitignore")
        everything = files["stdout"].split()
        reads = self.results([bundles.bash(self.TREE), *[bundles.call("Read", path=path) for path in everything]],
                             bundle_id="again")
        seen = sorted(path for path, read in zip(everything, reads[1:]) if "error" not in read)
        self.assertEqual(seen, glob["matches"])

    def test_writes_are_not_bound_and_the_files_are_read_again_after_them(self):
        _, wrote, read, _, again = self.results(
            [bundles.bash("echo a >a.txt; echo b >b.txt"), bundles.call("Write", path=".gitignore", content="a.txt\n"),
             bundles.call("Read", path="a.txt"), bundles.call("Write", path=".gitignore", content="b.txt\n"),
             bundles.call("Read", path="a.txt")])
        self.assertEqual(wrote["bytes"], 6, wrote)
        self.assertIn("is ignored by .gitignore", read.get("error", ""), read)
        self.assertEqual(again["content"], "a\n", again)


if __name__ == "__main__":
    main()
