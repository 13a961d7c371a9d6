#include "supervisor/cell_review/compare.h"

#include <algorithm>
#include <set>

#include "supervisor/cell_review/diff_text.h"
#include "supervisor/cell_review/judge.h"

namespace odyssey::cell_review {
namespace {

constexpr char kTooDeep[] = "it is too many directories deep to be looked at";

// A path as one cell sees it.
struct Seen {
  Layer* layer = nullptr;  // which has it
  Node node;
  bool host_below = false;  // what the host has below the path shows through
  bool is_directory() const { return node.kind == Kind::kDirectory; }
};

class Comparer final {
 public:
  Comparer(Compared* layers, const std::vector<review::Selection>& selections,
           const std::function<Status(const std::string& text)>& tell)
      : layers_(*layers), selections_(selections), tell_(tell) {}

  Status Run() {
    const Seen top = {.node = {.kind = Kind::kDirectory}, .host_below = true};
    return Below("", top, top, 1);
  }

 private:
  // `above`: the directory that holds it, as the same cell sees that.
  Result<Seen> Look(Layer* upper, const std::string& path, const Seen& above) {
    const Seen nothing = {.layer = upper};
    if (!above.is_directory()) return nothing;
    Node host;
    if (above.host_below) {
      ODY_ASSIGN_OR_RETURN(host, LookIn(&layers_.host, path));
    }
    ODY_ASSIGN_OR_RETURN(Node own, LookIn(upper, path));
    const bool directory = host.kind == Kind::kDirectory;
    if (own.kind == Kind::kNone && above.host_below) {
      return Seen{&layers_.host, std::move(host), directory};
    }
    if (own.kind == Kind::kNone || own.kind == Kind::kWhiteout) return nothing;
    const bool through = directory && own.kind == Kind::kDirectory && !upper->IsOpaque(path);
    return Seen{upper, std::move(own), through};
  }

  static Result<Node> LookIn(Layer* layer, const std::string& path) {
    auto node = layer->Look(path);
    if (node.ok() || node.status().code() != Code::kPermissionDenied) return node;
    return Node{.kind = Kind::kUnreadable};
  }

  Status At(const std::string& path, const Seen& old_above, const Seen& new_above, size_t depth) {
    ODY_ASSIGN_OR_RETURN(const Seen before, Look(&layers_.against, path, old_above));
    ODY_ASSIGN_OR_RETURN(const Seen after, Look(&layers_.upper, path, new_above));
    if (before.layer == after.layer) return OkStatus();  // both see the host's
    const State old_state = StateOf(before, path), new_state = StateOf(after, path);
    if (old_state != new_state)
      ODY_RETURN_IF_ERROR(Tell(path, before, old_state, after, new_state));
    return Below(path, before, after, depth + 1);
  }

  Status Below(const std::string& path, const Seen& before, const Seen& after, size_t depth) {
    if (!before.is_directory() && !after.is_directory()) return OkStatus();
    if (depth > kMaxDepth) return Note(path, kTooDeep);
    std::set<std::string> names;
    if (before.is_directory()) ODY_RETURN_IF_ERROR(AddNames(&layers_.against, path, &names));
    if (after.is_directory()) ODY_RETURN_IF_ERROR(AddNames(&layers_.upper, path, &names));
    // Where it shows through for both, both see the same of it.
    if (before.host_below != after.host_below) {
      ODY_RETURN_IF_ERROR(AddNames(&layers_.host, path, &names));
    }
    for (const std::string& name : names) {
      ODY_RETURN_IF_ERROR(At(Join(path, name), before, after, depth));
    }
    return OkStatus();
  }

  static Status AddNames(Layer* layer, const std::string& path, std::set<std::string>* names) {
    const auto found = layer->Names(path);
    if (found.ok()) names->insert(found->begin(), found->end());
    const Code code = found.status().code();
    // This layer has no directory there, or one that is closed to its owner.
    const bool none = code == Code::kNotFound || code == Code::kInvalidArgument ||
                      code == Code::kPermissionDenied;
    return none ? OkStatus() : found.status();
  }

  static State StateOf(const Seen& seen, const std::string& path) {
    auto state = seen.layer->StateOf(path, seen.node);
    if (state.ok()) return std::move(*state);
    return {.kind = Kind::kUnreadable};
  }

  Status Tell(const std::string& path, const Seen& before, const State& old_state,
              const Seen& after, const State& new_state) {
    if (!IsSelected(path)) return OkStatus();
    if (old_state.kind == Kind::kUnreadable || new_state.kind == Kind::kUnreadable) {
      return Note(path, "its mode closes it to its owner, so that it cannot be looked at");
    }
    const review::Change change = {.path = path,
                                   .kind = KindOfChange(old_state, new_state),
                                   .old_mode = ModeOf(old_state),
                                   .new_mode = ModeOf(new_state),
                                   .old_size = old_state.size,
                                   .new_size = new_state.size};
    return tell_(DiffText({before.layer, old_state}, {after.layer, new_state}, change));
  }

  // A line that patch(1) passes over.
  Status Note(const std::string& path, const char* why) {
    return IsSelected(path) ? tell_("# not compared: " + Shown(path) + ": " + why + "\n")
                            : OkStatus();
  }

  bool IsSelected(const std::string& path) const {
    return selections_.empty() ||
           std::any_of(selections_.begin(), selections_.end(),
                       [&](const review::Selection& one) { return IsBelow(path, one.path); });
  }

  Compared& layers_;
  const std::vector<review::Selection>& selections_;
  const std::function<Status(const std::string& text)>& tell_;
};

}  // namespace

Result<Compared> OpenCompared(const std::string& directory) {
  ODY_ASSIGN_OR_RETURN(Layer host, Layer::Open(directory + "/host"));
  ODY_ASSIGN_OR_RETURN(Layer against, Layer::Open(directory + "/against"));
  ODY_ASSIGN_OR_RETURN(Layer upper, Layer::Open(directory + "/upper"));
  return Compared{std::move(host), std::move(against), std::move(upper)};
}

Status Compare(Compared* layers, const std::vector<review::Selection>& selections,
               const std::function<Status(const std::string& text)>& tell) {
  return Comparer(layers, selections, tell).Run();
}

}  // namespace odyssey::cell_review
