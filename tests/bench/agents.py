#!/usr/bin/env python3
"""Measures agents of others confined beside bare: `./dev bench --agents`, README.md.

usage: agents.py BIN_DIR [--quick] [--rounds N] [--only WORD]
"""

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../e2e"))

WORST = 1.10  # of the whole run, beside bare
PROMPT = "<run>echo made > made.txt</run>"


class Runs:
    """One agent, by each way: the same program, prompt and model; the same variables and files in its home. `address`:
    of a model that is asked bare, without TLS, since Codex takes no certificate of the test's."""

    def __init__(self, world, address, name, modules, node, arguments):
        self.world, self.name = world, name
        self.modules, self.node, self.words = modules, node, [*arguments, PROMPT]
        cls = world.world
        found = next(each for each in cls.json("agent", "list", "--program", modules, "--node", node)
                     if each["name"] == name)
        self.program = found["program"]
        self.profile = cls.json("agent", "show", name)
        self.workspace = cls.make_directory(f"bench-{name}/workspace")
        self.values = {"server": f"http://{address}", "path": "", "host": address, "node": node,
                       "program": self.program[0], "key": self.profile["models"]["key"],
                       "model": self.profile["models"]["model"]}

    def _fill(self, text):
        for name, value in self.values.items():
            text = text.replace("${" + name + "}", value)
        return text

    def _timed(self, argv, env):
        """On the host of the test's network. nsenter leaves the directory that it was started in."""
        argv = [*self.world.network.prefix, "sh", "-c", 'cd "$1" && shift && exec "$@"', "sh", self.workspace, *argv]
        made = self.workspace + "/made.txt"
        if os.path.exists(made):
            os.remove(made)
        start = time.monotonic()
        done = subprocess.run(argv, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        took = time.monotonic() - start
        if done.returncode != 0 or not os.path.exists(made):
            raise RuntimeError(f"{argv}: {done}")
        return took

    def bare(self):
        """Straight to the model; a new home each time, as a new cell has."""
        home = self.world.world.make_directory(f"bench-{self.name}/home")
        shutil.rmtree(home)
        for path, text in {**self.profile["files"], **self.profile["first_files"]}.items():
            self.world.world.make(os.path.relpath(f"{home}/{path}", self.world.world.directory), self._fill(text))
        env = {"PATH": os.environ["PATH"], "HOME": home, "TMPDIR": self.world.world.make_directory("tmp"),
               "IS_SANDBOX": "1",
               self.profile["models"]["key"]: "key",
               **{name: self._fill(value) for name, value in self.profile["environment"].items()}}
        return self._timed([*self.program, *self.words], env)

    def confined(self):
        ctl = self.world.world.argv("agent", "run", self.name, "--program", self.modules, "--node", self.node, "--",
                                    *self.words)
        return self._timed(ctl[len(self.world.world.prefix):], dict(os.environ))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("bin")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    os.environ["ODYSSEY_BIN"] = os.path.abspath(options.bin)
    import agents_test  # pylint: disable=import-outside-toplevel
    import network  # pylint: disable=import-outside-toplevel
    import upstreams  # pylint: disable=import-outside-toplevel
    rounds = options.rounds or (1 if options.quick else 7)
    world = agents_test.AgentsWorld
    world.setUpClass()
    try:
        # Bare, a name that there is not is answered at once, as in a cell.
        world.network.serve(network.PUBLIC, 8080, "http", program=agents_test.model_mock.__file__)
        upstreams.start(world.network, "names", network.RESOLVER, 53, {})
        print("| agent | bare | confined | confined / bare | target | |\n|---|---|---|---|---|---|")
        for name, (arguments, *_) in agents_test.AGENTS.items():
            if options.only not in name:
                continue
            runs = Runs(world, network.PUBLIC + ":8080", name, agents_test.MODULES, agents_test.NODE, arguments)
            bare, confined = [], []
            for _ in range(rounds):
                bare.append(runs.bare())
                confined.append(runs.confined())
            middle = statistics.median(bare), statistics.median(confined)
            ratio = middle[1] / middle[0]
            print(f"| {name} | {middle[0]:.2f} s | {middle[1]:.2f} s | {ratio:.2f} × | ≤ {WORST:.2f} × | "
                  f"{'met' if ratio <= WORST else '**missed**'} |", flush=True)
    finally:
        world.doClassCleanups()


if __name__ == "__main__":
    main()
