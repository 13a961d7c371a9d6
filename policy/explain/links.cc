#include "policy/explain/links.h"

#include <algorithm>
#include <vector>

#include "policy/plan/plan_check.h"

namespace odyssey::explain {
namespace {

using plan::Entry;
using plan::EntryKind;

constexpr int kMaxLinks = 40;  // as the kernel

// What is still to be walked, the next component last.
void Push(const std::string& path, std::vector<std::string>* rest) {
  for (size_t end = path.size(); end > 0;) {
    const size_t slash = path.rfind('/', end - 1);
    const size_t begin = slash == std::string::npos ? 0 : slash + 1;
    if (end > begin) rest->push_back(path.substr(begin, end - begin));
    end = begin == 0 ? 0 : begin - 1;
  }
}

std::optional<std::string> LinkAt(const Cell& cell, const std::string& path,
                                  const ReadLink& read_link) {
  for (const Entry& entry : cell.compiled.plan.entries) {
    if (entry.kind == EntryKind::kSymlink && entry.target == path) return entry.source;
  }
  const std::string host = HostPathOf(cell, path);
  return host.empty() ? std::nullopt : read_link(host);
}

}  // namespace

std::string HostPathOf(const Cell& cell, const std::string& path) {
  const Entry* best = nullptr;
  for (const Entry& entry : cell.compiled.plan.entries) {
    if (entry.kind == EntryKind::kPart || !plan::IsWithin(path, entry.target)) continue;
    if (best == nullptr || entry.target.size() >= best->target.size()) best = &entry;
  }
  if (best == nullptr || best->kind != EntryKind::kHostTree) return "";
  return best->source + path.substr(best->target.size());
}

std::optional<std::string> FollowInCell(const Cell& cell, const std::string& path,
                                        const ReadLink& read_link) {
  std::vector<std::string> rest;
  Push(path, &rest);
  std::string done;  // without links; "" is the root
  for (int links = 0; !rest.empty();) {
    const std::string part = rest.back();
    rest.pop_back();
    if (part == ".") continue;
    if (part == "..") {
      done.erase(std::min(done.rfind('/'), done.size()));
      continue;
    }
    const std::string next = done + "/" + part;
    const std::optional<std::string> link = LinkAt(cell, next, read_link);
    if (!link) {
      done = next;
      continue;
    }
    if (++links > kMaxLinks) return std::nullopt;
    if (link->rfind('/', 0) == 0) done.clear();
    Push(*link, &rest);
  }
  return done.empty() ? "/" : done;
}

}  // namespace odyssey::explain
