#!/usr/bin/env python3
"""odyssey-ctl tui as a person has it: on a terminal of tmux, with keys."""

import json
import os
import re
import signal
import unittest

import bundles
import host
from host import HANG_S
from terminal import Terminal
from tmux_screen import TMUX, Screen
from world import World, WorldTest, main

ALICE = 54401
COLOR = re.compile(r"\x1b\[(?:\d+;)*3[1-6][;m]")
ASK = {"ask": ["Bash"]}


@unittest.skipUnless(TMUX, "tmux is not installed")
class TuiTest(WorldTest):
    UP = ["--allow-user", str(ALICE)]

    @classmethod
    def setUpClass(cls):
        cls.world = World()
        cls.addClassCleanup(cls.world.close)
        cls.world.up(*cls.UP)

    def setUp(self):
        self.name = self.id().rpartition(".")[2]
        self.home = self.world.make_directory(f"{self.name}.home")
        self.project = self.world.make_directory(f"{self.name}.project")

    def bundle(self, steps, **options):
        return bundles.write(f"{self.world.directory}/{self.name}.bundle", steps, **options)

    def screen(self, argv, env=None, **options):
        screen = Screen(argv, env={"HOME": self.home, "XDG_CONFIG_HOME": "", **(env or {})},
                        cwd=self.project, **options)
        self.addCleanup(screen.close)
        return screen

    def tui(self, *arguments, **options):
        return self.screen(self.world.argv("tui", *arguments), **options)

    def opened(self, steps, env=None, rows=24, columns=80, **options):
        """With the session of a bundle that a first message, "go", has begun."""
        screen = self.tui("-b", self.bundle(steps, **options), env=env, rows=rows, columns=columns)
        screen.until("no session")
        screen.enter("go")
        return screen

    def sessions(self):
        return self.world.json("session", "list").get("sessions", [])

    def own_session(self):
        return next(each["id"] for each in self.sessions() if each["cwd"] == self.project)


class ConversationTest(TuiTest):

    def test_from_an_empty_folder_to_an_answer(self):
        bundle = self.bundle([bundles.say("Said.")])
        screen = self.tui()
        screen.until("/bundle install [path] installs a bundle", "no session")
        screen.enter("hello")
        screen.until("no bundle: /bundle install [path] installs one")
        screen.enter(f"/bundle install {bundle}")
        screen.until("installed local/probe@0.1.0")
        screen.enter("hello there")
        screen.until("› hello there", "Said.", " ready ", "local/probe@0.1.0", "script/")
        self.assertEqual(self.world.json("session", "show", self.own_session())["turns"][0]["prompt"], "hello there")
        screen.enter("/bundles")
        screen.until("local/probe@0.1.0", "every user")
        screen.keys("Tab")
        screen.until("A probe.")
        screen.enter("/models")
        screen.until("script/scenario.yaml")
        screen.enter("/skills")
        screen.until("the bundle has no skills")
        screen.enter("/sessions")
        screen.until("SESSION", self.own_session()[:12])
        screen.keys("Escape")
        screen.until("Said.")

    def test_a_turn_is_shown_as_it_comes(self):
        gate = f"{self.project}/gate"
        screen = self.opened([bundles.bash("echo begun; until [ -e mount/write/current/gate ]; do sleep 0.05; done; "
                                           "echo over"), bundles.say("Said.")], write_=["."])
        screen.until("begun", " works ")
        self.assertNotIn("Said.", screen.text)
        with open(gate, "w", encoding="ascii"):
            pass
        screen.until("over", "✓ Bash", "Said.", " ready ")

    def test_a_running_turn_is_cancelled(self):
        screen = self.opened([bundles.bash("echo begun; sleep 1234567"), bundles.say("No.")])
        screen.until("begun", " works ")
        screen.keys("C-x")
        screen.until("turn cancelled", " ready ")
        self.assertFalse(self.world.cell_commands("1234567"))
        screen.keys("C-x")
        screen.until("no turn runs")

    def test_a_command_of_the_operator_runs_in_the_cell(self):
        screen = self.opened([bundles.bash("echo made >file-of-the-agent"), bundles.say("Said.")], rows=50)
        screen.until("Said.", " ready ")
        screen.enter("!ls; seq 30 | tail -20")
        screen.until("file-of-the-agent", "    15", "exit 0", " ready ")
        screen.enter("!echo begun; exec sleep 7654321")
        screen.until("    begun", " runs !")
        screen.keys("C-c")
        screen.until("signalled", " ready ")
        self.assertFalse(self.world.cell_commands("7654321"))

    def test_what_a_command_writes_does_not_act_on_the_terminal(self):
        hostile = r"printf 'x\033]2;hacked\007\033[2J\033]52;c;aGFja2Vk\007y\nover\rwritten\nbidi \342\200\256z\n'"
        screen = self.opened([bundles.bash(hostile), bundles.say("a\x1b]2;hacked\x07b\u202ec e\u0301\u0302\u0303")],
                             columns=140)
        screen.until("x\\e]2;hacked\\x07\\e[2J\\e]52;c;aGFja2Vk\\x07y", "over\\rwritten", "bidi \\u{202e}z",
                     "a\\e]2;hacked\\x07b\\u{202e}c e\u0301\u0302\\u{0303}")
        self.assertNotEqual(screen.pane("pane_title"), "hacked")
        self.assertEqual(screen.tmux("list-buffers"), "")

    def test_a_session_is_left_and_joined_again(self):
        screen = self.opened([bundles.say("Said.")])
        screen.until("Said.", " ready ")
        session = self.own_session()
        screen.keys("C-c")
        self.assertEqual(screen.ended(), 0)
        self.assertIn(f"odyssey-ctl tui --session {session} shows it again\n", screen.text)
        other = self.tui()
        other.until("no session")
        other.enter(f"/join {session}")
        other.until("› go", "Said.", " ready ")
        uuid = session[4:]
        other.enter("/session join x")
        other.until("invalid session id")
        other.enter("/nosuch")
        other.until("unknown command: nosuch")
        other.enter(f"/join {uuid[:8]}-{uuid[8:12]}-{uuid[12:16]}-{uuid[16:20]}-{'0' * 12}")
        other.until("join the session: ")
        third = self.tui("--session", session)
        third.until("› go", "Said.")

    def test_ctrl_n_makes_another_session(self):
        screen = self.opened([bundles.say("Said.")])
        screen.until("Said.", " ready ")
        screen.keys("C-n")
        screen.until_not("Said.")
        host.eventually(lambda: sum(each["cwd"] == self.project for each in self.sessions()) == 2, HANG_S, self.sessions)

    def test_what_was_typed_is_kept(self):
        screen = self.tui()
        screen.until("no session")
        for line in ("/nosuch1", "/nosuch2"):
            screen.enter(line)
            screen.until(f"unknown command: {line[1:]}")
        screen.type("a draft")
        screen.keys("Up", "Up")
        screen.until("› /nosuch1")
        screen.keys("Down", "Down")
        screen.until("› a draft")
        screen.keys("Escape")
        screen.until_not("a draft")
        screen.keys("C-c")
        self.assertEqual(screen.ended(), 0)
        with open(f"{self.home}/.odyssey/tui_history.json", encoding="utf-8") as file:
            self.assertEqual(json.load(file), ["/nosuch1", "/nosuch2"])
        other = self.tui()
        other.until("no session")
        other.keys("Up")
        other.until("› /nosuch2")

    def test_what_is_pasted_is_one_message(self):
        screen = self.opened([bundles.say("I was asked: ${prompt}.")])
        screen.until("I was asked: go.")
        screen.paste("two\nlines")
        screen.until("› two\\nlines")
        screen.keys("Enter")
        screen.until("I was asked: two")

    def test_a_lost_daemon_is_waited_for(self):
        screen = self.opened([bundles.say("Said.")])
        screen.until("Said.", " ready ")
        os.kill(self.world.agentd, signal.SIGKILL)
        screen.until("connection to agentd lost; connecting again")
        screen.until("connected again", " ready ")
        screen.enter("another message")
        screen.until("› another message")
        host.eventually(lambda: screen.text.count("Said.") == 2, HANG_S, lambda: screen.text)


    def test_a_session_that_is_removed_is_left(self):
        screen = self.opened([bundles.say("Said.")])
        screen.until("Said.", " ready ")
        self.assertEqual(self.world.ctl("session", "rm", self.own_session()).code, 0)
        screen.until("the session was removed", "no session")
        screen.enter("another message")
        screen.until("› another message", "Said.", " ready ")


class ApprovalTest(TuiTest):

    def test_keys_answer(self):
        screen = self.opened([bundles.bash("echo one"), bundles.bash("echo two"), bundles.bash("echo three"),
                              bundles.bash("echo three"), bundles.say("[${r.success}]")], rules=ASK)
        screen.until("? Bash asks for approval", "command: echo one", "y once · a always · n deny", " asks ")
        screen.keys("y")
        screen.until("allowed once by uid 0", "command: echo two", "y once · a always · n deny")
        screen.keys("n")
        screen.until("denied by uid 0", "command: echo three", "y once · a always · n deny")
        screen.keys("a")
        screen.until("allowed for the rest of the session", "[true]", " ready ")

    def test_a_long_request_is_read_to_its_end(self):
        command = "\n".join(f"echo {i}" for i in range(60))
        screen = self.opened([bundles.bash(command), bundles.say("[${r.success}]")], rules=ASK)
        screen.until("more rows · n deny")
        screen.keys("y")
        screen.keys("PageDown")
        screen.until("echo 13")
        self.assertNotIn("echo 59", screen.text)
        for _ in range(8):
            screen.keys("PageDown")
        screen.until("echo 59", "y once · a always · n deny")
        screen.keys("y")
        screen.until("[true]")

    def test_the_list_of_approvals_answers_for_other_sessions(self):
        bundle = self.bundle([bundles.bash("echo ran"), bundles.say("[${r.success}]")], rules=ASK)
        session = self.world.ctl("session", "create", bundle).out.strip()
        turn = self.world.ctl("turn", "submit", session, "--prompt", "x").out.strip()
        screen = self.tui()
        screen.until("1 request waits (Ctrl+P)")
        screen.keys("C-p")
        screen.until("▸ " + session[:12], "command: echo ran", "y once · a always · n deny")
        screen.keys("y")
        screen.until("nothing waits for an answer")
        host.eventually(lambda: self.world.json("turn", "status", session, turn)["turn"]["status"] == "completed",
                        HANG_S, lambda: self.world.json("turn", "status", session, turn))

    def test_what_is_answered_elsewhere_goes_away(self):
        screen = self.opened([bundles.bash("echo ran"), bundles.say("[${r.success}]")], rules=ASK)
        screen.until("y once · a always · n deny")
        request = next(each["request"]["request_id"] for each in self.world.json("approval", "list")["approvals"]
                       if each["session_id"] == self.own_session())
        self.assertEqual(self.world.ctl("approval", "allow", request).code, 0)
        screen.until("[true]", " ready ")
        self.assertNotIn("y once", screen.text)


class ScreenTest(TuiTest):

    def test_a_window_is_resized(self):
        screen = self.opened([bundles.say("Said.")])
        screen.until("Said.", " ready ")
        for rows, columns in ((40, 120), (16, 60)):
            screen.resize(rows, columns)
            host.eventually(lambda: screen.text.rstrip("\n").split("\n")[rows - 2:rows - 1] and
                            " ready " in screen.text.split("\n")[rows - 2], HANG_S, lambda: screen.text)
        screen.resize(10, 50)
        screen.until("odyssey-ctl tui needs 60×16; this is 50×10")
        screen.resize(24, 80)
        screen.until("Said.", " ready ")

    def test_themes(self):
        screen = self.opened([bundles.bash("echo out"), bundles.say("Said.")])
        screen.until("Said.", " ready ")
        self.assertRegex(screen.styled, COLOR)
        screen.enter("/theme x")
        screen.until("unknown theme 'x'. Available: odyssey, light, plain")
        screen.enter("/theme plain")
        host.eventually(lambda: not COLOR.search(screen.styled), HANG_S, lambda: repr(screen.styled))
        with open(f"{self.home}/.config/odyssey/tui.json", encoding="utf-8") as file:
            self.assertEqual(json.load(file), {"theme": "plain"})
        other = self.tui()
        other.until("no session")
        other.enter("/theme")
        other.until("in use")
        self.assertRegex(other.text, r"▸ plain +in use")

    def test_no_color(self):
        screen = self.opened([bundles.bash("false"), bundles.say("Said.")], env={"NO_COLOR": "1"})
        screen.until("Said.", " ready ")
        self.assertNotRegex(screen.styled, COLOR)

    def test_the_dashboard(self):
        screen = self.opened([bundles.bash("cat /root/x"), bundles.bash("sleep 4561234"), bundles.say("No.")],
                             rows=40, columns=120)
        screen.until(" works ", "sleep 4561234")
        screen.keys("C-o")
        screen.until("Cells", "PHASE", "running", "memory", "at most ", "Denied in this session: 1", "Sessions: ",
                     "▸ " + self.own_session()[:12])
        screen.keys("Escape")
        screen.until("sleep 4561234")
        screen.keys("C-x")
        screen.until("turn cancelled")

    def test_a_user_without_the_supervisor_is_told(self):
        os.chown(self.home, ALICE, ALICE)
        screen = self.screen(["setpriv", f"--reuid={ALICE}", f"--regid={ALICE}", "--clear-groups", "--",
                              *self.world.argv("tui")])
        screen.until("no session")
        screen.keys("C-o")
        screen.until("odyssey-supervisor at ", "Sessions: 0")

    def test_help_names_every_key(self):
        screen = self.tui(rows=30)
        screen.until("no session")
        screen.keys("F1")
        screen.until("Ctrl+N  Ctrl+R", "/theme <name>", "!command")
        screen.keys("Escape")
        screen.until_not("!command")

    def test_the_palette(self):
        screen = self.tui()
        screen.until("no session")
        screen.type("/s")
        screen.until("▸ /sessions", "/skills")
        screen.keys("Down", "Tab")
        screen.until("› /skills")
        screen.keys("Enter")
        screen.until("no installed bundle is chosen")

    def test_a_signal_restores_the_terminal(self):
        for name in ("TERM", "INT", "HUP"):
            with self.subTest(signal=name):
                screen = self.tui()
                screen.until("no session")
                self.assertEqual(screen.pane("alternate_on"), "1")
                os.kill(screen.pid, getattr(signal, "SIG" + name))
                self.assertEqual(screen.ended(), 0)
                for word in ("icanon", "isig", "echo", "ixon", "icrnl"):
                    self.assertRegex(screen.settings, rf"(?<!-)\b{word}\b")
                self.assertEqual(screen.pane("alternate_on"), "0")

    def refused(self, done, *words):
        self.assertEqual(done.code, 1)
        self.assertRegex(done.err, r"^odyssey-ctl: tui: .*\n  odyssey-ctl run BUNDLE PROMPT .*\n$")
        for word in words:
            self.assertIn(word, done.err)

    def test_without_a_screen_it_says_why_and_what_else(self):
        self.refused(self.world.ctl("tui"), "stdin is no terminal")
        for term, words in (("dumb", ["TERM dumb: it cannot place its cursor"]),
                            ("nosuch", ["TERM nosuch: terminfo has no such terminal"]), ("", ["TERM is not set"])):
            with self.subTest(term=term):
                terminal = Terminal(self.world.argv("tui"), env={"TERM": term})
                self.assertEqual(terminal.ended(), 1)
                for word in [*words, "odyssey-ctl: tui: ", "odyssey-ctl run BUNDLE PROMPT"]:
                    self.assertIn(word, terminal.text)

    def test_without_daemons_it_says_so(self):
        terminal = Terminal([*self.world.argv("tui")[:1], "--state", self.world.directory + "/nothing", "tui"],
                            env={"TERM": "xterm"})
        self.assertEqual(terminal.ended(), 1)
        self.assertIn("odyssey-ctl: tui: connect to odyssey-agentd at ", terminal.text)


if __name__ == "__main__":
    main()
