#include "ctl/image_build/prepared_build.h"

#include <poll.h>

#include <utility>

#include "common/base/sha256.h"
#include "ctl/base/image_name.h"
#include "image/dockerfile/ignore_file.h"

namespace odyssey::ctl {
namespace {

// Changes with what the same Dockerfile comes to.
constexpr char kExecutor[] = "odyssey image build 1";
constexpr size_t kKeyDigits = 24;

void AddProblems(const std::string& name, const dockerfile::Problems& from,
                 std::vector<std::string>* to) {
  for (const dockerfile::Problem& problem : from) {
    to->push_back(name + ":" + std::to_string(problem.line) + ": " + problem.text);
  }
}

bool IsInterrupted(int signals) {
  pollfd polled = {signals, POLLIN, 0};
  return signals >= 0 && poll(&polled, 1, 0) > 0;
}

void AddPart(std::string_view text, Sha256* hash) {
  hash->Update(std::to_string(text.size()) + ":");
  hash->Update(text);
}

}  // namespace

Result<std::unique_ptr<PreparedBuild>> PreparedBuild::Make(BuildFiles files,
                                                           const BuildArguments& arguments,
                                                           const std::string& target,
                                                           BuildStore* store, int signals,
                                                           std::vector<std::string>* problems) {
  const Status wrong = InvalidArgument(files.name + ": cannot be built");
  dockerfile::Problems found, of_ignore;
  dockerfile::Dockerfile file = dockerfile::ParseDockerfile(files.text, &found);
  const dockerfile::IgnoreFile ignore =
      dockerfile::IgnoreFile::Parse(files.ignore_text, &of_ignore);
  AddProblems(files.name, found, problems);
  AddProblems(files.ignore_name, of_ignore, problems);
  if (!problems->empty()) return wrong;

  ODY_RETURN_IF_ERROR(CheckBuildArguments(file, arguments));
  Result<BuildScope> scope = BuildScope::Global(file, arguments);
  if (!scope.ok()) return InvalidArgument(files.name + ":" + scope.status().message());
  ODY_ASSIGN_OR_RETURN(BuildPlan plan, PlanBuild(file, files.name, *scope, target));
  std::unique_ptr<PreparedBuild> build(
      new PreparedBuild(files.name, std::move(file), *std::move(scope), std::move(plan)));
  ODY_RETURN_IF_ERROR(build->FindImages(store, problems));
  if (!problems->empty()) return wrong;

  ODY_ASSIGN_OR_RETURN(BuildContext context,
                       BuildContext::Read(std::move(files.directory), ignore,
                                          [signals] { return IsInterrupted(signals); }));
  build->context_ = std::move(context);
  build->text_ = std::move(files.text);
  build->target_ = target;
  build->arguments_ = arguments;
  return build;
}

std::string PreparedBuild::key() const {
  Sha256 hash;
  AddPart(kExecutor, &hash);
  AddPart(OwnArchitecture(), &hash);
  AddPart(text_, &hash);
  AddPart(target_, &hash);
  AddPart(context_->Digest(), &hash);
  for (const auto& [name, image] : images_) {
    AddPart("image", &hash);
    AddPart(name, &hash);
    AddPart(image.digest, &hash);
  }
  for (const auto& [name, where] : missing_) {
    AddPart("missing", &hash);
    AddPart(name, &hash);
  }
  for (const auto& [name, value] : arguments_) {
    AddPart("argument", &hash);
    AddPart(name, &hash);
    AddPart(value, &hash);
  }
  return hash.Hex();
}

Status PreparedBuild::FindImages(BuildStore* store, std::vector<std::string>* problems) {
  const auto find = [&](const ImageSource& source, int line, const std::string& text) -> Status {
    if (source.kind != ImageSource::Kind::kImage) return OkStatus();
    if (const Status named = CheckImageName(source.image); !named.ok()) {
      problems->push_back(name_ + ":" + std::to_string(line) + ": " + named.message());
      return OkStatus();
    }
    Result<StoredImage> image = store->Inspect(source.image);
    if (image.status().code() == Code::kNotFound && store->MayPull(source.image)) {
      missing_.insert({source.image, {line, text}});
      return OkStatus();
    }
    if (image.status().code() == Code::kNotFound ||
        image.status().code() == Code::kInvalidArgument) {
      const std::string why = image.status().code() == Code::kNotFound
                                  ? "no such image in the store; odyssey-ctl image pull fetches one"
                                  : image.status().message();
      problems->push_back(name_ + ":" + std::to_string(line) + ": " + text + ": " + why);
      return OkStatus();
    }
    ODY_RETURN_IF_ERROR(image.status());
    images_.insert_or_assign(source.image, *std::move(image));
    return OkStatus();
  };
  for (const PlannedStage& planned : plan_.stages) {
    const dockerfile::Stage& stage = file_.stages[planned.stage];
    ODY_RETURN_IF_ERROR(find(planned.base, stage.line, stage.text));
    for (const auto& [index, source] : planned.copied) {
      const dockerfile::Instruction& instruction = stage.instructions[index];
      ODY_RETURN_IF_ERROR(find(source, instruction.line, instruction.text));
    }
  }
  return OkStatus();
}

Status PreparedBuild::PullMissing(BuildStore* store) {
  while (!missing_.empty()) {
    const auto& [name, where] = *missing_.begin();
    Status pulled = store->Pull(name);
    if (pulled.ok()) {
      Result<StoredImage> image = store->Inspect(name);
      pulled = image.status();
      if (image.ok()) images_.insert_or_assign(name, *std::move(image));
    }
    if (!pulled.ok()) return AtLine(name_, where.line, where.text, pulled);
    missing_.erase(missing_.begin());
  }
  return OkStatus();
}

std::vector<std::string> PreparedBuild::bases() const {
  std::vector<std::string> out;
  for (const auto& [name, where] : missing_) out.push_back(name + " (pulled first)");
  for (const auto& [name, image] : images_) out.push_back(name + " (" + image.digest + ")");
  return out;
}

Result<std::string> PreparedBuild::Build(BuildStore* store, const std::vector<std::string>& names,
                                         int signals, const StepReport& report) const {
  ODY_CHECK(missing_.empty());
  const BuildInputs inputs = {.file = &file_,
                              .file_name = name_,
                              .context = &*context_,
                              .scope = &scope_,
                              .plan = &plan_,
                              .images = images_,
                              .names = names};
  return BuildImage(inputs, store, signals, report);
}

std::string CacheName(const PreparedBuild& build, const std::string& repository) {
  return repository + ":" + build.key().substr(0, kKeyDigits);
}

Result<BuiltImage> BuildOrFind(const PreparedBuild& build, const std::string& repository,
                               std::vector<std::string> names, bool use_cache, BuildStore* store,
                               int signals, const StepReport& report) {
  const std::string own = CacheName(build, repository);
  if (use_cache) {
    const Result<StoredImage> found = store->Inspect(own);
    if (found.ok()) {
      for (const std::string& name : names) {
        ODY_RETURN_IF_ERROR(store->Import(name, found->manifest, found->config, nullptr).status());
      }
      return BuiltImage{found->digest, true};
    }
    if (found.status().code() != Code::kNotFound) return found.status();
  }
  names.push_back(own);
  ODY_ASSIGN_OR_RETURN(std::string digest, build.Build(store, names, signals, report));
  return BuiltImage{std::move(digest), false};
}

}  // namespace odyssey::ctl
