#include "policy/compile/launch_failure.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "policy/plan/plan.h"

namespace odyssey::compile {
namespace {

struct Named {
  std::string field;
  std::string path;
  std::string told;  // put before the message: the value, where the message has another one
};

// As root shows text.
std::string Shown(std::string path) {
  std::replace_if(
      path.begin(), path.end(), [](unsigned char c) { return c < 0x20 || c > 0x7e; }, '?');
  return path;
}

// Whether the message is about the path, or about something below it.
bool IsAbout(std::string_view message, const std::string& path) {
  const std::string shown = Shown(path);
  for (size_t at = message.find(shown); at != message.npos; at = message.find(shown, at + 1)) {
    const size_t end = at + shown.size();
    const bool begins = at == 0 || message[at - 1] == ' ';
    if (begins && (end == message.size() || message.substr(end, 1).find_first_of(":/ ") == 0)) {
      return true;
    }
  }
  return false;
}

// Sources first: where one is shown under its own name, root's message is about what it opened.
std::vector<Named> NamesOf(const policy::SandboxRequest& request) {
  std::vector<Named> names;
  if (!request.workspace.empty()) names.push_back({"workspace", request.workspace, ""});
  for (size_t i = 0; i < request.mounts.size(); ++i) {
    names.push_back({"mounts[" + std::to_string(i) + "].source", request.mounts[i].source, ""});
  }
  for (size_t i = 0; i < request.executables.size(); ++i) {
    if (request.executables[i].rfind('/', 0) != 0) continue;
    names.push_back({"executables[" + std::to_string(i) + "]", request.executables[i], ""});
  }
  if (!request.workspace.empty()) {
    names.push_back({"workspace", plan::kWorkspacePath, request.workspace + ": "});
  }
  for (size_t i = 0; i < request.mounts.size(); ++i) {
    names.push_back({"mounts[" + std::to_string(i) + "].target", request.mounts[i].target, ""});
  }
  return names;
}

}  // namespace

Status NameField(const policy::SandboxRequest& request, uint32_t owner, const Status& failure) {
  if (failure.ok()) return failure;
  const std::string& message = failure.message();
  const std::vector<Named> names = NamesOf(request);
  const Named* best = nullptr;
  for (const Named& name : names) {
    if (!IsAbout(message, name.path)) continue;
    if (best == nullptr || name.path.size() > best->path.size()) best = &name;
  }
  if (best == nullptr) return failure;
  constexpr std::string_view kClosed = ": Permission denied";
  const bool closed = owner != 0 && message.size() > kClosed.size() &&
                      message.compare(message.size() - kClosed.size(), kClosed.npos, kClosed) == 0;
  return Status(failure.code(),
                best->field + ": " + best->told + message +
                    (closed ? " to uid " + std::to_string(owner) +
                                  "; what he reaches himself is allowed, and what a grant of the "
                                  "operator's names to him (policy/ceiling.md)"
                            : ""));
}

}  // namespace odyssey::compile
