#include "policy/lattice/trees.h"

#include <algorithm>
#include <functional>
#include <tuple>

#include "policy/pattern/name_pattern.h"
#include "policy/plan/plan_check.h"

namespace odyssey::lattice {
namespace {

using Names = std::set<std::string>;
using policy::Access;

bool EndsWith(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

// Everything that ends in one of `child` ends in one of `parent`.
bool SuffixesLieIn(const Names& child, const Names& parent) {
  if (parent.empty()) return true;
  return !child.empty() && std::all_of(child.begin(), child.end(), [&](const std::string& text) {
    return std::any_of(parent.begin(), parent.end(),
                       [&](const std::string& end) { return EndsWith(text, end); });
  });
}

// Without those that end in another one.
Names ReduceSuffixes(const Names& suffixes) {
  Names out;
  for (const std::string& text : suffixes) {
    const bool implied = std::any_of(suffixes.begin(), suffixes.end(), [&](const auto& end) {
      return end != text && EndsWith(text, end);
    });
    if (!implied) out.insert(text);
  }
  return out;
}

// nullopt: no name has both.
std::optional<Names> MeetSuffixes(const Names& a, const Names& b) {
  if (a.empty() || b.empty()) return a.empty() ? b : a;
  Names both;
  for (const std::string& x : a) {
    for (const std::string& y : b) {
      if (EndsWith(x, y)) both.insert(x);
      if (EndsWith(y, x)) both.insert(y);
    }
  }
  if (both.empty()) return std::nullopt;
  return ReduceSuffixes(both);
}

// The NAME of "**/NAME" and "**/NAME/**"; nullopt for a pattern that depends on the root.
std::optional<std::string> NameAnywhere(const std::string& pattern) {
  constexpr size_t kPrefix = 3;  // "**/"
  if (pattern.rfind("**/", 0) != 0) return std::nullopt;
  std::string name = pattern.substr(kPrefix);
  if (EndsWith(name, "/**")) name.resize(name.size() - kPrefix);
  if (name.empty() || name == "**" || name.find('/') != std::string::npos) return std::nullopt;
  return name;
}

// The components of `path` below `root`.
std::vector<std::string> Below(const std::string& path, const std::string& root) {
  std::vector<std::string> names;
  for (size_t begin = root == "/" ? 1 : root.size() + 1; begin < path.size();) {
    const size_t end = std::min(path.find('/', begin), path.size());
    names.push_back(path.substr(begin, end - begin));
    begin = end + 1;
  }
  return names;
}

// Whether a tree of `rights` with this root keeps back, of what is at and below `source`, nothing
// that a tree with the root `source` would not keep back by the same lists.
bool MayBeginAt(const std::string& source, const std::string& root, Access access,
                const Rights& rights) {
  if (source == root) return true;
  const std::vector<std::string> way = Below(source, root);
  for (const std::string& pattern : rights.deny) {
    const std::optional<std::string> name = NameAnywhere(pattern);
    if (!name) return false;
    if (std::any_of(way.begin(), way.end(), [&](const std::string& component) {
          return pattern::NameMatches(component, *name);
        })) {
      return false;
    }
  }
  if (access == Access::kReadOnly) return true;
  if (std::any_of(rights.held.begin(), rights.held.end(),
                  [&](const std::string& held) { return plan::IsWithin(source, held); })) {
    return false;
  }
  if (!rights.protect.empty()) return false;
  if (rights.protection == policy::Protection::kNone) return true;
  return std::none_of(way.begin(), way.end(),
                      [](const std::string& component) { return component[0] == '.'; });
}

auto AsTuple(const Tree& tree) {
  return std::tie(tree.source, tree.access, tree.executable, tree.suffixes, tree.max_file_bytes);
}

}  // namespace

bool operator==(const Tree& a, const Tree& b) { return AsTuple(a) == AsTuple(b); }

bool LiesIn(const Tree& child, const Tree& parent, const Rights& around) {
  return plan::IsWithin(child.source, parent.source) && child.access <= parent.access &&
         child.executable <= parent.executable && child.max_file_bytes <= parent.max_file_bytes &&
         SuffixesLieIn(child.suffixes, parent.suffixes) &&
         MayBeginAt(child.source, parent.source, child.access, around);
}

std::optional<Tree> MeetTrees(const Tree& a, const Rights& first, const Tree& b,
                              const Rights& second) {
  const bool a_is_deeper = plan::IsWithin(a.source, b.source);
  if (!a_is_deeper && !plan::IsWithin(b.source, a.source)) return std::nullopt;
  const std::optional<Names> suffixes = MeetSuffixes(a.suffixes, b.suffixes);
  if (!suffixes) return std::nullopt;
  Tree tree = {.source = a_is_deeper ? a.source : b.source,
               .access = std::min(a.access, b.access),
               .executable = a.executable && b.executable,
               .suffixes = *suffixes,
               .max_file_bytes = std::min(a.max_file_bytes, b.max_file_bytes)};
  const auto may_begin = [&](Access access) {
    return MayBeginAt(tree.source, a.source, access, first) &&
           MayBeginAt(tree.source, b.source, access, second);
  };
  // What may not be written from here on may still be read.
  if (!may_begin(tree.access)) tree.access = Access::kReadOnly;
  if (!may_begin(tree.access)) return std::nullopt;
  return tree;
}

void Reduce(Rights* rights) {
  std::vector<Tree>& trees = rights->trees;
  for (Tree& tree : trees) tree.suffixes = ReduceSuffixes(tree.suffixes);
  std::stable_sort(trees.begin(), trees.end(),
                   [](const Tree& a, const Tree& b) { return AsTuple(a) < AsTuple(b); });
  trees.erase(std::unique(trees.begin(), trees.end()), trees.end());
  std::vector<Tree> kept;
  for (const Tree& tree : trees) {
    const bool implied = std::any_of(trees.begin(), trees.end(), [&](const Tree& other) {
      return !(other == tree) && LiesIn(tree, other, *rights);
    });
    if (!implied) kept.push_back(tree);
  }
  trees = std::move(kept);
}

}  // namespace odyssey::lattice
