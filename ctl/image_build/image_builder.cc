#include "ctl/image_build/image_builder.h"

#include <poll.h>

#include <optional>
#include <utility>

#include "ctl/image_build/made_images.h"
#include "ctl/image_build/stage_builder.h"

namespace odyssey::ctl {
namespace {

using dockerfile::Stage;

class Build final {
 public:
  Build(const BuildInputs& inputs, BuildStore* store, int signals, const StepReport& report)
      : inputs_(inputs), store_(store), signals_(signals), report_(report), made_(store) {}

  Result<std::string> Run() {
    for (const PlannedStage& planned : inputs_.plan->stages) {
      ODY_RETURN_IF_ERROR(RunStage(planned));
    }
    return Finish(done_.at(inputs_.plan->stages.back().stage));
  }

 private:
  Status Interrupted() const {
    pollfd polled = {signals_, POLLIN, 0};
    const bool interrupted = signals_ >= 0 && poll(&polled, 1, 0) > 0;
    return interrupted ? Cancelled("interrupted") : OkStatus();
  }

  Status At(int line, const std::string& text, const Status& status) const {
    if (status.ok() || status.code() == Code::kCancelled) return status;
    return AtLine(inputs_.file_name, line, text, status);
  }

  Result<StageState> Base(const ImageSource& source) const {
    switch (source.kind) {
      case ImageSource::Kind::kScratch:
        return StageState{};
      case ImageSource::Kind::kStage:
        return done_.at(source.stage);
      case ImageSource::Kind::kImage:
        break;
    }
    const StoredImage& image = inputs_.images.at(source.image);
    ODY_ASSIGN_OR_RETURN(ImageParts parts, ImageParts::Read(image.manifest, image.config));
    return StageState{std::move(parts), image.digest};
  }

  std::string ImageOf(const ImageSource& source) const {
    if (source.kind == ImageSource::Kind::kStage) return done_.at(source.stage).image;
    return inputs_.images.at(source.image).digest;
  }

  Status RunStage(const PlannedStage& planned) {
    const Stage& stage = inputs_.file->stages[planned.stage];
    report_(++step_, inputs_.plan->steps, stage.text);
    Result<StageState> base = Base(planned.base);
    if (!base.ok()) return At(stage.line, stage.text, base.status());
    StageBuilder builder(store_, &made_, inputs_.context, BuildScope::OfStage(*inputs_.scope),
                         *std::move(base), signals_);
    for (size_t i = 0; i < stage.instructions.size(); ++i) {
      const dockerfile::Instruction& instruction = stage.instructions[i];
      report_(++step_, inputs_.plan->steps, instruction.text);
      ODY_RETURN_IF_ERROR(Interrupted());
      std::optional<std::string> from;
      if (const auto source = planned.copied.find(i); source != planned.copied.end()) {
        from = ImageOf(source->second);
      }
      ODY_RETURN_IF_ERROR(At(instruction.line, instruction.text,
                             builder.Execute(instruction, from ? &*from : nullptr)));
    }
    done_.insert_or_assign(planned.stage, builder.state());
    return OkStatus();
  }

  // The image with its whole configuration, and its names.
  Result<std::string> Finish(const StageState& state) {
    if (state.parts.layers().empty()) {
      return InvalidArgument(inputs_.file_name + ": the image would have no file");
    }
    const ImageParts::Files files = state.parts.Encode();
    if (inputs_.names.empty()) {
      ODY_ASSIGN_OR_RETURN(std::string digest, made_.Import(files.manifest, files.config, nullptr));
      made_.Keep(digest);
      return digest;
    }
    std::string digest;
    for (const std::string& name : inputs_.names) {
      ODY_ASSIGN_OR_RETURN(digest, store_->Import(name, files.manifest, files.config, nullptr));
    }
    made_.Keep(digest);
    return digest;
  }

  const BuildInputs& inputs_;
  BuildStore* const store_;
  const int signals_;
  const StepReport& report_;
  MadeImages made_;
  std::map<size_t, StageState> done_;
  size_t step_ = 0;
};

}  // namespace

Result<std::string> BuildImage(const BuildInputs& inputs, BuildStore* store, int signals,
                               const StepReport& report) {
  return Build(inputs, store, signals, report).Run();
}

}  // namespace odyssey::ctl
