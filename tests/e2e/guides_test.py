#!/usr/bin/env python3
"""Commands and examples of docs/BUNDLES.md, RULES.md and EVENTS.md, as they are printed there."""

import os
import re
import shlex
import subprocess

import bundles
from world import CTL, SOURCE, WorldTest, main

USER = 4242


def page(name):
    with open(f"{SOURCE}/docs/{name}.md", encoding="utf-8") as file:
        return file.read()


def section(text, title):
    """What stands between a heading and the next one of its kind."""
    return re.search(rf"(?ms)^## {re.escape(title)}\n(.*?)(?=^## |\Z)", text)[1]


def rows(text):
    """Cells of each row of the tables in the text, without their headings."""
    found = [[cell.strip().replace(r"\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
             for line in text.splitlines() if line.startswith("|")]
    rules = [at for at, row in enumerate(found) if set("".join(row)) == {"-"}]
    return [row for at, row in enumerate(found) if at not in rules and at + 1 not in rules]


def quoted(text):
    return re.findall(r"`([^`]+)`", text)


class GuidesTest(WorldTest):

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        assert cls.world.down().code == 0
        cls.world.up("--allow-user", str(USER))

    def folder(self, owner):
        path = self.world.make_directory(f"{self.id()}-{owner}")
        os.chown(path, owner, owner)
        return path

    def shell(self, line, folder, owner):
        environment = {"PATH": os.path.dirname(CTL) + ":" + os.environ["PATH"], "HOME": folder,
                       "ODYSSEY_SOCKET": self.world.socket("agentd"),
                       "ODYSSEY_SUPERVISOR_SOCKET": self.world.socket("supervisor")}
        return subprocess.run(["bash", "-c", line], cwd=folder, env=environment, user=owner, group=owner,
                              extra_groups=[], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)

    def assertPrints(self, shown, out):
        """What a comment behind a command says that it prints; … stands for any text."""
        pattern = ".*".join(re.escape(part) for part in shown.split("…"))
        self.assertRegex(out, f"(?s)^{pattern}")

    def test_a_bundle_from_init_to_another_host(self):
        lines = [line[4:] for line in section(page("BUNDLES"), "Try it").splitlines() if line.startswith("    ")]
        self.assertGreater(len(lines), 10)
        for owner in (0, USER):
            folder = self.folder(owner)
            for line in lines:
                command, _, shown = line.partition("# ")
                done = self.shell(command, folder, owner)
                self.assertEqual(done.returncode, 0, (owner, line, done))
                self.assertPrints(shown, done.stdout)

    def agent(self, tools):
        return self.world.make(f"{self.id()}/agent.yaml", "id: a\nprompt: x\nmodel: {provider: script, name: s.yaml}\n" + tools)

    def check(self, agent, line):
        done = self.world.ctl("-o", "json", "policy", "check", agent, "--cmd", line)
        self.assertIn(done.code, (0, 3, 4), (line, done))
        return done.json()

    def test_the_first_example_of_the_rules(self):
        example = re.search(r"```yaml\n(.*?)```", page("RULES"), re.S)[1]
        agent = self.agent(example)
        for line, code in (("git status -s", 0), ("make", 4), ("git -C x push", 3), ("cat secrets/a", 3),
                           ("git status; rm -rf /", 3)):
            self.assertEqual(self.world.ctl("policy", "check", agent, "--cmd", line).code, code, line)
        wrong = self.agent(example.replace('not_match: ["git status"]', 'not_match: ["git push"]'))
        done = self.world.ctl("policy", "check", wrong, "--cmd", "ls")
        self.assertEqual(done.code, 1, done)
        said = re.search(r"tools\.deny\[1\]\.not_match.*", page("RULES"))[0]
        self.assertIn(said, done.out + done.err)

    def test_the_table_of_targets(self):
        targets = list(rows(section(page("RULES"), "Command lines")))
        self.assertEqual(len(targets), 5)
        for target, fits in targets:
            agent = self.agent(f"tools: {{deny: ['Bash({quoted(target)[0]})']}}\n")
            fit, _, unfit = fits.partition("not ")
            for line in quoted(fit):
                self.assertEqual(self.check(agent, line)["verdict"], "deny", (target, line))
            for line in quoted(unfit):
                self.assertEqual(self.check(agent, line)["verdict"], "allow", (target, line))

    def test_the_table_of_classes(self):
        agent = self.agent("")
        classes = rows(section(page("RULES"), "Risk classes"))
        self.assertEqual(len(classes), 9)
        for name, _, examples in classes:
            for line in re.findall(r"`(.+?)`(?:,|$)", examples):
                self.assertEqual(self.check(agent, line)["risk"], quoted(name)[0], line)

    def test_the_keys_of_events(self):
        keys = {}
        for title in re.findall(r"(?m)^## `(\w+)`$", page("EVENTS")):
            table = rows(section(page("EVENTS"), f"`{title}`"))
            # An object that is not set is left out. A table of two columns lists values, not keys.
            keys[title] = {quoted(row[0])[0]: "optional" in row[1] or row[1] == "object"
                           for row in table if len(row) == 3}
        bundle = bundles.write(f"{self.world.directory}/events", [
            {"think": "a"}, bundles.say("b"), bundles.bash("echo hi; touch /usr/x"),
            bundles.call("Write", path="a", content="b"), bundles.say("end")], rules={"allow": ["*"], "ask": ["Write"]})
        failing = bundles.write(f"{self.world.directory}/failing", [{"fail": "no"}])
        seen = set()
        for words in (("run", bundle, "go", "--approve", "all"), ("run", failing, "go")):
            for line in self.world.ctl("-o", "json", *words).lines():
                kind, payload = line["payload"]["type"], line["payload"]["payload"]
                seen.add(kind)
                self.assertLessEqual(set(payload), set(keys[kind]), kind)
                self.assertLessEqual({key for key, optional in keys[kind].items() if not optional}, set(payload), kind)
        self.assertLessEqual({"turn_started", "turn_completed", "turn_failed", "agent_message_delta", "reasoning_delta",
                              "reasoning_section_break", "tool_call_started", "tool_call_finished",
                              "exec_command_begin", "exec_command_output_delta", "exec_command_end",
                              "permission_requested", "approval_resolved", "access_denied"}, seen)

    def test_the_commands_of_events(self):
        bundle = bundles.write(f"{self.world.directory}/told", [bundles.say("x")])
        session = self.world.ctl("session", "create", bundle).out.strip()
        self.assertEqual(self.world.ctl("run", bundle, "go", "--session", session).code, 0)
        lines = [line[4:] for line in page("EVENTS").splitlines() if line.startswith("    odyssey-ctl")]
        self.assertGreater(len(lines), 2)
        for line in lines:
            words = shlex.split(line, comments=True)[1:]
            if "--follow" in words:
                client = self.world.start(*(session if word == "SESSION" else word for word in words))
                client.until("turn_completed")
                client.kill()
                continue
            done = self.world.ctl(*(session if word == "SESSION" else word for word in words))
            self.assertEqual(done.code, 0, done)
            self.assertTrue(done.out)


if __name__ == "__main__":
    main()
