#!/usr/bin/env python3
"""agentd's state when agentd is killed at any moment, when the disk fails, and when files are damaged."""

import collections
import errno
import glob
import json
import os
import random
import shutil
import threading
import time

import bundles
import host
from own_agentd import OwnAgentdTest
from world import BIN, HANG_S, main

KILLS = int(os.environ.get("ODYSSEY_KILLS", "20"))
SHIM = os.path.join(os.path.abspath(BIN), "../lib/libodyssey_io_fault.so")
ENDS = {"turn_completed": "completed", "turn_failed": "interrupted", "turn_cancelled": "cancelled"}


class Load(threading.Thread):
    """Submits one turn after another to a session, each until it is accepted, whatever happens to agentd."""

    def __init__(self, own, session, number):
        super().__init__(daemon=True)
        self.own, self.session, self.number = own, session, number
        self.accepted = {}  # key → turn
        self.pending = None
        self.wrong = []
        self.stopping = threading.Event()

    def run(self):
        while not self.stopping.wait(0.02):
            self.pending = f"s{self.number}k{len(self.accepted)}"
            turn = self.submit(self.pending)
            if turn is None:
                continue
            self.accepted[self.pending] = turn
            key = random.choice(list(self.accepted))
            again = self.submit(key) if random.random() < 0.2 else None
            if again not in (None, self.accepted[key]):
                self.wrong.append((key, self.accepted[key], again))
            self.pending = None

    def submit(self, key):
        done = self.own.ctl("turn", "submit", self.session, "--prompt", key, "--idempotency-key", key)
        return done.out.strip() if done.code == 0 else None


class KillsTest(OwnAgentdTest):

    SESSIONS = 4

    def test_kill_9_at_any_moment(self):
        seed = int(os.environ.get("ODYSSEY_SEED", random.randrange(1 << 32)))
        random.seed(seed)
        project = self.world.make_directory("kills")
        log = project + "/log"
        bundle = bundles.write(self.world.directory + "/counts", [
            bundles.bash("cd mount/write/current && echo begin ${prompt} >>log && sleep 0.05 && echo end ${prompt} >>log"),
            bundles.say("Counted ${prompt}.")], write_=["."])
        own = self.agentd().start()
        sessions = [own.create(bundle, "--cwd", project) for _ in range(self.SESSIONS)]
        loads = [Load(own, session, n) for n, session in enumerate(sessions)]
        for load in loads:
            load.start()
        begun = time.monotonic()
        for _ in range(KILLS):
            # One in four while it starts.
            early = random.random() < 0.25
            time.sleep(random.uniform(0, 0.15 if early else 0.6))
            own.kill()
            own.start(ready=random.random() >= 0.25)
        own.process.until("ready\n")
        took = time.monotonic() - begun
        for load in loads:
            load.stopping.set()
            load.join(HANG_S)
        self.await_idle(own, sessions)
        with open(log, encoding="utf-8") as file:
            lines = collections.Counter(line.strip() for line in file)
        counts = collections.Counter()
        for load in loads:
            self.assertEqual(load.wrong, [], f"seed {seed}: a key that made two turns")
            self.check_turns(own, load, lines, counts)
            self.check_journal(own, load.session)
        self.check_files(own)
        self.check_nothing_runs()
        print(f"{KILLS} kills in {took:.0f} s (seed {seed}): {sum(len(load.accepted) for load in loads)} turns "
              f"accepted, {dict(counts)}; none lost, none run twice", flush=True)

    def await_idle(self, own, sessions):
        def busy():
            return [turn for session in sessions for turn in own.turns(session)
                    if turn["status"] in ("queued", "running")]
        host.eventually(lambda: not busy(), 4 * HANG_S, busy)

    def check_turns(self, own, load, lines, counts):
        turns = collections.defaultdict(list)
        for turn in own.turns(load.session):
            turns[turn["prompt"]].append(turn)
        self.assertEqual(set(turns) - set(load.accepted) - {load.pending}, set())
        for key, accepted in load.accepted.items():
            self.assertEqual([turn["id"] for turn in turns[key]], [accepted], key)
        for key, (turn, *more) in turns.items():
            self.assertEqual(more, [], key)
            counts[turn["status"]] += 1
            begins, ends = lines[f"begin {key}"], lines[f"end {key}"]
            if turn["status"] == "completed":
                self.assertEqual((begins, ends), (1, 1), turn)
                self.assertEqual(turn["response"], f"Counted {key}.")
                self.assertEqual(len(turn["chat_history"]), 4, turn)
            else:
                self.assertEqual(turn["status"], "interrupted", turn)
                self.assertIn((begins, ends), ((0, 0), (1, 0), (1, 1)), turn)
                self.assertIn("agentd ended", turn["error"])

    def check_journal(self, own, session):
        events = own.events(session)
        self.assertEqual([event["sequence"] for event in events], list(range(1, len(events) + 1)))
        self.assertEqual({event["session_id"] for event in events}, {session})
        starts, ends = collections.Counter(), collections.defaultdict(list)
        for event in events:
            kind, body = event["payload"]["type"], event["payload"]["payload"]
            starts[body["turn_id"]] += kind == "turn_started"
            if kind in ENDS:
                ends[body["turn_id"]].append(ENDS[kind])
        self.assertEqual({turn: count for turn, count in starts.items() if count > 1}, {})
        for turn in own.turns(session):
            self.assertEqual(ends[turn["id"]], [turn["status"]], turn)

    def check_files(self, own):
        left = [path for path in glob.glob(own.state + "/*/*") if ".tmp" in path or ".corrupt" in path]
        self.assertEqual([path for path in left if ".corrupt" in path], [], own.err)
        own.restart()
        self.assertEqual([path for path in glob.glob(own.state + "/sessions/*") if ".tmp" in path], [])
        for path in glob.glob(own.state + "/sessions/*.turns"):
            with open(path, encoding="utf-8") as file:
                for line in file:
                    json.loads(line)

    def check_nothing_runs(self):
        host.eventually(lambda: not self.world.cell_commands("echo begin"), HANG_S,
                        lambda: f"no command is left: {self.world.cell_commands('log')}")
        cells = self.world.json("cell", "list")["cells"]
        keys = [cell["key"]["session_id"] for cell in cells]
        self.assertEqual(len(keys), len(set(keys)), "a session has one cell")
        self.assertEqual([cell for cell in cells if cell.get("running_execs")], [])


class IoErrorTest(OwnAgentdTest):
    """A disk that refuses to write, or to sync, one kind of file: what fails says so, and nothing needs repair."""

    def setUp(self):
        self.control = self.world.make(self.id().rpartition(".")[2] + ".faults")
        self.own = self.agentd(env={"LD_PRELOAD": SHIM, "ODYSSEY_IO_FAULT": self.control,
                                    "ASAN_OPTIONS": "verify_asan_link_order=0"}).start()
        self.bundle = bundles.write(f"{self.world.directory}/{self.id().rpartition('.')[2]}.bundle", [
            bundles.bash("echo x"), bundles.say("Said.")])
        self.session = self.own.create(self.bundle)

    def faults(self, *lines):
        # At once: a half-written line would be no fault.
        with open(self.control + ".new", "w", encoding="ascii") as file:
            file.writelines(f"{call} {part} {number}\n" for call, part, number in lines)
        os.rename(self.control + ".new", self.control)

    def each(self):
        for call in ("write", "sync"):
            for number in (errno.EIO, errno.ENOSPC):
                yield call, number, os.strerror(number)

    def assertWorks(self):
        self.faults()
        done = self.own.run(self.bundle, self.session, "works")
        self.assertEqual(done.code, 0, done)
        self.assertIn("Said.", done.out)

    def assertWorksAfterAStart(self):
        turns = self.own.turns(self.session)
        self.own.restart()
        self.assertEqual(self.own.turns(self.session), turns)
        sequences = [event["sequence"] for event in self.own.events(self.session)]
        self.assertEqual(sequences, list(range(1, len(sequences) + 1)))
        ends = collections.Counter(event["payload"]["payload"]["turn_id"] for event in self.own.events(self.session)
                                   if event["payload"]["type"] in ENDS)
        self.assertEqual(ends, {turn["id"]: 1 for turn in turns})
        self.assertWorks()

    def test_records(self):
        before = self.own.json("session", "list")
        for call, number, words in [*self.each(), ("rename", errno.EIO, os.strerror(errno.EIO))]:
            self.faults((call, "/sessions/", number))
            self.assertEnded(self.own.ctl("session", "create", self.bundle), 1, words)
            self.assertEqual(self.own.json("session", "list"), before)
            self.faults()
            self.assertEqual([path for path in os.listdir(self.own.state + "/sessions") if ".tmp" in path], [])
            self.assertEqual(len(os.listdir(self.own.state + "/sessions")), 2, "the record and its turns")
        self.assertWorks()
        self.assertWorksAfterAStart()

    def test_turns(self):
        for call, number, words in self.each():
            before = self.own.turns(self.session)
            self.faults((call, ".turns", number))
            self.assertEnded(self.own.ctl("turn", "submit", self.session, "--prompt", "x"), 1, words)
            self.assertEqual(self.own.turns(self.session), before)
            self.assertWorks()
        self.assertWorksAfterAStart()

    def test_the_end_of_a_turn(self):
        here = self.world.directory + "/here"
        os.mkdir(here)
        for call, number, words in self.each():
            gate = here + "/gate"
            waits = bundles.write(self.world.directory + "/waits", [
                bundles.bash("until test -e mount/read/current/gate; do sleep 0.02; done"), bundles.say("Over.")],
                read=["."], bundle_id="waits")
            session = self.own.create(waits, "--cwd", here)
            turn = self.own.submit(session, "x")
            host.eventually(lambda: self.world.cell_commands("until"), HANG_S, "it runs")
            self.faults((call, ".turns", number))
            os.mkdir(gate)
            ended = self.own.await_turn(session, turn)
            self.assertEqual(ended["status"], "failed")
            self.assertIn(words, ended["error"])
            self.faults()
            done = self.own.run(waits, session, "next")
            self.assertEqual(done.code, 0, done)
            os.rmdir(gate)
        self.assertWorksAfterAStart()

    def test_journals(self):
        for call, number, words in self.each():
            self.faults((call, "/journals/", number))
            done = self.own.run(self.bundle, self.session, "x")
            self.assertEqual(done.code, 1, done)
            self.assertIn(words, done.out + done.err)
            turn = self.own.turns(self.session)[-1]
            self.assertEqual(turn["status"], "failed")
            self.assertIn(words, turn["error"])
            self.assertWorks()
        self.assertWorksAfterAStart()

    def test_a_removal_of_events(self):
        self.assertWorks()
        before = self.own.events(self.session)
        for call, number, words in [*self.each(), ("rename", errno.EIO, os.strerror(errno.EIO))]:
            self.faults((call, ".jsonl.tmp" if call != "rename" else ".jsonl", number))
            self.assertEnded(self.own.ctl("session", "compact", self.session, "--keep-turns", "0"), 1, words)
            self.faults()
            self.assertEqual(self.own.events(self.session), before)
        self.assertEqual(self.own.ctl("session", "compact", self.session, "--keep-turns", "0").code, 0)
        self.assertEqual(len(self.own.events(self.session)), 1)

    def test_bundles(self):
        for n, (call, number, words) in enumerate(self.each()):
            other = bundles.write(f"{self.world.directory}/new{n}", [bundles.say(f"New {n}.")], bundle_id=f"new{n}")
            self.faults((call, "/bundles/", number))
            self.assertEnded(self.own.ctl("bundle", "build", other), 1, words)
            self.assertEnded(self.own.ctl("session", "create", other), 1, words)
            self.assertWorks()
            self.assertNotIn(f"new{n}", self.own.ctl("bundle", "list").out)
            session = self.own.create(other)
            self.assertIn(f"New {n}.", self.own.run(other, session, "x").out)
        self.assertWorksAfterAStart()


class DamageTest(OwnAgentdTest):
    """Every kind of file below agentd's state, damaged and cut: doctor names it, and the others go on."""

    def setUp(self):
        self.own = self.agentd().start()
        self.bundle = bundles.write(f"{self.world.directory}/{self.id().rpartition('.')[2]}.bundle", [
            bundles.bash("echo x"), bundles.say("Said.")])
        self.good, self.bad = self.own.create(self.bundle), self.own.create(self.bundle)
        for session in (self.good, self.bad):
            for prompt in ("one", "two"):
                self.assertEqual(self.own.run(self.bundle, session, prompt).code, 0)

    def path(self, kind):
        directory = "journals" if kind == "jsonl" else "sessions"
        return f"{self.own.state}/{directory}/{self.bad}.{kind}"

    def damage(self, path, change):
        """Rewrites the file as change(its bytes) while agentd is stopped."""
        self.own.stop()
        with open(path, "rb") as file:
            content = file.read()
        os.unlink(path)  # files of bundles are hard links of one another
        with open(path, "wb") as file:
            file.write(change(content))
        self.own.start()

    def assertNamed(self, word):
        details = self.own.doctor()
        self.assertTrue([detail for detail in details if word in detail and "could not be read" in detail], details)

    def assertGoesOn(self, session):
        done = self.own.run(self.bundle, session, "more")
        self.assertEqual(done.code, 0, done)
        self.assertIn("Said.", done.out)

    def damages(self):
        yield lambda content: content[:len(content) // 2]
        yield lambda content: b""
        yield lambda content: os.urandom(len(content))
        yield lambda content: content[:60] + b"\n\xff{]" + content[64:]

    def test_records(self):
        for change in self.damages():
            self.damage(self.path("json"), change)
            self.assertNamed(self.path("json") + ".corrupt")
            self.assertEnded(self.own.ctl("session", "show", self.bad), 1, self.bad)
            self.assertGoesOn(self.good)
            self.own.stop()
            kept = glob.glob(self.path("json") + ".corrupt*")
            self.assertEqual(len(kept), 1)
            os.unlink(kept[0])
            shutil.copy(f"{self.own.state}/sessions/{self.good}.json", self.path("json"))
            with open(self.path("json"), encoding="utf-8") as file:
                record = file.read().replace(self.good, self.bad)
            with open(self.path("json"), "w", encoding="utf-8") as file:
                file.write(record)
            self.own.start()
            self.assertGoesOn(self.bad)

    def test_turns(self):
        for change, named in ((lambda content: content[:-30], False),
                              (lambda content: content.replace(b'"turn"', b'"turm"', 1), True),
                              (lambda content: b"\xff\n" + content, True),
                              (lambda content: os.urandom(50) + b"\n", True)):
            self.damage(self.path("turns"), change)
            self.own.turns(self.bad)
            if named:
                self.assertNamed(self.path("turns") + ".corrupt")
            self.assertGoesOn(self.bad)
            self.assertGoesOn(self.good)

    def test_journals(self):
        def middle(content):
            where = content.index(b"\n") - 40
            return content[:where] + b"\x00\xff" + content[where + 2:]
        for change, reason in ((lambda content: content[:-30], None), (middle, "damage"),
                               (lambda content: content.replace(b"\n", b" ", 1), "damage"),
                               (lambda content: b"not a line\n" + content, "damage"),
                               (lambda content: content + b"not a line\n", ""),
                               (lambda content: b"x" + os.urandom(len(content)), "damage")):
            turns = self.own.turns(self.bad)
            self.damage(self.path("jsonl"), change)
            self.assertEqual(self.own.turns(self.bad), turns, "history does not depend on it")
            events = self.own.events(self.bad)
            if reason is not None:
                self.assertNamed(self.path("jsonl") + ".corrupt")
            if reason:
                gap = events[0]["payload"]
                self.assertEqual((gap["type"], gap["payload"]["reason"]), ("events_removed", reason))
            read = events[-1]["sequence"]
            self.assertGoesOn(self.bad)
            self.assertGoesOn(self.good)
            last = self.own.json("session", "show", self.bad)["last_sequence"]
            after = [event["sequence"] for event in self.own.events(self.bad, "--after", str(read))]
            self.assertEqual(after, list(range(read + 1, last + 1)))
            for kept in glob.glob(self.path("jsonl") + ".corrupt*"):
                os.unlink(kept)

    def test_bundles(self):
        self.assertEqual(self.own.ctl("bundle", "install", self.bundle).code, 0)
        digest = self.own.json("session", "show", self.bad)["bundle_digest"]
        other = bundles.write(self.world.directory + "/unharmed", [bundles.say("Unharmed.")], bundle_id="unharmed")
        unharmed = self.own.create(other)
        installed = f"{self.own.state}/bundles/installs/local/probe/0.1.0"
        for path, word in ((f"{self.own.state}/bundles/blobs/sha256/{digest}", f"trees/{digest}"),
                           (f"{self.own.state}/bundles/trees/{digest}/agent.yaml", f"trees/{digest}"),
                           (f"{installed}/.odyssey/bundle.json", installed)):
            for change in self.damages():
                self.damage(path, change)
                done = self.own.run(self.bundle, self.bad, "x")
                if word != installed:
                    self.assertEqual(done.code, 1, done)
                self.assertNamed(word)
                self.assertIn("Unharmed.", self.own.run(other, unharmed, "x").out)
                done = self.own.ctl("bundle", "install", self.bundle, "--force")
                self.assertEqual(done.code, 0, done)
                self.own.restart()
                self.assertGoesOn(self.bad)
                self.assertFalse([detail for detail in self.own.doctor() if word in detail])


if __name__ == "__main__":
    main()
