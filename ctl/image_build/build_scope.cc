#include "ctl/image_build/build_scope.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <string_view>

#include "image/dockerfile/word.h"

namespace odyssey::ctl {
namespace {

// Which commands have without a declaration.
constexpr std::string_view kProxies[] = {"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy",
                                         "FTP_PROXY",  "ftp_proxy",  "NO_PROXY",    "no_proxy",
                                         "ALL_PROXY",  "all_proxy"};

bool IsProxy(const std::string& name) {
  return std::find(std::begin(kProxies), std::end(kProxies), name) != std::end(kProxies);
}

std::map<std::string, std::string> PlatformVariables() {
  const std::string architecture = OwnArchitecture();
  std::map<std::string, std::string> out;
  for (const std::string start : {"TARGET", "BUILD"}) {
    out[start + "PLATFORM"] = "linux/" + architecture;
    out[start + "OS"] = "linux";
    out[start + "ARCH"] = architecture;
    out[start + "VARIANT"] = "";
  }
  return out;
}

void AddNames(const std::vector<dockerfile::Instruction>& instructions,
              std::set<std::string>* names) {
  for (const dockerfile::Instruction& instruction : instructions) {
    if (instruction.kind != dockerfile::Kind::kArg) continue;
    for (const auto& [name, value] : instruction.pairs) names->insert(name);
  }
}

}  // namespace

Status CheckBuildArguments(const dockerfile::Dockerfile& file, const BuildArguments& given) {
  std::set<std::string> names;
  AddNames(file.arguments, &names);
  for (const dockerfile::Stage& stage : file.stages) AddNames(stage.instructions, &names);
  for (const auto& [name, value] : given) {
    if (names.count(name) == 0 && !IsProxy(name)) {
      return InvalidArgument("--build-arg " + name + ": no ARG has this name");
    }
  }
  return OkStatus();
}

Result<BuildScope> BuildScope::Global(const dockerfile::Dockerfile& file,
                                      const BuildArguments& given) {
  BuildScope scope(file.escape, given);
  scope.values_ = PlatformVariables();
  for (const dockerfile::Instruction& arg : file.arguments) {
    const Status status = scope.Declare(arg, nullptr);
    if (!status.ok()) {
      return Status(status.code(), std::to_string(arg.line) + ": " + status.message());
    }
  }
  return scope;
}

BuildScope BuildScope::OfStage(const BuildScope& global) {
  BuildScope scope(global.escape_, global.given_);
  scope.global_ = global.values_;
  return scope;
}

Status BuildScope::Declare(const dockerfile::Instruction& arg, const ImageParts* parts) {
  for (const auto& [name, standard] : arg.pairs) {
    if (const auto given = given_.find(name); given != given_.end()) {
      values_[name] = given->second;
    } else if (standard) {
      ODY_ASSIGN_OR_RETURN(values_[name], Expand(*standard, parts));
    } else if (const auto global = global_.find(name); global != global_.end()) {
      values_[name] = global->second;
    }
  }
  return OkStatus();
}

std::optional<std::string> BuildScope::Find(const std::string& name,
                                            const ImageParts* parts) const {
  if (parts != nullptr) {
    const auto environment = parts->Environment();
    if (const auto found = environment.find(name); found != environment.end()) {
      return found->second;
    }
  }
  const auto found = values_.find(name);
  return found == values_.end() ? std::nullopt : std::optional(found->second);
}

Result<std::string> BuildScope::Expand(const std::string& word, const ImageParts* parts) const {
  return dockerfile::Expand(word, escape_,
                            [&](const std::string& name) { return Find(name, parts); });
}

Result<std::string> BuildScope::ExpandContent(const std::string& text,
                                              const ImageParts* parts) const {
  return dockerfile::ExpandHeredoc(text, escape_,
                                   [&](const std::string& name) { return Find(name, parts); });
}

std::map<std::string, std::string> BuildScope::ForCommands(const ImageParts& parts) const {
  std::map<std::string, std::string> out = values_;
  for (const auto& [name, value] : given_) {
    if (IsProxy(name)) out.emplace(name, value);
  }
  for (const auto& [name, value] : parts.Environment()) out.erase(name);
  return out;
}

}  // namespace odyssey::ctl
