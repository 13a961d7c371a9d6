#!/usr/bin/env python3
"""The web console in headless Chromium, against real daemons: nothing but what a person has.

With ODYSSEY_PICTURES it leaves pictures of the pages in that directory (docs/HTTP.md).
"""

import os
import urllib.parse
import uuid

from selenium import webdriver
from selenium.common.exceptions import NoSuchElementException, StaleElementReferenceException
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

import browser
import bundles
import host
from world import HANG_S, World, WorldTest, main

RULES = {"allow": ["Bash", "Read"], "ask": ["Write"]}
MOST_FIRST_LOAD = 300 * 1024  # bytes
# Roles of what has to have a name.
NAMED = {"button", "link", "textbox", "searchbox", "combobox", "tab", "image", "meter", "article", "log"}
# Texts whose contrast with what is behind them is less than 4.5, with the ratio.
CONTRASTS = """
const rgba = (text) => text.match(/[\\d.]+/g).map(Number);
const over = (top, under) => top.slice(0, 3).map((value, i) => value * (top[3] ?? 1) + under[i] * (1 - (top[3] ?? 1)));
const ground = (element) => {
  const layers = [];
  for (let at = element; at; at = at.parentElement) layers.unshift(rgba(getComputedStyle(at).backgroundColor));
  return layers.reduce((under, top) => over(top, under), [255, 255, 255]);
};
const luminance = (rgb) => {
  const [r, g, b] = rgb.map((value) => { const c = value / 255; return c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4; });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const found = [];
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walker.nextNode()) {
  const element = walker.currentNode.parentElement;
  if (walker.currentNode.data.trim() === "" || !element.checkVisibility() || element.closest("script, noscript, .skip, option")) continue;
  const behind = ground(element);
  const [a, b] = [luminance(over(rgba(getComputedStyle(element).color), behind)), luminance(behind)];
  const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  if (ratio < 4.5) found.push([ratio.toFixed(2), element.className, walker.currentNode.data.slice(0, 40)]);
}
return found;
"""


class ConsoleTest(WorldTest):

    @classmethod
    def setUpClass(cls):
        cls.world = World()
        cls.addClassCleanup(cls.world.close)
        cls.world.up("--http-listen", "127.0.0.1:0")
        cls.browser = cls.enterClassContext(browser.chromium())

    def setUp(self):
        super().setUp()
        self.browser.delete_all_cookies()
        self.browser.get_log("browser")
        for left in self.world.json("approval", "list").get("approvals", []):  # by a test that failed
            self.world.ctl("approval", "deny", left["request"]["request_id"])

    def tearDown(self):
        problems = [entry["message"] for entry in self.browser.get_log("browser") if entry["level"] == "SEVERE"]
        self.assertEqual([text for text in problems if "401" not in text], [])
        super().tearDown()

    # What a person does.

    def link(self):
        done = self.world.ctl("web")
        self.assertEqual(done.code, 0, done)
        return next(word for word in done.out.split() if word.startswith("http://"))

    def open(self, where="", link=None):
        url = link or self.link()
        self.browser.get("about:blank")
        self.browser.get(url)
        self.until(lambda: self.find("#connection").text == "connected", "the console is connected")
        if where:
            self.go(where)

    def go(self, where):
        self.browser.execute_script("location.hash = arguments[0]", where)

    def find(self, css):
        return self.browser.find_element(By.CSS_SELECTOR, css)

    def all(self, css):
        return self.browser.find_elements(By.CSS_SELECTOR, css)

    def text(self):
        return self.find("main").text

    def until(self, condition, what):
        def holds():
            try:
                return condition()
            except (NoSuchElementException, StaleElementReferenceException):
                return False  # the page has changed meanwhile
        return host.eventually(holds, HANG_S, lambda: f"{what}; the page has: {self.text()}")

    def until_text(self, text):
        self.until(lambda: text in self.text(), f"{text!r} on the page")

    def tab(self, name):
        next(tab for tab in self.all(".tabs button") if tab.text == name).click()

    def is_wider_than_the_page(self):
        return self.browser.execute_script("return document.documentElement.scrollWidth > document.documentElement.clientWidth")

    def type(self, *keys):
        webdriver.ActionChains(self.browser).send_keys(*keys).perform()

    def picture(self, name):
        directory = os.environ.get("ODYSSEY_PICTURES")
        if directory:
            self.browser.save_screenshot(os.path.join(directory, name + ".png"))

    # What there is to see.

    def bundle(self, steps, rules=None, name=None, **options):
        name = name or self.id().rpartition(".")[2].replace("_", "-")
        path = bundles.write(f"{self.world.directory}/{name}", steps, rules=rules or RULES, bundle_id=name, **options)
        done = self.world.ctl("bundle", "install", path)
        self.assertEqual(done.code, 0, done)
        return name

    def session(self, steps, *options, **of_bundle):
        done = self.world.ctl("session", "create", *options, self.bundle(steps, **of_bundle))
        self.assertEqual(done.code, 0, done)
        return done.out.strip()

    def submit(self, session, prompt="go"):
        done = self.world.ctl("turn", "submit", session, "--prompt", prompt)
        self.assertEqual(done.code, 0, done)

    def read(self, session, path):
        return self.world.ctl("session", "exec", session, "--", "cat", path)

    @staticmethod
    def shown_id(session):
        """As HTTP has it: a UUID of the same digits."""
        return str(uuid.UUID(session.removeprefix("ses_")))

    # Signing in.

    def test_a_link_works_once_and_leaves_no_secret_in_the_address(self):
        link = self.link()
        self.open(link=link)
        self.assertNotIn("link=", self.browser.current_url)
        cookie, = self.browser.get_cookies()
        self.assertTrue(cookie["httpOnly"])
        self.assertEqual(cookie["sameSite"], "Strict")
        self.browser.delete_all_cookies()
        self.browser.get("about:blank")
        self.browser.get(link)
        self.until_text("odyssey-ctl web")

    def test_without_a_link_nothing_is_shown(self):
        parts = urllib.parse.urlsplit(self.link())
        self.browser.get(f"{parts.scheme}://{parts.netloc}/")
        self.until_text("odyssey-ctl web")
        self.assertEqual(self.all("table, .approval"), [])

    # The main job.

    def test_a_turn_streams_and_asks_and_writes_what_was_allowed(self):
        bundle = self.bundle([bundles.say("I look. "), bundles.bash("echo from the cell; echo wrong >&2"),
                              bundles.call("Write", path="note.txt", content="hello\n"), bundles.say("Written: ${r.success}")])
        self.open("#/sessions")
        self.until(lambda: any(bundle in option.text for option in self.all("select option")), "the bundle is offered")
        for option in self.all("select option"):
            if bundle in option.text:
                option.click()
        self.find("form.inline button").click()
        self.until(lambda: self.all("textarea"), "the session is open")
        self.find("textarea").send_keys("write a note", Keys.ENTER)
        self.until_text("write a note")
        self.until_text("from the cell")
        self.until(lambda: self.all(".approval.waits"), "the request waits")
        self.assertIn("hello", self.find(".approval.waits").text)
        self.assertEqual(self.find("#pending").text, "1")
        self.picture("session")
        self.find(".approval.waits button.allow_once").click()
        self.until_text("turn completed")
        self.assertIn("allowed once by uid 0", self.text())
        session = "ses_" + uuid.UUID(self.browser.current_url.rpartition("/")[2]).hex
        self.assertEqual(self.read(session, "note.txt").out, "hello\n")

    def test_by_keys_alone(self):
        session = self.session([bundles.call("Write", "a", path="a", content="1"), bundles.call("Write", "b", path="b", content="2"),
                                bundles.say("${a.error} and ${b.success}")])
        self.open()
        self.submit(session)
        self.until(lambda: self.all(".approval.waits"), "the first request waits")
        self.until(lambda: self.browser.switch_to.active_element.get_attribute("class").startswith("approval"),
                   "the request has the focus")
        self.picture("approvals")
        first = self.find(".approval.waits").text
        self.type("n")
        self.until(lambda: self.all(".approval.waits") and self.find(".approval.waits").text != first, "the second request waits")
        self.type("y")
        self.until_text("Nothing waits")
        self.type("g", "s")
        self.until(lambda: any(self.shown_id(session)[:16] in row.text for row in self.all("td a")), "the session is listed")
        self.type("?")
        self.until_text("cancel the turn")
        self.assertNotEqual(self.read(session, "a").code, 0)
        self.assertEqual(self.read(session, "b").out, "2")

    def test_an_answer_of_another_client_takes_the_request_away(self):
        session = self.session([bundles.call("Write", path="a", content="1"), bundles.say("done")])
        self.open()
        self.submit(session)
        self.until(lambda: self.all(".approval.waits"), "the request waits")
        request, = self.world.json("approval", "list", "--session", session)["approvals"]
        self.assertEqual(self.world.ctl("approval", "deny", request["request"]["request_id"]).code, 0)
        self.until_text("Nothing waits")

    def test_an_operators_command_and_a_cancelled_turn(self):
        session = self.session([bundles.bash("sleep 300"), bundles.say("never")])
        self.open(f"#/sessions/{session}")
        self.until(lambda: self.all("textarea"), "the session is open")
        self.find("textarea").send_keys("wait", Keys.ENTER)
        self.until_text("sleep 300")
        self.find("#cancel").click()
        self.until_text("turn cancelled")
        self.find("textarea").send_keys("!echo by the operator", Keys.ENTER)
        self.until(lambda: "exit 0" in self.text(), "the command has ended")
        self.assertIn("by the operator", self.text())

    def test_changes_are_shown_and_committed(self):
        work = self.world.make_directory("work")
        os.chmod(work, 0o777)
        session = self.session([bundles.call("Write", path="mount/write/current/made.txt", content="one\ntwo\n"),
                                bundles.say("done")], "--review", "--cwd", work, rules={"allow": ["*"]}, write_=["."])
        self.submit(session)
        self.open(f"#/sessions/{session}")
        self.until_text("waits for a commit: 1 added")
        self.tab("Changes")
        self.until_text("+two")
        self.picture("changes")
        next(button for button in self.all(".answers button") if button.text == "Commit").click()
        self.until_text("Nothing waits for a commit")
        with open(f"{work}/made.txt", encoding="utf-8") as file:
            self.assertEqual(file.read(), "one\ntwo\n")

    def test_what_was_refused_is_listed(self):
        session = self.session([bundles.bash("touch /usr/x"), bundles.say("done")], rules={"allow": ["*"]})
        self.submit(session)
        self.open(f"#/sessions/{session}")
        self.until_text("turn completed")
        self.tab("Refused")
        self.until_text("/usr/x")

    # Cells, policies, records.

    def test_cells_are_plotted_as_they_live(self):
        # It has 30 to 90 MiB and some of a core.
        session = self.session([bundles.bash("while :; do for n in 30 60 90; do head -c $n\"M\" /dev/zero | tail -c $n\"M\" | (sleep 4; wc -c); done; done"),
                                bundles.say("never")],
                               rules={"allow": ["*"]}, name="nightly-build", resources={"memory_mb": 256, "cpu": 1, "pids": 64, "wall_clock_s": 600})
        self.open("#/cells")
        self.submit(session)
        name = self.shown_id(session)[:8]
        self.until(lambda: any(name in cell.text for cell in self.all(".cell")), "the cell is shown")

        def cell():
            return next(cell for cell in self.all(".cell") if name in cell.text)
        self.until(lambda: "of 256 MiB" in cell().text and "of 1.00 cores" in cell().text, "what it uses of its limits")
        self.assertIn("of 64", cell().text)
        lines = [line.get_attribute("d") for line in cell().find_elements(By.CSS_SELECTOR, ".line")]
        self.assertEqual(len(lines), 3)
        self.until(lambda: all("L" in line.get_attribute("d") for line in cell().find_elements(By.CSS_SELECTOR, ".line")),
                   "each plot has a line of several samples")
        label = cell().find_element(By.CSS_SELECTOR, "svg").get_attribute("aria-label")
        self.assertRegex(label, r"^Memory of the last 5 minutes: now .* limit 256 MiB$")
        row = self.until(lambda: next((row.text for row in self.all("tbody tr") if name in row.text), ""), "its numbers")
        self.assertRegex(row, r"running\n.*MiB of 256 MiB\n.* of 1.00 cores\n.* of 64$")
        if os.environ.get("ODYSSEY_PICTURES"):  # of more than two samples
            self.until(lambda: self.find(".cell .line").get_attribute("d").count("L") > 50, "two minutes")
            self.picture("cells")
        self.world.ctl("session", "cancel", session)
        self.assertEqual(self.world.ctl("session", "rm", session).code, 0)
        self.until(lambda: not any(name in cell.text for cell in self.all(".cell")), "the cell is gone")

    def ask_policy(self, kind, text):
        self.until(lambda: self.all("[role=tabpanel] select"), "the question can be asked")
        next(option for option in self.all("[role=tabpanel] option") if option.text == kind).click()
        box = self.find("[role=tabpanel] form input")
        box.clear()
        self.browser.execute_script("arguments[0].value = arguments[1]", box, text)
        box.send_keys(Keys.ENTER)
        self.until(lambda: self.all(".decision"), "the answer")
        return self.find(".decision").text

    def test_a_policy_is_explained_and_asked(self):
        work = self.world.make_directory("work")
        session = self.session([bundles.say("done")], "--cwd", work, name="api-client", read=["."],
                               rules={"allow": ["Bash"], "deny": ["Bash(git push:*)"]},
                               network_policies={"api": {"endpoints": [{"host": "api.example.com", "port": 443}],
                                                         "binaries": [{"path": "/usr/bin/curl"}]}})
        self.open(f"#/sessions/{session}")
        self.until(lambda: self.all("textarea"), "the session is open")
        self.type(Keys.ESCAPE, "5")
        self.until_text("limits.memory_bytes")
        rows = {cells[0].text: [cell.text for cell in cells[1:]] for cells in
                (row.find_elements(By.CSS_SELECTOR, "td") for row in self.all("tbody tr")) if cells}
        value, source = rows["mounts[0]"]
        self.assertEqual(value, f"{work} at /workspace/mount/read/current, read-only")
        self.assertRegex(source, r"^odyssey\.bundle\.json5:\d+: sandbox\.permissions\.filesystem\.mounts\.read")
        self.assertRegex(rows["mode"][1], r"^odyssey\.bundle\.json5:\d+: sandbox\.mode$")
        self.assertEqual(rows["limits.pids"], ["512 processes and threads", "default"])
        self.assertIn("network egress: own network namespace", self.text())
        self.assertIn("api.example.com", self.find("pre.code").text)
        for kind, text, verdict, has in (
                ("read or write", "/etc/shadow", "No", "/etc"),
                ("read or write", f"{work}/a", "Yes", "/workspace/mount/read/current/a"),
                ("connect to", "api.example.com:443", "Yes", "an endpoint lets it through"),
                ("connect to", "www.example.org:443", "No", "no endpoint names it"),
                ("run by Bash", "git -C r push origin", "No", "Bash(git push:*)"),
                ("run by Bash", "ls", "Yes", "Bash")):
            with self.subTest(text):
                answer = self.ask_policy(kind, text)
                self.assertTrue(answer.splitlines()[0].endswith(f"{text}? {verdict}"), answer)
                self.assertIn(has, answer)
        self.ask_policy("read or write", "/etc/shadow")
        self.picture("policy")
        box = self.find("[role=tabpanel] form input")
        box.clear()
        box.send_keys("etc/shadow")
        next(option for option in self.all("[role=tabpanel] option") if option.text == "read or write").click()
        box.send_keys(Keys.ENTER)
        self.until_text("an absolute path of the host")
        self.browser.get_log("browser")  # the 400

    def test_network_and_record_are_listed_and_searched(self):
        session = self.session([bundles.bash("curl -sS http://blocked.example.net/ || true"), bundles.call("Write", path="a", content="1"),
                                bundles.say("done")], rules={"allow": ["Bash"], "ask": ["Write"]},
                               network_policies={"api": {"endpoints": [{"host": "api.example.com", "port": 443}],
                                                         "binaries": [{"path": "/usr/bin/curl"}]}})
        self.submit(session)
        self.open(f"#/sessions/{session}")
        self.until(lambda: self.all(".approval.waits"), "the request waits")
        self.type(Keys.ESCAPE, "y")
        self.until_text("turn completed")
        self.type("4")
        self.until(lambda: "blocked.example.net:80" in self.find(".totals").text, "the destination is counted")
        self.until(lambda: any("curl may not reach blocked.example.net:80" in row.text for row in self.all(".record.denied")), "the refusal")
        self.picture("network")
        self.find("[aria-selected=true]").send_keys(Keys.ARROW_LEFT)
        self.until_text("blocked.example.net")  # Refused
        self.type("6")
        self.until_text("allowed once by uid 0")
        text = self.text()
        for each in ("turn: go", "curl -sS", "Write asks", "turn completed", "odyssey-ctl audit tail"):
            self.assertIn(each, text)
        self.find("input[type=search]").send_keys("write asks")
        self.until(lambda: self.find("[role=status].soft").text == "1 record", "one is found")
        self.assertEqual(len(self.all(".record")), 1)

    def test_what_is_added_to_the_cell_is_allowed_for_the_session(self):
        data = self.world.make_directory("data")
        os.chmod(data, 0o777)
        steps = [bundles.bash(f"cp /etc/hostname {data}/a", f"r{n}", grants=[{"mount_write": data}], reason="to keep it") for n in range(2)]
        session = self.session([*steps, bundles.say("done")], rules={"allow": ["Bash"]})
        self.open()
        self.submit(session)
        self.until(lambda: self.all(".approval.waits"), "the request waits")
        self.assertEqual([button.text.split()[0:2] for button in self.all(".answers button")],
                         [["Allow", "this"], ["This", "session"], ["Deny", "n"]])
        self.type("s")
        self.until_text("Nothing waits")
        self.go(f"#/sessions/{session}")
        self.until_text("turn completed")  # and the second call did not ask
        self.assertIn("allowed for the rest of the session by uid 0", self.text())
        grant, = self.world.json("session", "show", session)["grants"]
        self.tab("Policy")
        self.until_text(f"{data} at /workspace/mount/write/abs{data}, writable approval {grant['id']}")

    # What agents write.

    def test_nothing_of_an_agents_is_markup_or_hidden(self):
        evil = "<img src=x onerror=document.title='owned'><script>document.title='owned'</script>\u202etxt.exe\u200b"
        session = self.session([bundles.say(evil), bundles.call("Write", path=evil, content=evil), bundles.say("done")])
        self.open(f"#/sessions/{session}")
        self.until(lambda: self.all("textarea"), "the session is open")
        self.submit(session, evil)
        self.until(lambda: self.all(".approval.waits"), "the request waits")
        for where in (f"#/sessions/{session}", "#/approvals"):
            self.go(where)
            self.until(lambda: self.all(".approval.waits"), "the request waits")
            self.assert_is_text(self.find(".approval.waits").text)
        self.type("n")
        self.until_text("Nothing waits")
        self.go(f"#/sessions/{session}")
        self.until(lambda: self.all(".tabs button"), "the session is open")
        self.tab("Record")
        self.until(lambda: "denied by uid" in self.text(), "the answer is recorded")
        self.assert_is_text(self.find(".record.asked").text)
        self.tab("Policy")
        self.ask_policy("run by Bash", f"rm '{evil}'")
        self.assert_is_text(self.find(".decision").text)

    def assert_is_text(self, text):
        self.assertIn("<script>", text)
        self.assertIn("⟨U+202E⟩txt.exe⟨U+200B⟩", text)
        self.assertEqual(self.all("main img, main script"), [])
        self.assertNotIn("owned", self.browser.title)

    # Everybody.

    def assert_readable(self, where):
        """Contrast of all text as WCAG 2 AA has it, and a name for each thing that a screen reader stops at."""
        faint = self.browser.execute_script(CONTRASTS)
        self.assertEqual(faint, [], where)
        tree = self.browser.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
        nameless = [node["role"]["value"] for node in tree
                    if not node["ignored"] and node["role"]["value"] in NAMED and not node.get("name", {}).get("value")]
        self.assertEqual(nameless, [], where)
        self.assertIn("main", [node["role"]["value"] for node in tree])

    def test_every_page_can_be_read_in_the_dark_and_by_a_screen_reader(self):
        work = self.world.make_directory("readable")
        os.chmod(work, 0o777)
        session = self.session([bundles.bash("echo out; echo err >&2; touch /usr/x; curl -sS http://blocked.example.net/"),
                                bundles.call("Write", "w", path="mount/write/current/a.txt", content="1\n"),
                                bundles.call("Write", path="b", content="1"), bundles.say("done")],
                               "--review", "--cwd", work, rules={"allow": ["Bash", "Write(mount/**)"], "ask": ["Write(b)"]}, write_=["."],
                               network_policies={"api": {"endpoints": [{"host": "api.example.com", "port": 443}],
                                                         "binaries": [{"path": "/usr/bin/curl"}]}})
        self.submit(session)
        self.open()
        self.until(lambda: self.all(".approval.waits"), "the request waits")
        self.addCleanup(self.browser.execute_cdp_cmd, "Emulation.setEmulatedMedia", {"features": []})
        for scheme in ("light", "dark"):
            self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [
                {"name": "prefers-color-scheme", "value": scheme}, {"name": "prefers-reduced-motion", "value": "reduce"}]})
            for page, has in (("approvals", ".approval.waits"), ("sessions", "tbody tr"), ("cells", ".numbers td"), ("help", "kbd")):
                self.go(f"#/{page}")
                self.until(lambda has=has: self.all(has), page)
                self.assert_readable(f"{page}, {scheme}")
                self.picture(f"{page}-{scheme}")
            self.go(f"#/sessions/{session}")
            for name, has in (("Conversation", ".approval.waits"), ("Changes", ".diff"), ("Refused", "tbody tr"), ("Network", ".record"),
                              ("Policy", ".plan li"), ("Record", ".record")):
                self.until(lambda: self.all(".tabs button"), "the session is open")
                self.tab(name)
                self.until(lambda has=has: self.all(has), name)
                self.assert_readable(f"{name}, {scheme}")
        self.go("#/approvals")
        self.until(lambda: self.all(".approval.waits"), "the request waits")
        self.type("n")
        self.until_text("Nothing waits")

    # How much.

    def test_ten_thousand_events_are_a_window(self):
        # A turn has 100 answers of the model, and an answer of the script 16 calls.
        answer = {"call": [bundles.bash("echo x", f"r{index}")["call"] for index in range(16)]}
        session = self.session([answer] * 90 + [bundles.say("the end")])
        self.submit(session, "first")
        self.open(f"#/sessions/{session}")
        host.eventually(lambda: int(self.world.json("session", "show", session)["last_sequence"]) > 7000, HANG_S,
                        "a long turn")
        self.until_text("the end")
        self.assertLess(len(self.all(".windowed-item")), 200)
        self.browser.execute_script("document.querySelector('.windowed').scrollTop = 0")
        self.until_text("first")

    def test_the_first_load_is_small(self):
        self.open()
        loaded = self.browser.execute_script(browser.LOADED)
        self.assertGreater(len(loaded), 5)
        self.assertLess(sum(size for _, size in loaded), MOST_FIRST_LOAD, loaded)
        origin = "/".join(self.browser.current_url.split("/")[:3])
        self.assertEqual([name for name, _ in loaded if not name.startswith(origin)], [])

    def test_it_fits_a_phone(self):
        session = self.session([bundles.call("Write", path="a/very/long/path/" + "x" * 120, content="1\n"), bundles.say("done")])
        self.browser.set_window_size(500, 800)
        self.addCleanup(self.browser.set_window_size, 1200, 900)
        self.open()
        self.submit(session)
        self.until(lambda: self.all(".approval.waits"), "the request waits")
        self.assertFalse(self.is_wider_than_the_page())
        self.picture("phone")
        self.type("n")
        self.until_text("Nothing waits")
        self.go("#/cells")
        self.until(lambda: self.all(".plot .line"), "a cell is shown")
        self.assertFalse(self.is_wider_than_the_page())
        self.picture("phone-cells")
        self.go(f"#/sessions/{session}")
        for name in ("Changes", "Refused", "Network", "Policy", "Record"):
            self.until(lambda: self.all(".tabs button"), "the session is open")
            self.tab(name)
            self.until(lambda: "Reading" not in self.text(), "the part is there")
            self.assertFalse(self.is_wider_than_the_page(), name)


if __name__ == "__main__":
    main()
