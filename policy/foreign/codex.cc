#include "policy/foreign/gaps.h"
#include "policy/foreign/writers.h"

namespace odyssey::foreign {
namespace {

constexpr std::string_view kNoBounds = "Codex bounds no resources";

const Lacks& LacksOf() {
  static const Lacks lacks = {
      .programs = {Effect::kWeaker, "every program of the host runs"},
      .image = kNoImage,
      .no_exec = {Effect::kWeaker, "every program of the host runs"},
      .places = {Effect::kDifferent, "Codex moves no files: it is where the host has it"},
      .workspace = {Effect::kDifferent, "it is the directory in which Codex starts"},
      .reads = {Effect::kWeaker, "Codex lets commands read the whole host"},
      .files = {Effect::kWeaker, "it tells no files of a directory apart"},
      .review = {Effect::kStricter, "it has no writes on a copy: it is read-only"},
      .protect = {Effect::kWeaker, "of these names it protects .git and .codex at the root alone"},
      .deny = {Effect::kWeaker, "it hides no names"},
      .endpoints = {Effect::kStricter, "it has the host's network or none: none"},
      .providers = {Effect::kStricter, "there is no broker that uses them"},
      .user = {Effect::kWeaker, "commands run as who starts Codex"},
      .confinement = {Effect::kWeaker, "no namespaces of processes, no control group, no audit"},
      .limits = NoLimits(kNoBounds, kNoTmp)};
  return lacks;
}

// A basic string of TOML.
std::string Quoted(std::string_view text) {
  constexpr char kHex[] = "0123456789ABCDEF";
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) {
      out += {'\\', 'u', '0', '0', kHex[byte >> 4], kHex[byte & 15]};
    } else {
      if (c == '"' || c == '\\') out += '\\';
      out += c;
    }
  }
  return out + "\"";
}

}  // namespace

Result<Written> WriteCodex(const policy::SandboxRequest& request, const Variables& secrets) {
  std::vector<Gap> gaps = GapsOf(request, LacksOf());
  std::string roots;
  for (const Place& place : PlacesOf(request)) {
    if (place.writable) roots += (roots.empty() ? "" : ", ") + Quoted(place.source);
  }
  const bool writes =
      request.mode != policy::Mode::kReadOnly && (!roots.empty() || request.workspace.empty());
  std::string text =
      "sandbox_mode = \"" + std::string(writes ? "workspace-write" : "read-only") + "\"\n";
  if (writes) {
    const bool full = request.network == policy::Network::kFull;
    text += "\n[sandbox_workspace_write]\nwritable_roots = [" + roots +
            "]\nnetwork_access = " + (full ? "true" : "false") +
            "\nexclude_tmpdir_env_var = true\nexclude_slash_tmp = true\n";
  } else if (request.network == policy::Network::kFull) {
    gaps.push_back({Effect::kStricter, "the host's network", "read-only has none"});
  }
  std::string variables;
  for (const auto& [name, value] : request.env) {
    if (secrets.count(name) > 0) {
      gaps.push_back(
          {Effect::kStricter, "env " + name, "a secret is not written here: it is not set"});
    } else {
      variables += (variables.empty() ? " " : ", ") + Quoted(name) + " = " + Quoted(value);
    }
  }
  text += "\n[shell_environment_policy]\ninherit = \"core\"\n";
  if (!variables.empty()) text += "set = {" + variables + " }\n";
  return Written{.text = std::move(text), .comment = "#", .gaps = std::move(gaps)};
}

}  // namespace odyssey::foreign
