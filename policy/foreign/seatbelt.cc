#include "policy/foreign/gaps.h"
#include "policy/foreign/writers.h"

namespace odyssey::foreign {
namespace {

constexpr std::string_view kNoBounds = "Seatbelt bounds no resources";

// What a program of macOS needs to start, to have a terminal, and to end those that it starts.
constexpr std::string_view kBase = R"((version 1)
(deny default)

; Programs of the system, and what they need to start.
(allow process-fork)
(allow process-exec
  (subpath "/bin") (subpath "/sbin") (subpath "/usr") (subpath "/opt")
  (subpath "/System") (subpath "/Library/Developer") (subpath "/Library/Frameworks"))
(allow signal (target same-sandbox))
(allow process-info* (target same-sandbox))
(allow sysctl-read)
(allow file-read-metadata)
(allow file-read* (literal "/")
  (subpath "/bin") (subpath "/sbin") (subpath "/usr") (subpath "/opt")
  (subpath "/System") (subpath "/Library/Developer") (subpath "/Library/Frameworks")
  (subpath "/private/var/db/dyld") (subpath "/private/var/db/timezone")
  (literal "/private/etc/localtime") (literal "/private/etc/passwd") (subpath "/private/etc/ssl"))
(allow file-read* file-write* file-ioctl
  (literal "/dev/null") (literal "/dev/zero") (literal "/dev/tty") (literal "/dev/dtracehelper")
  (subpath "/dev/fd") (regex #"^/dev/ttys[0-9]+$"))
(allow file-read* (literal "/dev/random") (literal "/dev/urandom"))
(allow pseudo-tty)
(allow mach-lookup
  (global-name "com.apple.system.opendirectoryd.libinfo")
  (global-name "com.apple.system.logger"))
)";

const Lacks& LacksOf() {
  static const Lacks lacks = {
      .programs = {Effect::kWeaker, "all of the system's programs run"},
      .image = kNoImage,
      .places = {Effect::kDifferent, "Seatbelt moves no files: it is where the host has it"},
      .workspace = {Effect::kDifferent, "name a directory as the workspace of the policy"},
      .files = {Effect::kWeaker, "they are of the file tools, not of the kernel"},
      .review = {Effect::kStricter, "Seatbelt has no writes on a copy: it is read-only"},
      .endpoints = {Effect::kStricter, "Seatbelt knows addresses, no names: no network"},
      .providers = {Effect::kStricter, "there is no broker that uses them"},
      .user = {Effect::kWeaker, "commands run as who starts them"},
      .variables = {Effect::kDifferent, "a profile sets none: use env -i NAME=VALUE"},
      .confinement = {Effect::kWeaker, "processes of the host can be seen, and no audit"},
      .limits = NoLimits(kNoBounds, kNoTmp)};
  return lacks;
}

std::string Quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

std::string Escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (std::string_view("\\^$.|?*+()[]{}").find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

// Of policy/pattern/path_pattern.h, relative to `root`.
std::string Regex(const std::string& root, std::string_view pattern) {
  std::string out = "^" + Escaped(root) + "/";
  while (!pattern.empty()) {
    const size_t slash = pattern.find('/');
    const std::string_view component = pattern.substr(0, slash);
    const bool last = slash == std::string_view::npos;
    pattern.remove_prefix(last ? pattern.size() : slash + 1);
    if (component == "**") {
      out += last ? ".+" : "(.*/)?";
      continue;
    }
    for (const char c : component) {
      if (c == '*') {
        out += "[^/]*";
      } else if (c == '?') {
        out += "[^/]";
      } else {
        out += Escaped(std::string_view(&c, 1));
      }
    }
    if (!last) out += "/";
  }
  return out + "(/.*)?$";
}

}  // namespace

Result<Written> WriteSeatbelt(const policy::SandboxRequest& request) {
  std::string text(kBase);
  const std::vector<Place> places = PlacesOf(request);
  if (!places.empty()) text += "\n; The policy's directories.\n";
  for (const Place& place : places) {
    text += "(allow file-read* (subpath " + Quoted(place.source) + "))\n";
    if (place.writable) text += "(allow file-write* (subpath " + Quoted(place.source) + "))\n";
  }
  // Of several rules that match, the last one counts.
  for (const Place& place : places) {
    if (!place.writable) continue;
    text += "\n; What programs of the host obey later.\n(deny file-write*";
    for (const std::string& name : ProtectedIn(request)) {
      text += "\n  (subpath " + Quoted(place.source + "/" + name) + ")";
    }
    text += ")\n";
  }
  for (const Place& place : places) {
    for (const std::string& pattern : request.deny) {
      const std::string regex = Regex(place.source, pattern);
      if (regex.find('"') != std::string::npos) {
        return InvalidArgument("deny " + pattern + ": a pattern of Seatbelt cannot have a quote");
      }
      text += "(deny file-read* file-write* (regex #\"" + regex + "\"))\n";
    }
  }
  if (request.network == policy::Network::kFull) text += "\n(allow network*)\n";
  return Written{.text = std::move(text), .comment = ";", .gaps = GapsOf(request, LacksOf())};
}

}  // namespace odyssey::foreign
