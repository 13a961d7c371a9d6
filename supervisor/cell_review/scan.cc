#include "supervisor/cell_review/scan.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>

#include <algorithm>

namespace odyssey::cell_review {
namespace {

constexpr char kMeanwhile[] =
    "the host changed it after the cell did: both versions are kept; discard the cell's, or make "
    "the host's what you want and commit again";
constexpr char kUnreadable[] = "its mode closes it to its owner, so that it cannot be looked at";
constexpr char kTooDeep[] = "it is too many directories deep to be looked at";

int64_t Now() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return now.tv_sec * int64_t{1'000'000'000} + now.tv_nsec;
}

size_t DepthOf(const std::string& path) {
  return static_cast<size_t>(std::count(path.begin(), path.end(), '/')) + 1;
}

class Scanner final {
 public:
  Scanner(Reviewed* reviewed, size_t max_found) : layers_(*reviewed), max_found_(max_found) {}

  Result<Scan> Run() {
    const int64_t started = Now();
    ODY_ASSIGN_OR_RETURN(old_, LoadBases(&layers_.store));
    if (old_.scanned == 0) {
      ODY_ASSIGN_OR_RETURN(old_.scanned, FirstTime());
    }
    Walk("", /*through=*/true);
    ODY_RETURN_IF_ERROR(failed_);
    scan_.bases.scanned = started;
    // What was not reached keeps its bases.
    if (scan_.truncated) scan_.bases.paths.merge(old_.paths);
    ODY_RETURN_IF_ERROR(SaveBases(scan_.bases, &layers_.store));
    std::sort(scan_.found.begin(), scan_.found.end(),
              [](const Found& a, const Found& b) { return a.path < b.path; });
    return std::move(scan_);
  }

 private:
  // Before the first cell wrote anything: root made the store.
  Result<int64_t> FirstTime() const {
    struct statx info;
    if (statx(layers_.store.fd(), "", AT_EMPTY_PATH, STATX_BASIC_STATS | STATX_BTIME, &info) != 0) {
      return ErrnoStatus(errno, "stat the store");
    }
    const auto& born = (info.stx_mask & STATX_BTIME) != 0 ? info.stx_btime : info.stx_ctime;
    return born.tv_sec * int64_t{1'000'000'000} + born.tv_nsec;
  }

  bool Stop() {
    if (scan_.found.size() >= max_found_) scan_.truncated = true;
    return scan_.truncated || !failed_.ok();
  }

  Node Look(Layer* layer, const std::string& path) {
    auto node = layer->Look(path);
    if (node.ok()) return std::move(*node);
    if (node.status().code() != Code::kPermissionDenied) failed_ = node.status();
    return Node{.kind = Kind::kUnreadable};
  }

  // `through`: the host's directory of this path shows through the upper one.
  void Walk(const std::string& path, bool through) {
    if (DepthOf(path) > kMaxDepth - 1) return Add(path, {}, {}, kTooDeep);
    const auto names = layers_.upper.Names(path);
    if (names.status().code() == Code::kPermissionDenied) return Add(path, {}, {}, kUnreadable);
    if (!names.ok()) {
      failed_ = names.status();
      return;
    }
    const bool opaque = !path.empty() && layers_.upper.IsOpaque(path);
    if (through && opaque) AddHidden(path, *names);
    for (const std::string& name : *names) {
      if (Stop()) return;
      Visit(Join(path, name), through);
    }
  }

  void Visit(const std::string& path, bool through) {
    const Node upper = Look(&layers_.upper, path);
    const Node host = through ? Look(&layers_.host, path) : Node{};
    if (upper.kind == Kind::kNone) return;  // removed since the directory was read
    if (upper.kind == Kind::kWhiteout) return AddDeleted(path, host);
    if (upper.kind != Kind::kDirectory) {
      Add(path, host, upper);
      // What the host has below it goes too.
      if (host.kind == Kind::kDirectory) AddBelow(path);
      return;
    }
    Add(path, host, upper);
    Walk(path, through && host.kind == Kind::kDirectory);
  }

  // What an opaque directory hides.
  void AddHidden(const std::string& path, const std::vector<std::string>& shown) {
    const auto names = layers_.host.Names(path);
    if (!names.ok()) return;
    for (const std::string& name : *names) {
      if (Stop()) return;
      if (std::binary_search(shown.begin(), shown.end(), name)) continue;
      AddDeleted(Join(path, name), Look(&layers_.host, Join(path, name)));
    }
  }

  void AddDeleted(const std::string& path, const Node& host) {
    if (host.kind == Kind::kNone) return;
    Add(path, host, Node{});
    if (host.kind == Kind::kDirectory) AddBelow(path);
  }

  void AddBelow(const std::string& path) {
    const auto names = layers_.host.Names(path);
    if (!names.ok() || DepthOf(path) > kMaxDepth - 1) return;
    for (const std::string& name : *names) {
      if (Stop()) return;
      AddDeleted(Join(path, name), Look(&layers_.host, Join(path, name)));
    }
  }

  // A print that was taken of the same version of a file is not taken again.
  State StateOf(Layer* layer, const std::string& path, const Node& node, const State& known,
                int64_t changed, uint64_t inode) {
    if (node.kind == Kind::kFile && known.kind == Kind::kFile && node.changed == changed &&
        node.inode == inode && node.size == known.size) {
      State state = known;
      state.mode = node.mode & kModeBits;
      return state;
    }
    auto state = layer->StateOf(path, node);
    if (state.ok()) return std::move(*state);
    if (state.status().code() != Code::kPermissionDenied) {
      // It changed while it was looked at: a state that equals no other.
      return {
          .kind = node.kind, .size = node.size, .print = layer == &layers_.host ? "?host" : "?"};
    }
    return {.kind = Kind::kUnreadable};
  }

  bool HostIsOlder(const Node& host, const Node& upper) const {
    if (host.kind == Kind::kNone) return true;
    return host.changed < (upper.kind == Kind::kNone ? old_.scanned : upper.born);
  }

  void Add(const std::string& path, const Node& host, const Node& upper,
           const std::string& cannot = "") {
    const auto it = old_.paths.find(path);
    Base base = it == old_.paths.end() ? Base{} : it->second;
    const State host_state =
        StateOf(&layers_.host, path, host, base.host, base.host_changed, base.host_inode);
    const State upper_state =
        StateOf(&layers_.upper, path, upper, base.upper, base.upper_changed, base.upper_inode);
    if (it == old_.paths.end()) {
      base.known = HostIsOlder(host, upper);
      base.state = host_state;
    }
    base.host = host_state;
    base.host_changed = host.changed;
    base.host_inode = host.inode;
    base.upper = upper_state;
    base.upper_changed = upper.changed;
    base.upper_inode = upper.inode;
    Found found = {.path = path,
                   .verdict = Judge(base, upper_state, host_state),
                   .host = host_state,
                   .upper = upper_state,
                   .host_node = host,
                   .upper_node = upper,
                   .conflict = cannot};
    scan_.bases.paths[path] = std::move(base);
    if (upper_state.kind == Kind::kUnreadable || host_state.kind == Kind::kUnreadable) {
      found.conflict = kUnreadable;
    }
    if (!found.conflict.empty()) found.verdict = Verdict::kConflict;
    // Nothing of the host's is lost where a directory only has other bits.
    const bool directories =
        upper_state.kind == Kind::kDirectory && host_state.kind == Kind::kDirectory;
    if (directories && found.verdict == Verdict::kConflict && found.conflict.empty()) return;
    if (found.verdict == Verdict::kNothing) {
      const bool stale = upper.kind != Kind::kDirectory && upper_state != host_state;
      if (stale) scan_.stale.push_back(path);
      return;
    }
    if (found.verdict == Verdict::kConflict && found.conflict.empty()) found.conflict = kMeanwhile;
    scan_.found.push_back(std::move(found));
  }

  Reviewed& layers_;
  const size_t max_found_;
  BaseStore old_;
  Scan scan_;
  Status failed_;
};

}  // namespace

Result<Reviewed> OpenReviewed(const std::string& directory, const std::string& below) {
  ODY_ASSIGN_OR_RETURN(Layer host, Layer::Open(below));
  ODY_ASSIGN_OR_RETURN(Layer upper, Layer::Open(directory + "/upper"));
  ODY_ASSIGN_OR_RETURN(Layer store, Layer::Open(directory + "/store"));
  return Reviewed{std::move(host), std::move(upper), std::move(store)};
}

Result<Scan> ScanChanges(Reviewed* reviewed, size_t max_found) {
  return Scanner(reviewed, max_found).Run();
}

bool IsInMergedView(Reviewed* reviewed, const std::string& path) {
  const auto upper = reviewed->upper.Look(path);
  if (upper.ok() && upper->kind != Kind::kNone) return upper->kind != Kind::kWhiteout;
  const auto host = reviewed->host.Look(path);
  if (!host.ok() || host->kind == Kind::kNone) return false;
  // It shows through unless what is above it hides it. The host is asked first: it has few of what
  // is asked for, and a cell may have nested directories without end.
  for (std::string at = ParentOf(path); !at.empty(); at = ParentOf(at)) {
    const auto above = reviewed->upper.Look(at);
    if (!above.ok() || above->kind == Kind::kNone) continue;
    if (above->kind != Kind::kDirectory || reviewed->upper.IsOpaque(at)) return false;
  }
  return true;
}

}  // namespace odyssey::cell_review
