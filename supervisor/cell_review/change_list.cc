#include "supervisor/cell_review/change_list.h"

#include <sys/stat.h>

#include <algorithm>
#include <map>
#include <set>

#include "common/base/codec.h"
#include "common/base/sha256.h"
#include "common/diff/diff.h"
#include "supervisor/marks/marks.h"

namespace odyssey::cell_review {
namespace {

using review::Change;
using review::ChangeKind;

constexpr uint64_t kMaxJudged = uint64_t{16} << 20;  // of a file whose content is looked at
constexpr char kSocket[] = "a socket cannot be committed";
constexpr char kDevice[] = "a device cannot be committed";

// A repository without a `.git` of its own: the directories above `path` that git would take for
// one.
class RepositoryFinder final {
 public:
  explicit RepositoryFinder(Reviewed* reviewed) : reviewed_(reviewed) {}

  std::string MarkOf(const std::string& path) {
    for (std::string at = ParentOf(path);; at = ParentOf(at)) {
      if (IsRepository(at)) {
        return marks::MarkInRepository(path.substr(at.empty() ? 0 : at.size() + 1));
      }
      if (at.empty()) return "";
    }
  }
  // The change makes a repository of its directory.
  bool Makes(const std::string& path) {
    for (const std::string_view part : marks::kRepositoryParts) {
      const std::string parent = ParentOf(path);
      const std::string_view name =
          std::string_view(path).substr(parent.empty() ? 0 : parent.size() + 1);
      if (name.substr(0, name.find('/')) == part && IsRepository(parent)) return true;
    }
    return false;
  }

 private:
  bool IsRepository(const std::string& directory) {
    const auto it = known_.find(directory);
    if (it != known_.end()) return it->second;
    bool all = true;
    for (const std::string_view part : marks::kRepositoryParts) {
      all = all && IsInMergedView(reviewed_, Join(directory, std::string(part)));
    }
    return known_[directory] = all;
  }

  Reviewed* const reviewed_;
  std::map<std::string, bool> known_;
};

bool IsInGit(const std::string& path) {
  return IsBelow(path, ".git") || path.find("/.git/") != std::string::npos ||
         (path.size() > 5 && path.compare(path.size() - 5, 5, "/.git") == 0);
}

std::string ReadOrNothing(Layer* layer, const std::string& path, const State& state) {
  if (state.kind != Kind::kFile || state.size > kMaxJudged) return "";
  auto text = layer->Read(path, kMaxJudged);
  return text.ok() ? std::move(*text) : "";
}

void Count(const Change& change, review::Counts* counts) {
  switch (change.kind) {
    case ChangeKind::kAdded:
      ++counts->added;
      break;
    case ChangeKind::kModified:
      ++counts->modified;
      break;
    case ChangeKind::kDeleted:
      ++counts->deleted;
      break;
    case ChangeKind::kRenamed:
      ++counts->renamed;
      break;
    default:
      ++counts->other;
      break;
  }
  if (!change.mark.empty()) ++counts->marked;
  if (!change.conflict.empty()) ++counts->conflicts;
}

class Lister final {
 public:
  Lister(Reviewed* reviewed, uint32_t directory) : layers_(*reviewed), directory_(directory) {}

  ChangeList Run(Scan scan, const std::vector<review::Selection>& selections) {
    std::set<std::string> unmatched;
    for (const review::Selection& one : selections) unmatched.insert(one.path);
    unmatched.erase("");
    FindRenames(scan.found);
    for (const Found& found : scan.found) {
      if (renamed_from_.count(found.path) != 0) continue;
      Listed listed = {.change = Describe(found), .found = found};
      if (!listed.change.from.empty()) listed.from = from_.at(listed.change.from);
      if (!IsSelected(listed.change, selections, &unmatched)) continue;
      Count(listed.change, &list_.counts);
      list_.changes.push_back(std::move(listed));
    }
    list_.unmatched.assign(unmatched.begin(), unmatched.end());
    list_.truncated = scan.truncated;
    list_.stale = static_cast<uint32_t>(scan.stale.size());
    list_.digest = Digest();
    return std::move(list_);
  }

 private:
  // A file that was deleted and one that was added with the same content are one that was moved.
  void FindRenames(const std::vector<Found>& all) {
    std::map<std::string, std::string> deleted;  // print → path
    for (const Found& found : all) {
      const bool moved = found.verdict == Verdict::kClean && found.upper.kind == Kind::kNone &&
                         found.host.kind == Kind::kFile && found.host.size > 0;
      if (moved) deleted[found.host.print] = found.path;
    }
    for (const Found& found : all) {
      if (found.verdict != Verdict::kClean || found.host.kind != Kind::kNone ||
          found.upper.kind != Kind::kFile) {
        continue;
      }
      const auto it = deleted.find(found.upper.print);
      if (it == deleted.end()) continue;
      renames_[found.path] = it->second;
      renamed_from_.insert(it->second);
      deleted.erase(it);
    }
    for (const Found& found : all) {
      if (renamed_from_.count(found.path) != 0) from_[found.path] = found;
    }
  }

  Change Describe(const Found& found) {
    Change change = {.directory = directory_,
                     .path = found.path,
                     .kind = KindOfChange(found.host, found.upper),
                     .old_mode = ModeOf(found.host),
                     .new_mode = ModeOf(found.upper),
                     .old_size = found.host.size,
                     .new_size = found.upper.size,
                     .conflict = found.conflict};
    if (const auto it = renames_.find(found.path); it != renames_.end()) {
      change.kind = ChangeKind::kRenamed;
      change.from = it->second;
      change.old_mode = ModeOf(from_.at(it->second).host);
      change.old_size = from_.at(it->second).host.size;
    }
    change.mark = MarkOf(found);
    if (change.mark.empty() && !change.from.empty()) {
      change.mark = marks::MarkOf({.path = change.from, .mode = 0});
    }
    change.binary = binary_;
    if (found.upper.kind == Kind::kSocket) change.conflict = kSocket;
    if (found.upper.kind == Kind::kDevice) change.conflict = kDevice;
    return change;
  }

  std::string MarkOf(const Found& found) {
    binary_ = false;
    std::string old_text, new_text;
    const bool content = found.upper.kind == Kind::kFile || found.host.kind == Kind::kFile;
    if (content) {
      new_text = ReadOrNothing(&layers_.upper, found.path, found.upper);
      if (marks::WantsContent(found.path) || new_text.empty()) {
        old_text = ReadOrNothing(&layers_.host, found.path, found.host);
      }
      binary_ = diff::IsBinary(new_text) || diff::IsBinary(old_text) ||
                std::max(found.upper.size, found.host.size) > kMaxJudged;
    }
    std::string mark = marks::MarkOf(
        {.path = found.path, .mode = ModeOf(found.upper), .link_target = found.upper_node.link});
    if (!mark.empty()) return mark;
    if (!IsInGit(found.path)) {
      mark = repositories_.MarkOf(found.path);
      if (mark.empty() && repositories_.Makes(found.path)) {
        mark = "it makes its directory a repository, which git enters and obeys";
      }
      if (!mark.empty()) return mark;
    }
    if (found.upper.kind != Kind::kFile || !marks::WantsContent(found.path)) return "";
    if (found.upper.size > kMaxJudged) return "it is too large to be judged";
    return marks::MarkByContent(found.path, old_text, new_text);
  }

  // Takes the path of each selection that holds the change out of `unmatched`.
  static bool IsSelected(const Change& change, const std::vector<review::Selection>& selections,
                         std::set<std::string>* unmatched) {
    bool selected = selections.empty();
    for (const review::Selection& one : selections) {
      const bool holds = IsBelow(change.path, one.path) ||
                         (!change.from.empty() && IsBelow(change.from, one.path));
      if (holds) unmatched->erase(one.path);
      selected = selected || holds;
    }
    return selected;
  }

  // Of the versions that were looked at: what is written again has another time of change.
  std::string Digest() const {
    Writer out;
    for (const Listed& listed : list_.changes) {
      const Found& found = listed.found;
      out.U32(directory_);
      out.String(found.path);
      out.String(listed.change.from);
      for (const State* state : {&found.host, &found.upper}) {
        out.U8(static_cast<uint8_t>(state->kind));
        out.U32(state->mode);
        out.U64(state->size);
        out.String(state->print);
      }
      out.U64(found.upper_node.inode);
      out.U64(static_cast<uint64_t>(found.upper_node.changed));
    }
    return Sha256Hex(out.bytes());
  }

  Reviewed& layers_;
  const uint32_t directory_;
  RepositoryFinder repositories_{&layers_};
  std::map<std::string, std::string> renames_;  // new path → old path
  std::set<std::string> renamed_from_;
  std::map<std::string, Found> from_;
  bool binary_ = false;  // of the change that was described last
  ChangeList list_;
};

}  // namespace

void ForImage(const std::vector<std::string>& leave_out, ChangeList* list) {
  std::erase_if(list->changes, [&](const Listed& listed) {
    return std::any_of(leave_out.begin(), leave_out.end(),
                       [&](const std::string& top) { return IsBelow(listed.change.path, top); });
  });
  list->counts = {};
  for (Listed& listed : list->changes) {
    listed.change.mark.clear();
    listed.change.conflict.clear();
    Count(listed.change, &list->counts);
  }
}

std::vector<review::Selection> SelectionsOf(uint32_t directory,
                                            const std::vector<review::Selection>& selections) {
  std::vector<review::Selection> own;
  std::copy_if(selections.begin(), selections.end(), std::back_inserter(own),
               [&](const review::Selection& one) { return one.directory == directory; });
  return own;
}

Result<ChangeList> ListChanges(Reviewed* reviewed, uint32_t directory,
                               const std::vector<review::Selection>& selections,
                               size_t max_changes) {
  ODY_ASSIGN_OR_RETURN(Scan scan, ScanChanges(reviewed, max_changes));
  return Lister(reviewed, directory).Run(std::move(scan), selections);
}

}  // namespace odyssey::cell_review
