#!/usr/bin/env python3
"""Measures the web console in headless Chromium on loopback: `./dev bench --console`, README.md.

usage: console_figures.py BIN_DIR [--rounds N]
"""

import statistics
import time

import surfaces
from surfaces import met

EVENTS = 10_000
FRAMES = 600
PIXELS = 100  # a frame
LIMIT_BYTES, LIMIT_S, LIMIT_FRAMES = 300 * 1024, 1.0, 60

# Before any script of the page: milliseconds from the navigation's start until what it waits for is there.
WATCH = """
window.usableAt = null;
const look = () => {
  const usable = document.getElementById('connection')?.textContent === 'connected' && document.querySelector('main h1');
  if (usable) window.usableAt = performance.now(); else requestAnimationFrame(look);
};
requestAnimationFrame(look);
"""
# Timestamps of frames in which the list is scrolled, from its top.
SCROLL = """
const [frames, pixels, done] = arguments;
const list = document.querySelector('.windowed');
list.scrollTop = 0;
const times = [];
const step = (time) => {
  times.push(time);
  if (times.length > frames) { done([times, list.scrollTop, document.querySelectorAll('.windowed-item').length]); return; }
  list.scrollTop += pixels;
  requestAnimationFrame(step);
};
setTimeout(() => requestAnimationFrame(step), 500);
"""


def eventually(condition, what):
    deadline = time.monotonic() + 300
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.1)


class Bench:
    def __init__(self, world, page, bundles):
        self.world, self.page, self.bundles = world, page, bundles

    def ctl(self, *words):
        done = self.world.ctl(*words)
        assert done.code == 0, done
        return done.out.strip()

    def sign_in(self):
        link = next(word for word in self.ctl("web").split() if word.startswith("http://"))
        self.page.get(link)
        self.until_usable()
        self.address = link.partition("#")[0]

    def until_usable(self):
        eventually(lambda: self.page.execute_script("return document.getElementById('connection').textContent === 'connected'"),
                   "the console is connected")

    def load(self, loaded):
        """Milliseconds until the page is usable, and bytes that it loaded."""
        self.page.get("about:blank")
        self.page.get(self.address + "#/approvals")
        eventually(lambda: self.page.execute_script("return window.usableAt !== null"), "a usable page")
        return self.page.execute_script("return window.usableAt"), sum(size for _, size in self.page.execute_script(loaded))

    def long_session(self):
        # A turn has 100 answers of the model, and an answer of the script 16 calls.
        answer = {"call": [self.bundles.bash("echo x", f"r{index}")["call"] for index in range(16)]}
        path = self.bundles.write(f"{self.world.directory}/long", [answer] * 70 + [self.bundles.say("the end")], bundle_id="long")
        session = self.ctl("session", "create", path)

        def events():
            return int(self.world.json("session", "show", session)["last_sequence"])
        while events() < EVENTS:
            before = events()
            self.ctl("turn", "submit", session, "--prompt", "go")
            eventually(lambda before=before: events() > before + 5000, "a long turn")
        return session, events()

    def scroll(self, session):
        """Milliseconds of each frame."""
        self.page.get("about:blank")
        self.page.get(f"{self.address}#/sessions/{session}")
        eventually(lambda: self.page.execute_script("return [...document.querySelectorAll('.windowed-item')].at(-1)?.textContent.includes('turn completed')"),
                   "the last event")
        self.page.set_script_timeout(300)
        times, end, shown = self.page.execute_async_script(SCROLL, FRAMES, PIXELS)
        assert end >= FRAMES * PIXELS, f"scrolled to {end} of {FRAMES * PIXELS}"
        return [after - before for before, after in zip(times, times[1:])], shown


def main():
    given = surfaces.read_arguments(__doc__, 7)
    # pylint: disable=import-outside-toplevel
    import browser
    import bundles
    with surfaces.running_world("--http-listen", "127.0.0.1:0") as world, browser.chromium() as page:
        bench = Bench(world, page, bundles)
        bench.sign_in()
        page.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": WATCH})
        loads = [bench.load(browser.LOADED) for _ in range(given.rounds + 1)][1:]  # the first warms the browser
        session, events = bench.long_session()
        frames, shown = bench.scroll(session)
    usable = statistics.median(ms for ms, _ in loads) / 1000
    size = max(size for _, size in loads)
    rate = 1000 / statistics.median(frames)
    print("| figure | Odyssey | target |\n|---|---|---|")
    print(f"| bytes of a first load | {size / 1024:.0f} KiB | ≤ {LIMIT_BYTES // 1024} KiB: {met(size <= LIMIT_BYTES)} |")
    print(f"| from the navigation to a usable page, median of {len(loads)} | {usable * 1000:.0f} ms | "
          f"≤ {LIMIT_S * 1000:.0f} ms: {met(usable <= LIMIT_S)} |")
    print(f"| frames a second while {events} events are scrolled, median of {len(frames)} ({shown} items in the document) | "
          f"{rate:.0f}; worst frame {max(frames):.0f} ms, {sum(ms > 25 for ms in frames)} over 25 ms | "
          f"≥ {LIMIT_FRAMES}: {met(round(rate) >= LIMIT_FRAMES)} |")


if __name__ == "__main__":
    main()
