#ifndef ODYSSEY_COMMON_OS_STDIO_H_
#define ODYSSEY_COMMON_OS_STDIO_H_

namespace odyssey {

// Descriptors 0 to 2 that a careless parent closed become /dev/null. Else the next files that are
// opened take these numbers, and are written to, or replaced, as if they were stdio. First of all,
// which is before main: gRPC's initialiser already opens a descriptor, and keeps it. So a program
// has it called by the loader (ld.so(8): preinit functions of the executable run first):
//
//   [[gnu::section(".preinit_array"), gnu::used]] void (*const kFirst)() = OpenMissingStdio;
//
// Async-signal-safe.
void OpenMissingStdio();

}  // namespace odyssey

#endif  // ODYSSEY_COMMON_OS_STDIO_H_
