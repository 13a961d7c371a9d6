#include "policy/difference/workers.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "common/base/join.h"
#include "policy/difference/shell_rules.h"

namespace odyssey::difference {
namespace {

using dialect::AttachmentPolicy;
using dialect::llm_do::Path;
using dialect::llm_do::Worker;
using Names = std::vector<std::string>;

void CompareAsking(const std::string& key, bool first_asks, bool second_asks, Difference* out) {
  if (first_asks == second_asks) return;
  auto& more = first_asks ? out->only_second : out->only_first;
  more.push_back(key + ": without asking, where the other asks");
}

void CompareTools(const Worker& first, const Worker& second, Difference* out) {
  for (const auto& [tool, asks] : first.tool_approval) {
    const std::string key = "tool_rules." + tool + ".approval_required";
    const auto other = second.tool_approval.find(tool);
    if (other != second.tool_approval.end()) {
      CompareAsking(key, asks, other->second, out);
    } else {
      out->undecided.push_back(key + ": only the first says it");
    }
  }
  for (const auto& [tool, asks] : second.tool_approval) {
    if (first.tool_approval.count(tool) > 0) continue;
    out->undecided.push_back("tool_rules." + tool + ".approval_required: only the second says it");
  }
}

void ComparePaths(const Worker& first, const Worker& second, Difference* out) {
  for (const Path& path : first.paths) {
    for (const Path& other : second.paths) {
      if (other.name != path.name) continue;
      const std::string key = "sandbox.paths." + path.name;
      CompareAsking(key + ".write_approval", path.write_approval, other.write_approval, out);
      CompareAsking(key + ".read_approval", path.read_approval, other.read_approval, out);
    }
  }
}

bool Has(const Names& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

void ExcessOfNumber(const char* key, uint64_t more, uint64_t less, Names* out) {
  if (more <= less) return;
  out->push_back("attachment_policy." + std::string(key) + ": " + std::to_string(more) +
                 ", where " + std::to_string(less) + " is the most");
}

// What one attachment policy lets be sent beyond another.
Names Excess(const AttachmentPolicy& more, const AttachmentPolicy& less) {
  Names out;
  ExcessOfNumber("max_count", more.max_count, less.max_count, &out);
  ExcessOfNumber("max_total_bytes", more.max_total_bytes, less.max_total_bytes, &out);
  const Names& allowed = less.allowed_suffixes;
  if (!allowed.empty() && more.allowed_suffixes.empty()) {
    out.push_back("attachment_policy.allowed_suffixes: any, where the other has " +
                  Join(allowed, " "));
  }
  for (const std::string& suffix : more.allowed_suffixes) {
    if (allowed.empty() || Has(allowed, suffix)) continue;
    out.push_back("attachment_policy.allowed_suffixes: " + suffix);
  }
  for (const std::string& suffix : less.denied_suffixes) {
    if (Has(more.denied_suffixes, suffix)) continue;
    out.push_back("attachment_policy.denied_suffixes: " + suffix + " is not there");
  }
  return out;
}

// Without the toolset there is no delegation.
Names ExcessOfDelegation(const Worker& more, const Worker& less) {
  const Names known = less.allow_workers.value_or(Names());
  Names out;
  if (Has(known, "*")) return out;
  for (const std::string& name : more.allow_workers.value_or(Names())) {
    if (!Has(known, name)) out.push_back("toolsets.delegation.allow_workers: " + name);
  }
  return out;
}

}  // namespace

Difference CompareWorkers(const Worker& first, const Worker& second) {
  Difference out;
  CompareTools(first, second, &out);
  ComparePaths(first, second, &out);
  Append(CompareShellRules(first, second), &out);
  const AttachmentPolicy a = first.attachments.value_or(AttachmentPolicy());
  const AttachmentPolicy b = second.attachments.value_or(AttachmentPolicy());
  Append({.only_first = Excess(a, b), .only_second = Excess(b, a)}, &out);
  Append({.only_first = ExcessOfDelegation(first, second),
          .only_second = ExcessOfDelegation(second, first)},
         &out);
  return out;
}

}  // namespace odyssey::difference
