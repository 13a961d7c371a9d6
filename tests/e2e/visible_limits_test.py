#!/usr/bin/env python3
"""What programs of a cell take for the size of the machine: its limits."""

import os
import shutil
import unittest

from world import WorldTest, main

MIB = 1024 * 1024
UNIFIED = os.path.exists("/sys/fs/cgroup/cgroup.controllers")
PROCESSORS = os.cpu_count()


class VisibleLimitsTest(WorldTest):

    def run_in_cell(self, *words, cpus="1", memory="300m", pids="77"):
        done = self.world.ctl("exec", "--cpus", cpus, "--memory", memory, "--pids", pids, "--", *words)
        self.assertEqual(done.code, 0, done)
        return done.out.strip()

    def shell(self, script, **limits):
        return self.run_in_cell("sh", "-c", script, **limits)

    def python(self, script, **limits):
        return self.run_in_cell("python3", "-c", script, **limits)

    def test_the_control_groups_are_the_cells_own(self):
        if UNIFIED:
            files = {"memory.max": str(300 * MIB), "pids.max": "77", "cpu.max": "100000 100000"}
        else:
            files = {"memory/memory.limit_in_bytes": str(300 * MIB), "pids/pids.max": "77",
                     "cpu/cpu.cfs_quota_us": "100000"}
        said = self.shell("cd /sys/fs/cgroup; cat " + " ".join(files))
        self.assertEqual(said.splitlines(), list(files.values()))

    def test_what_is_in_use_is_counted_as_it_is_used(self):
        name = "memory.current" if UNIFIED else "memory/memory.usage_in_bytes"
        before, after = map(int, self.shell(
            f"cd /sys/fs/cgroup; cat {name}; head -c 50M /dev/zero >/tmp/file; cat {name}").split())
        self.assertGreater(after - before, 40 * MIB)

    def test_mountinfo_shows_them_as_the_root_of_their_hierarchy(self):
        kind = "cgroup2" if UNIFIED else "cgroup"
        found = [line.split() for line in self.shell("cat /proc/self/mountinfo").splitlines() if f" - {kind} " in line]
        self.assertTrue(found)
        for words in found:
            self.assertEqual(words[3], "/", words)
            self.assertEqual(words[5].split(",")[0], "ro", words)

    def test_no_group_but_the_cells_is_there_and_none_is_written(self):
        groups = "find /sys/fs/cgroup -mindepth %d -type d" % (1 if UNIFIED else 2)
        self.assertEqual(self.shell(groups), "")
        self.assertEqual(self.shell("find /sys -type f -writable"), "")
        self.assertEqual(self.shell("for f in $(find /sys -type f); do (: >$f) 2>/dev/null && echo $f; done; true"), "")

    def test_of_sysfs_there_is_one_file(self):
        self.assertEqual(self.shell("find /sys -type f -not -path '/sys/fs/cgroup/*'"),
                         "/sys/devices/system/cpu/online")

    def test_processors(self):
        self.assertEqual(self.run_in_cell("nproc"), "1")
        self.assertEqual(self.run_in_cell("getconf", "_NPROCESSORS_ONLN"), "1")
        self.assertEqual(self.python("import os; print(os.cpu_count())"), "1")
        self.assertEqual(self.python("import multiprocessing; print(multiprocessing.cpu_count())"), "1")
        self.assertEqual(self.shell("echo $GOMAXPROCS $PYTHON_CPU_COUNT $PYTEST_XDIST_AUTO_NUM_WORKERS"), "1 1 1")

    def test_part_of_a_processor_is_one_and_none_is_made_up(self):
        self.assertEqual(self.run_in_cell("nproc", cpus="0.5"), "1")
        self.assertEqual(self.run_in_cell("nproc", cpus="1000"), str(PROCESSORS))

    def test_a_policys_variable_comes_before_the_cells(self):
        done = self.world.ctl("exec", "--cpus", "1", "--env", "OMP_NUM_THREADS=5", "--", "nproc")
        self.assertEqual(done.out, "5\n", done)

    # A pinned cell would wait for its processors while others are idle (ADR 0084).
    def test_a_command_may_run_on_every_processor(self):
        self.assertEqual(self.python("import os; print(len(os.sched_getaffinity(0)))"),
                         str(len(os.sched_getaffinity(0))))

    def test_memory(self):
        self.assertEqual(self.shell("free --mebi | awk '/^Mem:/ {print $2, $7}'"), "300 300")
        self.assertEqual(self.shell("free --mebi | awk '/^Swap:/ {print $2}'"), "0")

    def test_a_command_cannot_uncover_the_hosts(self):
        self.assertEqual(self.shell("umount /proc/meminfo 2>/dev/null; grep -c . /proc/meminfo"), "17")
        self.assertEqual(self.shell("grep MemTotal /.proc/meminfo"), "MemTotal:         307200 kB")

    @unittest.skipUnless(shutil.which("java"), "no java")
    def test_the_jvm(self):
        said = self.shell("java -XshowSettings:system -version 2>&1; java -XX:+PrintFlagsFinal -version", memory="512m")
        self.assertIn("Memory Limit: 512.00M", said)
        if not UNIFIED:
            return  # of version 1 it sizes itself by nothing without a group of the cpuset hierarchy
        self.assertIn("Effective CPU Count: 1", said)
        heap = next(line.split()[3] for line in said.splitlines() if line.split()[1:2] == ["MaxHeapSize"])
        self.assertLessEqual(int(heap), 256 * MIB)

    @unittest.skipUnless(shutil.which("node"), "no node")
    def test_node(self):
        said = self.run_in_cell("node", "-p", "[process.constrainedMemory(), os.totalmem()].join()", memory="512m")
        self.assertEqual(said, f"{512 * MIB},{512 * MIB}")


class ProcTest(WorldTest):
    """What of /proc is the host's alone (kCovered of supervisor/cell_init/slot.cc)."""

    COVERED = ("acpi asound bus cmdline config.gz fs interrupts iomem ioports irq kallsyms kcore key-users keys kmsg "
               "latency_stats locks modules sched_debug scsi softirqs swaps sysrq-trigger timer_list").split()

    def in_cell(self, script):
        names = [name for name in self.COVERED if os.path.exists("/proc/" + name)]
        done = self.world.ctl("exec", "--", "sh", "-c", f"cd /proc; for f in {' '.join(names)}; do {script}; done; true")
        self.assertEqual(done.code, 0, done)
        return done.out.split(), names

    def test_there_is_nothing_in_it(self):
        readable, names = self.in_cell('test -e $f && test -z "$(ls -A $f | grep -vx $f)$(cat $f 2>&1 | '
                                       'grep -v \'Is a directory\' | head -c 1)" && echo $f')
        self.assertEqual(readable, names)

    def test_it_is_not_written(self):
        self.assertEqual(self.in_cell("(: >$f) 2>/dev/null && echo $f")[0], [])

    def test_it_is_not_uncovered(self):
        self.assertEqual(self.in_cell("umount $f 2>/dev/null && echo $f")[0], [])


if __name__ == "__main__":
    main()
