#include "ctl/image/registry_reference.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "policy/egress/reach.h"

namespace odyssey::ctl {
namespace {

constexpr size_t kMaxRepository = 255;
constexpr size_t kMaxTag = 128;
constexpr char kForm[] = "expected HOST[:PORT]/NAME[:TAG][@sha256:HEX]";
constexpr char kScheme[] = "docker://";

bool IsLower(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }
bool IsWord(char c) { return IsLower(c) || (c >= 'A' && c <= 'Z') || c == '_'; }

// Components of lower-case letters and digits, with . _ - between them.
bool IsRepository(std::string_view text) {
  if (text.empty() || text.size() > kMaxRepository) return false;
  bool may_separate = false;
  for (const char c : text) {
    if (IsLower(c)) {
      may_separate = true;
    } else if (c == '/') {
      if (!std::exchange(may_separate, false)) return false;
    } else if ((c != '.' && c != '_' && c != '-') || !may_separate) {
      return false;
    }
  }
  return IsLower(text.back()) && text.find("..") == text.npos;
}

bool IsTag(std::string_view text) {
  if (text.empty() || text.size() > kMaxTag || !IsWord(text.front())) return false;
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return IsWord(c) || c == '.' || c == '-'; });
}

// As Docker tells a registry from the first component of a path.
bool LooksLikeHost(std::string_view text) {
  return text.find('.') != text.npos || text.find(':') != text.npos || text == "localhost";
}

Status SetRegistry(const std::string& option, const std::string& registry, Transport transport,
                   RegistryReference* out) {
  const bool has_port = registry.find(':') != registry.npos;
  const std::string place =
      has_port ? registry : registry + (transport == Transport::kTls ? ":443" : ":80");
  const Result<egress::Destination> to = egress::ParseReachable(place);
  if (!to.ok()) return Status(to.status().code(), option + ": " + to.status().message());
  out->registry = registry;
  out->host = to->host;
  out->port = to->port;
  return OkStatus();
}

}  // namespace

std::string RegistryReference::AtDigest(const std::string& other) const {
  return kScheme + registry + "/" + repository + "@" + other;
}

std::string RegistryReference::AtTag(const std::string& other) const {
  return kScheme + registry + "/" + repository + ":" + other;
}

std::string RegistryReference::Source() const {
  return digest.empty() ? AtTag(tag) : AtDigest(digest);
}

Result<RegistryReference> ParseRegistryReference(const std::string& text,
                                                 const std::string& registry, Transport transport) {
  const std::string what = "REF \"" + text + "\"";
  RegistryReference out;
  std::string rest = text.rfind(kScheme, 0) == 0 ? text.substr(sizeof(kScheme) - 1) : text;
  if (const size_t at = rest.find('@'); at != rest.npos) {
    out.digest = rest.substr(at + 1);
    if (!image::IsDigest(out.digest)) {
      return InvalidArgument(what + ": after @ expected sha256: and 64 lower-case hex digits");
    }
    rest.resize(at);
  }
  const std::string given = rest;
  if (registry.empty()) {
    const size_t slash = rest.find('/');
    if (slash == rest.npos || !LooksLikeHost(rest.substr(0, slash))) {
      return InvalidArgument(what + ": names no registry; " + kForm +
                             ", or --registry HOST[:PORT]");
    }
    ODY_RETURN_IF_ERROR(SetRegistry(what, rest.substr(0, slash), transport, &out));
    rest.erase(0, slash + 1);
  } else {
    ODY_RETURN_IF_ERROR(SetRegistry("--registry " + registry, registry, transport, &out));
  }
  if (const size_t colon = rest.find(':'); colon != rest.npos) {
    out.tag = rest.substr(colon + 1);
    rest.resize(colon);
    if (!IsTag(out.tag)) {
      return InvalidArgument(what + ": expected a tag of at most " + std::to_string(kMaxTag) +
                             " letters, digits and . _ - after :");
    }
  } else if (out.digest.empty()) {
    out.tag = "latest";
  }
  if (!IsRepository(rest)) {
    return InvalidArgument(what + ": " + kForm +
                           ", NAME of lower-case letters and digits, with . _ - / between them");
  }
  out.repository = std::move(rest);
  // A digest alone moves no tag.
  if (!out.tag.empty()) out.name = given;
  return out;
}

Result<image::Platform> ParsePlatform(const std::string& text) {
  const size_t slash = text.find('/');
  const auto is_word = [](std::string_view word) {
    return !word.empty() && std::all_of(word.begin(), word.end(), IsLower);
  };
  if (slash == text.npos || !is_word(text.substr(0, slash)) || !is_word(text.substr(slash + 1))) {
    return InvalidArgument("\"" + text + "\": expected OS/ARCHITECTURE, such as linux/amd64");
  }
  return image::Platform{.os = text.substr(0, slash), .architecture = text.substr(slash + 1)};
}

image::Platform PlatformOf(const std::string& machine) {
  static constexpr std::pair<const char*, const char*> kNames[] = {
      {"x86_64", "amd64"}, {"aarch64", "arm64"},   {"armv7l", "arm"},         {"i686", "386"},
      {"i386", "386"},     {"ppc64le", "ppc64le"}, {"loongarch64", "loong64"}};
  for (const auto& [kernel, go] : kNames) {
    if (machine == kernel) return {.architecture = go};
  }
  return {.architecture = machine};  // riscv64, s390x
}

}  // namespace odyssey::ctl
