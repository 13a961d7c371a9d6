#ifndef ODYSSEY_TESTS_INTEGRATION_CELL_PROBE_H_
#define ODYSSEY_TESTS_INTEGRATION_CELL_PROBE_H_

// Questions put from inside a cell, and what the host sees of the cell meanwhile.

#include <gtest/gtest.h>
#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

#include "tests/testing/running_exec.h"  // IWYU pragma: export
#include "tests/testing/supervisor_harness.h"

namespace odyssey::testing {

using Findings = std::map<std::string, std::string>;

// Runs Python in the cell and reads the "name=value" lines it prints. The script has:
//   report(name, value)       says one finding
//   attempt(name, function)   reports "ok", or the name of the errno of its OSError
//   call(number, *arguments)  a raw system call: its result, or OSError
//   try_call(name, number, *arguments)  attempt of a call
// besides the modules ctypes, errno, os, socket, struct, sys. Fails the test if it does not exit
// with 0.
Findings Probe(SupervisorHarness* supervisor, const std::string& cell_id, const std::string& script,
               const ExecOptions& options = {});

// The same in two steps, for a command that runs beside others: the script with what comes before
// it, and what it printed.
std::string ProbeScript(const std::string& script);
Findings FindingsOf(const std::string& out);

// EROFS, EACCES or EPERM: what a refused write says.
bool IsRefusal(const std::string& finding);
// Expects every finding to be one of the allowed answers, and at least `least` of them.
void ExpectAll(const Findings& findings, const std::vector<std::string>& allowed, size_t least);
void ExpectAllRefused(const Findings& findings, size_t least);

// The lines that explain the cell (DescribeCell).
std::vector<std::string> ExplanationOf(SupervisorHarness* supervisor, const std::string& cell_id);

// The operator lets everybody write everywhere, without protection. Before the first cell.
void GrantNoProtection(const SupervisorHarness& supervisor);

// Waits until a process of `uid` has that name (/proc/PID/comm); -1 if it never does.
pid_t AwaitProcess(uid_t uid, const std::string& name);

// A whole file of the host, "" if it cannot be read. /proc files too.
std::string Slurp(const std::string& path);
// The words after "Name:" in /proc/PID/status.
std::string StatusField(pid_t pid, const std::string& name);
// The supervisor's control groups that hold a process of the cell's uid: one in each hierarchy.
std::vector<std::string> GroupsOf(const SupervisorHarness& supervisor, uid_t uid);
// Every process in those. Fails the test if there is none.
std::vector<pid_t> MembersOf(const SupervisorHarness& supervisor, uid_t uid);
// Lines without their ends.
std::vector<std::string> Lines(const std::string& text);

}  // namespace odyssey::testing

#endif  // ODYSSEY_TESTS_INTEGRATION_CELL_PROBE_H_
