#include "ctl/image_build/build_plan.h"

#include <cctype>
#include <charconv>
#include <optional>

namespace odyssey::ctl {
namespace {

std::string Small(std::string text) {
  for (char& c : text) c = static_cast<char>(tolower(static_cast<unsigned char>(c)));
  return text;
}

std::optional<size_t> NumberOf(const std::string& text) {
  size_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// Of those before `before`, the latest of the name.
std::optional<size_t> StageNamed(const dockerfile::Dockerfile& file, const std::string& name,
                                 size_t before) {
  for (size_t i = before; i > 0; --i) {
    if (!name.empty() && file.stages[i - 1].name == Small(name)) return i - 1;
  }
  return std::nullopt;
}

Status CheckPlatform(const std::string& platform) {
  const std::string own = "linux/" + OwnArchitecture();
  if (platform.empty() || platform == own) return OkStatus();
  return InvalidArgument("--platform=" + platform + ": only " + own +
                         ", of this machine, can be built");
}

Result<ImageSource> BaseOf(const dockerfile::Dockerfile& file, size_t index,
                           const BuildScope& global) {
  const dockerfile::Stage& stage = file.stages[index];
  ODY_ASSIGN_OR_RETURN(const std::string platform, global.Expand(stage.platform, nullptr));
  ODY_RETURN_IF_ERROR(CheckPlatform(platform));
  ODY_ASSIGN_OR_RETURN(const std::string name, global.Expand(stage.base, nullptr));
  if (name.empty()) return InvalidArgument(stage.base + ": is empty");
  if (const auto earlier = StageNamed(file, name, index)) {
    return ImageSource{ImageSource::Kind::kStage, *earlier, {}};
  }
  if (name == "scratch") return ImageSource{};
  return ImageSource{ImageSource::Kind::kImage, 0, name};
}

Result<ImageSource> CopiedFrom(const dockerfile::Dockerfile& file, size_t index,
                               const std::string& name) {
  if (const auto earlier = StageNamed(file, name, index)) {
    return ImageSource{ImageSource::Kind::kStage, *earlier, {}};
  }
  if (const auto number = NumberOf(name)) {
    if (*number >= index) {
      return InvalidArgument("--from=" + name + ": no stage above this one has the number");
    }
    return ImageSource{ImageSource::Kind::kStage, *number, {}};
  }
  return ImageSource{ImageSource::Kind::kImage, 0, name};
}

Result<size_t> FindTarget(const dockerfile::Dockerfile& file, const std::string& target) {
  if (target.empty()) return file.stages.size() - 1;
  if (const auto named = StageNamed(file, target, file.stages.size())) return *named;
  const auto number = NumberOf(target);
  if (number && *number < file.stages.size()) return *number;
  return InvalidArgument("--target " + target + ": no stage has this name");
}

}  // namespace

Status AtLine(const std::string& file_name, int line, const std::string& text,
              const Status& status) {
  return Status(status.code(),
                file_name + ":" + std::to_string(line) + ": " + text + ": " + status.message());
}

Result<BuildPlan> PlanBuild(const dockerfile::Dockerfile& file, const std::string& file_name,
                            const BuildScope& global, const std::string& target) {
  ODY_CHECK(!file.stages.empty());
  ODY_ASSIGN_OR_RETURN(const size_t last, FindTarget(file, target));
  std::map<size_t, PlannedStage> planned;
  std::set<size_t> open = {last};
  while (!open.empty()) {
    const size_t index = *open.rbegin();
    open.erase(index);
    const dockerfile::Stage& stage = file.stages[index];
    PlannedStage plan{index, {}, {}};
    Result<ImageSource> base = BaseOf(file, index, global);
    if (!base.ok()) return AtLine(file_name, stage.line, stage.text, base.status());
    plan.base = *std::move(base);
    for (size_t i = 0; i < stage.instructions.size(); ++i) {
      const dockerfile::Instruction& instruction = stage.instructions[i];
      const auto from = instruction.flags.find("from");
      if (from == instruction.flags.end()) continue;
      Result<ImageSource> source = CopiedFrom(file, index, from->second);
      if (!source.ok()) {
        return AtLine(file_name, instruction.line, instruction.text, source.status());
      }
      plan.copied[i] = *std::move(source);
    }
    planned[index] = plan;
    // Only earlier ones, so that this ends.
    if (plan.base.kind == ImageSource::Kind::kStage) open.insert(plan.base.stage);
    for (const auto& [i, source] : plan.copied) {
      if (source.kind == ImageSource::Kind::kStage) open.insert(source.stage);
    }
  }
  BuildPlan out;
  for (auto& [index, plan] : planned) {
    out.steps += 1 + file.stages[index].instructions.size();
    if (plan.base.kind == ImageSource::Kind::kImage) out.images.insert(plan.base.image);
    for (const auto& [i, source] : plan.copied) {
      if (source.kind == ImageSource::Kind::kImage) out.images.insert(source.image);
    }
    out.stages.push_back(std::move(plan));
  }
  return out;
}

}  // namespace odyssey::ctl
