#!/usr/bin/env python3
"""The web console in headless Chromium, against real daemons: nothing but what a person has.

With ODYSSEY_PICTURES it leaves pictures of the pages in that directory (docs/HTTP.md).
"""

import os
import shutil
import tempfile
import urllib.parse
import uuid

from selenium import webdriver
from selenium.common.exceptions import StaleElementReferenceException
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

import bundles
import host
from world import HANG_S, World, WorldTest, main

RULES = {"allow": ["Bash", "Read"], "ask": ["Write"]}
MOST_FIRST_LOAD = 300 * 1024  # bytes


class ConsoleTest(WorldTest):

    @classmethod
    def setUpClass(cls):
        cls.world = World()
        cls.addClassCleanup(cls.world.close)
        cls.world.up("--http-listen", "127.0.0.1:0")
        cls.profile = tempfile.mkdtemp(prefix="odyssey-console-")
        options = webdriver.ChromeOptions()
        options.binary_location = shutil.which("chromium")
        # Chromium's own sandbox does not start as root; the pages here are our own.
        for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
                         "--disable-background-networking", "--window-size=1200,900", f"--user-data-dir={cls.profile}"):
            options.add_argument(argument)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        cls.browser = webdriver.Chrome(service=Service(shutil.which("chromedriver")), options=options)
        cls.browser.set_page_load_timeout(HANG_S)

    @classmethod
    def tearDownClass(cls):
        cls.browser.quit()
        shutil.rmtree(cls.profile, ignore_errors=True)
        super().tearDownClass()

    def setUp(self):
        super().setUp()
        self.browser.delete_all_cookies()
        self.browser.get_log("browser")

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
            except StaleElementReferenceException:
                return False
        return host.eventually(holds, HANG_S, lambda: f"{what}; the page has: {self.text()}")

    def until_text(self, text):
        self.until(lambda: text in self.text(), f"{text!r} on the page")

    def type(self, *keys):
        webdriver.ActionChains(self.browser).send_keys(*keys).perform()

    def picture(self, name):
        directory = os.environ.get("ODYSSEY_PICTURES")
        if directory:
            self.browser.save_screenshot(os.path.join(directory, name + ".png"))

    # What there is to see.

    def bundle(self, steps, rules=None, **options):
        name = self.id().rpartition(".")[2].replace("_", "-")
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
        next(tab for tab in self.all(".tabs button") if tab.text == "Changes").click()
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
        next(tab for tab in self.all(".tabs button") if tab.text == "Refused").click()
        self.until_text("/usr/x")

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
            text = self.find(".approval.waits").text
            self.assertIn("<script>", text)
            self.assertIn("⟨U+202E⟩txt.exe⟨U+200B⟩", text)
            self.assertEqual(self.all("main img, main script"), [])
        self.assertNotIn("owned", self.browser.title)
        self.type("n")

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
        loaded = self.browser.execute_script(
            "return performance.getEntriesByType('resource').concat(performance.getEntriesByType('navigation'))"
            ".map(e => [e.name, e.transferSize])")
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
        wide = self.browser.execute_script("return document.documentElement.scrollWidth > document.documentElement.clientWidth")
        self.assertFalse(wide)
        self.picture("phone")
        self.type("n")


if __name__ == "__main__":
    main()
