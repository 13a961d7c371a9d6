#include "policy/compile/mount_files.h"

#include <algorithm>

#include "common/base/refusal.h"

namespace odyssey::compile {
namespace {

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// Something that a name can end in and that a message can show.
bool IsSuffix(const std::string& suffix) {
  return !suffix.empty() && suffix.size() <= cell::kMaxSuffixBytes &&
         std::all_of(suffix.begin(), suffix.end(), [](char c) {
           const auto byte = static_cast<unsigned char>(c);
           return byte >= 0x20 && byte != 0x7F && c != '/';
         });
}

}  // namespace

Status CheckMountFiles(const policy::Mount& mount) {
  if (mount.suffixes.size() > cell::kMaxSuffixes) {
    return Refused(Code::kInvalidArgument, "suffixes", std::to_string(mount.suffixes.size()),
                   "at most " + std::to_string(cell::kMaxSuffixes) + " are allowed");
  }
  for (const std::string& suffix : mount.suffixes) {
    if (IsSuffix(suffix)) continue;
    return Refused(Code::kInvalidArgument, "suffixes", "\"" + suffix + "\"",
                   "ends of names, 1 to " + std::to_string(cell::kMaxSuffixBytes) +
                       " printable bytes without \"/\", are allowed");
  }
  return OkStatus();
}

bool SameMountFiles(const policy::Mount& a, const policy::Mount& b) {
  return ToolRootOf(a).suffixes == ToolRootOf(b).suffixes && a.max_file_bytes == b.max_file_bytes;
}

cell::ToolRoot ToolRootOf(const policy::Mount& mount) {
  cell::ToolRoot root{mount.target, mount.suffixes, mount.max_file_bytes};
  for (std::string& suffix : root.suffixes) {
    std::transform(suffix.begin(), suffix.end(), suffix.begin(), Lower);
  }
  std::sort(root.suffixes.begin(), root.suffixes.end());
  root.suffixes.erase(std::unique(root.suffixes.begin(), root.suffixes.end()), root.suffixes.end());
  return root;
}

std::string DescribeMountFiles(const policy::Mount& mount) {
  if (mount.suffixes.empty() && mount.max_file_bytes == 0) return "";
  std::string text = "; file operations see only files";
  std::string separator = " that end in ";
  for (const std::string& suffix : ToolRootOf(mount).suffixes) {
    text += separator + suffix;
    separator = ", ";
  }
  if (mount.max_file_bytes != 0) {
    text += " of at most " + std::to_string(mount.max_file_bytes) + " bytes";
  }
  return text;
}

}  // namespace odyssey::compile
