#include "agentd/session/attachments.h"

#include <algorithm>

#include "common/base/refusal.h"

namespace odyssey::session {
namespace {

constexpr char kField[] = "attachments";

bool EndsWith(const std::string& text, const std::string& suffix) {
  return text.size() >= suffix.size() &&
         text.compare(text.size() - suffix.size(), suffix.size(), suffix) == 0;
}

// "." and "..", as a component anywhere.
bool HasDots(const std::string& path) {
  const std::string whole = "/" + path + "/";
  return whole.find("/../") != std::string::npos || whole.find("/./") != std::string::npos;
}

Status CheckPath(const std::string& path) {
  if (path.empty()) {
    return Refused(Code::kInvalidArgument, kField, "", "Attachment path cannot be empty");
  }
  if (path[0] == '/' || path[0] == '~') {
    return Refused(Code::kInvalidArgument, kField, path,
                   "Attachments must reference the workspace, not an absolute path");
  }
  if (HasDots(path)) {
    return Refused(Code::kInvalidArgument, kField, path,
                   "Attachments must reference the workspace: `.` and `..` are not allowed");
  }
  if (path.back() == '/') {
    return Refused(Code::kInvalidArgument, kField, path, "Attachment must be a file");
  }
  return OkStatus();
}

// Of the name without its directories, which may hold dots too.
Status CheckSuffix(const std::string& path, const dialect::AttachmentPolicy& policy) {
  const std::string name = dialect::LowerCase(path.substr(path.rfind('/') + 1));
  const auto ends = [&name](const std::string& suffix) { return EndsWith(name, suffix); };
  const size_t dot = name.rfind('.');
  const std::string suffix = dot == std::string::npos ? "" : name.substr(dot);
  const auto& denied = policy.denied_suffixes;
  const auto& allowed = policy.allowed_suffixes;
  if (std::any_of(denied.begin(), denied.end(), ends)) {
    return Refused(Code::kPermissionDenied, kField, path,
                   "Attachment suffix '" + suffix + "' is denied");
  }
  if (!allowed.empty() && std::none_of(allowed.begin(), allowed.end(), ends)) {
    return Refused(Code::kPermissionDenied, kField, path,
                   "Attachment suffix '" + suffix + "' not allowed");
  }
  return OkStatus();
}

}  // namespace

Status CheckAttachmentNames(const std::vector<std::string>& paths,
                            const dialect::AttachmentPolicy& policy) {
  if (paths.size() > policy.max_count) {
    return Refused(Code::kPermissionDenied, kField, std::to_string(paths.size()),
                   "Too many attachments provided; at most " + std::to_string(policy.max_count) +
                       " are allowed");
  }
  std::vector<std::string> names;
  for (const std::string& path : paths) {
    ODY_RETURN_IF_ERROR(CheckPath(path));
    ODY_RETURN_IF_ERROR(CheckSuffix(path, policy));
    if (std::count(names.begin(), names.end(), AttachmentName(path)) != 0) {
      return Refused(Code::kInvalidArgument, kField, path, "is attached twice");
    }
    names.push_back(AttachmentName(path));
  }
  return OkStatus();
}

Status CheckAttachmentBytes(uint64_t total, const dialect::AttachmentPolicy& policy) {
  if (total <= policy.max_total_bytes) return OkStatus();
  return Refused(Code::kPermissionDenied, kField, std::to_string(total),
                 "Attachments exceed max_total_bytes " + std::to_string(policy.max_total_bytes));
}

std::string AttachmentName(const std::string& path) {
  std::string name = path;
  std::replace(name.begin(), name.end(), '/', '_');
  return name;
}

}  // namespace odyssey::session
