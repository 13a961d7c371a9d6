"""What the host shows: processes, control groups, mounts, sockets. Reads /proc and /sys only."""

import os
import re
import time

POLL_S = 0.02
# How long a test waits for what must happen before it calls it a hang. No measure of speed: what works takes a small
# part of it on a slow machine that has other work.
HANG_S = 120


def eventually(condition, seconds, what):
    """Polls until condition() is true and returns that value; fails with `what` at the deadline.

    `what` may be a function, called at the deadline.
    """
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {seconds} s: {what() if callable(what) else what}")
        time.sleep(POLL_S)


def _read(path):
    try:
        with open(path, "rb") as file:
            return file.read().decode("utf-8", "replace")
    except OSError:
        return ""


def pids():
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def _stat(pid):
    # The fields after the name, which may itself hold spaces and parentheses.
    return _read(f"/proc/{pid}/stat").rpartition(")")[2].split()


def parent(pid):
    fields = _stat(pid)
    return int(fields[1]) if fields else None


def is_alive(pid):
    """True unless the process is gone or only waits to be reaped."""
    fields = _stat(pid)
    return bool(fields) and fields[0] not in "ZX"


def identity(pid):
    """What tells this process from a later one with its pid; None if there is none."""
    fields = _stat(pid)
    return (pid, fields[19]) if fields and fields[0] not in "ZX" else None


def open_sockets(pid):
    """How many descriptors of a process are sockets."""
    try:
        links = [os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")]
    except OSError:  # it ends, or closes what was listed
        return 0
    return sum(link.startswith("socket:") for link in links)


def name(pid):
    """The program's file name, or the kernel's short name where the file cannot be read."""
    try:
        return os.path.basename(os.readlink(f"/proc/{pid}/exe"))
    except OSError:
        return _read(f"/proc/{pid}/comm").strip()


def command_line(pid):
    return _read(f"/proc/{pid}/cmdline").rstrip("\0").split("\0")


def peak_bytes(pid):
    """The most memory that the process has had at a time (VmHWM)."""
    return int(re.search(r"^VmHWM:\s+(\d+) kB$", _read(f"/proc/{pid}/status"), re.MULTILINE)[1]) << 10


def uid(pid):
    for line in _read(f"/proc/{pid}/status").splitlines():
        if line.startswith("Uid:"):
            return int(line.split()[1])
    return None


def pids_of(*uids):
    """Every process of those users."""
    return [pid for pid in pids() if uid(pid) in uids]


def descendants(root):
    """Every process below `root`, parents before children."""
    children = {}
    for pid in pids():
        children.setdefault(parent(pid), []).append(pid)
    found, queue = [], [root]
    while queue:
        below = children.get(queue.pop(0), [])
        found += below
        queue += below
    return found


def cgroups(keeper):
    """Directories, in any hierarchy, of the tree that this odyssey-supervisor made."""
    return [directory for directory, _, _ in os.walk("/sys/fs/cgroup")
            if f"odyssey-{keeper}" in directory.split("/")]


def inode(path):
    try:
        return os.stat(path).st_ino
    except FileNotFoundError:
        return None


def cell_processes(keeper):
    """Processes in the supervisor's control groups that are not root's, by cgroup directory name.

    Root's own are launchers that wait for the next cell.
    """
    found = {}
    for directory in cgroups(keeper):
        for line in _read(f"{directory}/cgroup.procs").split():
            if uid(int(line)) not in (0, None):
                found.setdefault(os.path.basename(directory), set()).add(int(line))
    return found


def mounts_below(path, of="self"):
    lines = _read(f"/proc/{of}/mountinfo").splitlines()
    return [line for line in lines if path in line]


def sockets_below(path):
    return [line for line in _read("/proc/net/unix").splitlines() if path in line]
