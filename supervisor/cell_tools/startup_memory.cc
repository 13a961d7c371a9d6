#include "supervisor/cell_tools/startup_memory.h"

#include <link.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

namespace odyssey::cell_tools {
namespace {

// What is not writable is as it is in the file; what is writable may differ from it, and stays.
int ForgetReadOnly(dl_phdr_info* program, size_t, void*) {
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  for (int i = 0; i < program->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = program->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_W) != 0) continue;
    const uintptr_t begin = (program->dlpi_addr + segment.p_vaddr) & ~(page - 1);
    const uintptr_t end = program->dlpi_addr + segment.p_vaddr + segment.p_memsz;
    madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
  }
  return 1;  // the program itself comes first, and is all of a static one
}

}  // namespace

void ReleaseStartupPages() { dl_iterate_phdr(ForgetReadOnly, nullptr); }

}  // namespace odyssey::cell_tools
