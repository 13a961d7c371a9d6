#ifndef ODYSSEY_TESTS_TESTING_MACHINE_H_
#define ODYSSEY_TESTS_TESTING_MACHINE_H_

// What this machine lacks, found by trying it outside any cell. A test that meets the lack of
// something in a cell asks here whether the machine has it at all: where it does, the lack is a
// failure; where it does not, the test asserts what has to hold instead.
//
// Each Why… tries once in a process, leaves nothing, and returns "" if the machine has the thing,
// and what the attempt answered if not. None asks for a version of the kernel.

#include <string>

#include "common/os/unique_fd.h"

namespace odyssey::testing {

// System calls by int 0x80. Without them the instruction is SIGSEGV, or a filter of the caller's
// kills it.
const std::string& WhyNo32BitCalls();
// … and by numbers with bit 30, of x86-64's 32-bit ABI.
const std::string& WhyNoX32Calls();
// A node of /dev/fuse that opens. Needs root.
const std::string& WhyNoFuse();
// A loop device that opens. Needs root.
const std::string& WhyNoLoopDevices();
// Real-time scheduling for this process's children, which a control group may keep from root.
const std::string& WhyNoRealTime();

// What this kernel's Landlock has; Debian 12's 6.1 has 2. 0: no Landlock.
int LandlockAbi();
inline constexpr int kLandlockRefer = 2;     // Linux 5.19
inline constexpr int kLandlockTruncate = 3;  // Linux 6.2
inline constexpr int kLandlockScopes = 6;    // Linux 6.12

// A connection to FUSE of its own, by a device node that nothing else shows; none where
// WhyNoFuse. The first call, or one of WhyNoFuse, has to come from root of the machine; later ones
// may come from a user namespace that this process has entered.
UniqueFd OpenFuse();

// The end of a child that made a system call by int 0x80, as waitpid(2) has it, in the words of
// WhyNo32BitCalls. Pure.
std::string WhyNo32BitCallsBy(int status);

}  // namespace odyssey::testing

#endif  // ODYSSEY_TESTS_TESTING_MACHINE_H_
