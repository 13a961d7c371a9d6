#!/usr/bin/env python3
"""Measures images: `./dev bench --images`, README.md.

usage: image_figures.py BIN_DIR [--rounds N]
"""

import contextlib
import os
import shutil
import statistics
import subprocess

import surfaces
from surfaces import met, timed

FILES = ("/usr/include", "/usr/share/doc", "/usr/share/perl")
LIMIT_S = 0.001  # of a cold cell with an image, beyond a plain one
LIMIT_SHARE = 0.7  # of what tar unpacks in the same time
# runc and no limits of files that this user may not raise: what podman needs in a container of its own.
PODMAN_RUN = ("run", "--rm", "--network", "none", "--cap-drop", "all", "--security-opt", "no-new-privileges",
              "--ulimit", "nofile=1024:1024", "--ulimit", "nproc=4096:4096", "bench:1", "/bin/busybox", "true")


class Podman:
    """With its store in `directory`; not there if it is not installed, or cannot run here."""

    def __init__(self, directory, root):
        self._directory = directory
        self.why_not = "not installed" if shutil.which("podman") is None else ""
        if not self.why_not:
            tar = directory + ".tar"
            subprocess.run(["tar", "-C", root, "-cf", tar, "."], check=True)
            self.call("import", "-q", tar, "bench:1")
            self.why_not = "" if self.call(*PODMAN_RUN).returncode == 0 else "does not run here"

    def close(self):
        """Removes the control groups that podman leaves empty."""
        if shutil.which("podman") is None:
            return
        for hierarchy in os.listdir("/sys/fs/cgroup"):
            for group in ("conmon", ""):
                with contextlib.suppress(OSError):
                    os.rmdir(f"/sys/fs/cgroup/{hierarchy}/libpod_parent/{group}")

    def call(self, *words):
        store = self._directory
        return subprocess.run(["unshare", "--mount", "podman", "--root", f"{store}/root", "--runroot", f"{store}/run",
                               "--cgroup-manager", "cgroupfs", "--runtime", "runc", *words],
                              capture_output=True, check=False)


class Archive:
    """A layer that is packed already."""

    def __init__(self, path, maker):
        with open(path, "rb") as file:
            self._data = file.read()
        unpacked = subprocess.run(["gzip", "-dc", path], capture_output=True, check=True).stdout
        self._type, self._digest = maker.TAR + "+gzip", maker.digest_of(unpacked)

    def packed(self):
        return self._data, self._type, self._digest


class Bench:
    def __init__(self, world, maker):
        self.world = world
        layout = maker.Layout(world.make_directory("layout"))
        layout.add("bench:1", [maker.busybox_layer()], Env=["PATH=/bin"])
        assert world.ctl("image", "load", layout.directory).code == 0
        self.archive = world.directory + "/files.tar.gz"
        subprocess.run(f"tar -cf - --mode=a-s --hard-dereference {' '.join(FILES)} 2>/dev/null | gzip -1 > {self.archive}",
                       shell=True, check=True)
        self.large = maker.Layout(world.make_directory("large"))
        self.large.add("large:1", [Archive(self.archive, maker)])
        root = world.make_directory("root")
        os.makedirs(root + "/bin")
        shutil.copy(maker.BUSYBOX, root + "/bin/busybox")
        self.podman = Podman(world.directory + "/podman", root)

    def exec(self, *options):
        done = self.world.ctl("exec", *options, "--", "/bin/true")
        assert done.code == 0, done

    def cold(self, rounds):
        """Seconds of a whole `odyssey-ctl exec` in a cell of its own: plain, with an image; and of podman's run."""
        runs = [self.exec, lambda: self.exec("--image", "bench:1")]
        if not self.podman.why_not:
            runs.append(lambda: self.podman.call(*PODMAN_RUN))
        for run in runs:
            run()
        return surfaces.medians([timed(run) for run in runs] for _ in range(rounds))

    def unpack(self, rounds):
        """Seconds of an import of the layer, and of tar's unpacking of the same bytes and a sync of them."""
        def load():
            assert self.world.ctl("image", "load", self.large.directory).code == 0

        def forget():
            assert self.world.ctl("image", "rm", "large:1").code == 0
            assert self.world.ctl("image", "gc").code == 0

        def tar():
            place = self.world.make_directory("unpacked")
            subprocess.run(["tar", "-C", place, "-xzf", self.archive], check=True)
            subprocess.run(["sync", "-f", place], check=True)

        samples = []
        for _ in range(rounds):
            samples.append((timed(load), timed(tar)))
            forget()
            shutil.rmtree(self.world.directory + "/unpacked")
        return surfaces.medians(samples)


def main():
    given = surfaces.read_arguments(__doc__, 21)
    import image_maker  # pylint: disable=import-outside-toplevel
    with surfaces.running_world() as world:
        bench = Bench(world, image_maker)
        plain, image, *peer = bench.cold(given.rounds)
        size = os.path.getsize(bench.archive)
        bench.podman.close()
        ours, tars = bench.unpack(max(3, given.rounds // 7))
        podman = f"podman run: {statistics.mean(peer) * 1000:.0f} ms" if peer else f"podman: {bench.podman.why_not}"
    print("| figure | Odyssey | floor and peer | target |\n|---|---|---|---|")
    print(f"| `odyssey-ctl exec --image`, a cell of its own | {image * 1000:.2f} ms | plain cell: {plain * 1000:.2f} ms; {podman} | "
          f"≤ {LIMIT_S * 1000:.0f} ms beyond: {(image - plain) * 1000:.2f} ms, {met(image - plain <= LIMIT_S)} |")
    print(f"| `image load` of a layer of {size >> 20} MiB | {ours:.2f} s | tar -xzf and sync: {tars:.2f} s | "
          f"≥ {LIMIT_SHARE} × of tar: {tars / ours:.2f}, {met(tars / ours >= LIMIT_SHARE)} |")


if __name__ == "__main__":
    main()
