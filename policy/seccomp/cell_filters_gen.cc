// odyssey-cell-filters-gen FILE: writes the header with which cell-init carries its filters. Runs
// at build time only, so that cell-init needs no libseccomp.

#include <linux/filter.h>

#include <cstdio>
#include <cstring>
#include <string>

#include "policy/seccomp/filter.h"

namespace odyssey::seccomp {
namespace {

constexpr char kTop[] =
    "// Written by odyssey-cell-filters-gen from policy/seccomp. Do not edit.\n"
    "#ifndef ODYSSEY_CELL_FILTERS_H_\n"
    "#define ODYSSEY_CELL_FILTERS_H_\n\n"
    "#include <linux/filter.h>\n\n"
    "namespace odyssey {\n\n";
constexpr char kBottom[] =
    "}  // namespace odyssey\n\n"
    "#endif  // ODYSSEY_CELL_FILTERS_H_\n";

std::string ArrayText(const std::string& name, const std::string& program) {
  std::string text = "inline constexpr sock_filter " + name + "[] = {\n";
  for (size_t at = 0; at < program.size(); at += sizeof(sock_filter)) {
    sock_filter f;
    std::memcpy(&f, program.data() + at, sizeof(f));
    text += "    {" + std::to_string(f.code) + ", " + std::to_string(f.jt) + ", " +
            std::to_string(f.jf) + ", " + std::to_string(f.k) + "u},\n";
  }
  return text + "};\n\n";
}

Result<std::string> HeaderText() {
  ODY_ASSIGN_OR_RETURN(const std::string command, BuildFilter({.kind = FilterKind::kCommand}));
  ODY_ASSIGN_OR_RETURN(const std::string notifying, BuildFilter({.kind = FilterKind::kNotifying}));
  ODY_ASSIGN_OR_RETURN(const std::string connects,
                       BuildFilter({.kind = FilterKind::kNotifyingOfConnects}));
  ODY_ASSIGN_OR_RETURN(const std::string build, BuildFilter({.kind = FilterKind::kBuild}));
  ODY_ASSIGN_OR_RETURN(const std::string init, BuildFilter({.kind = FilterKind::kInit}));
  return kTop +
         ("// For what runs in a cell without a listener.\n" +
          ArrayText("kCommandFilter", command)) +
         ("// For every slot: refused calls are notified to its pid 1.\n" +
          ArrayText("kNotifyingFilter", notifying)) +
         ("// The same, and connect(2), where the cell has no network.\n" +
          ArrayText("kNotifyingOfConnectsFilter", connects)) +
         ("// The same for slots that build an image.\n" + ArrayText("kBuildFilter", build)) +
         ("// For cell-init itself, which still mounts and makes namespaces.\n" +
          ArrayText("kInitFilter", init)) +
         kBottom;
}

bool WriteText(const char* path, const std::string& text) {
  std::FILE* file = std::fopen(path, "we");
  if (file == nullptr) return false;
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  return (std::fclose(file) == 0) && written;
}

}  // namespace
}  // namespace odyssey::seccomp

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: odyssey-cell-filters-gen FILE\n", stderr);
    return 2;
  }
  const auto text = odyssey::seccomp::HeaderText();
  if (!text.ok()) {
    std::fprintf(stderr, "odyssey-cell-filters-gen: %s\n", text.status().ToString().c_str());
    return 1;
  }
  if (!odyssey::seccomp::WriteText(argv[1], *text)) {
    std::perror(argv[1]);
    return 1;
  }
  return 0;
}
