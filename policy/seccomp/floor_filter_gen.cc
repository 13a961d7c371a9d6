// odyssey-floor-filter-gen FILE: writes the header with which cell-init carries its filters. Runs
// at build time only, so that cell-init needs no libseccomp.

#include <linux/filter.h>

#include <cstdio>
#include <cstring>
#include <string>

#include "policy/seccomp/filter.h"

namespace odyssey::seccomp {
namespace {

constexpr char kTop[] =
    "// Written by odyssey-floor-filter-gen from policy/seccomp. Do not edit.\n"
    "#ifndef ODYSSEY_FLOOR_FILTER_H_\n"
    "#define ODYSSEY_FLOOR_FILTER_H_\n\n"
    "#include <linux/filter.h>\n\n"
    "namespace odyssey {\n\n";
constexpr char kBottom[] =
    "}  // namespace odyssey\n\n"
    "#endif  // ODYSSEY_FLOOR_FILTER_H_\n";

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
  ODY_ASSIGN_OR_RETURN(const std::string floor, BuildFilter({.kind = FilterKind::kFloor}));
  ODY_ASSIGN_OR_RETURN(const std::string init, BuildFilter({.kind = FilterKind::kInit}));
  return kTop +
         ("// Added before every exec: what no policy may give a command.\n" +
          ArrayText("kFloorFilter", floor)) +
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
    std::fputs("usage: odyssey-floor-filter-gen FILE\n", stderr);
    return 2;
  }
  const auto text = odyssey::seccomp::HeaderText();
  if (!text.ok()) {
    std::fprintf(stderr, "odyssey-floor-filter-gen: %s\n", text.status().ToString().c_str());
    return 1;
  }
  if (!odyssey::seccomp::WriteText(argv[1], *text)) {
    std::perror(argv[1]);
    return 1;
  }
  return 0;
}
