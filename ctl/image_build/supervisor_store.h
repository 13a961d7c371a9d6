#ifndef ODYSSEY_CTL_IMAGE_BUILD_SUPERVISOR_STORE_H_
#define ODYSSEY_CTL_IMAGE_BUILD_SUPERVISOR_STORE_H_

// A build's store: the supervisor's images, and cells for commands.

#include <sys/types.h>

#include <memory>
#include <string>

#include "ctl/client/client.h"
#include "ctl/image/image_puller.h"
#include "ctl/image_build/build_progress.h"
#include "ctl/image_build/build_store.h"
#include "odyssey/supervisor/v1/image.stub.h"
#include "odyssey/supervisor/v1/supervisor.stub.h"
#include "policy/model/request.h"

namespace odyssey::ctl {

class SupervisorStore final : public BuildStore {
 public:
  // `sandbox`: the network and the limits of commands. `cell`: of the keys of their cells, new for
  // each build. `signals`: a signalfd; a signal on it ends calls, which are CANCELLED then, but no
  // removal. `puller`: of the same owner. All are borrowed.
  SupervisorStore(const Client& client, uid_t owner, policy::SandboxRequest sandbox,
                  std::string cell, int signals, BuildProgress* progress, ImagePuller* puller);

  Result<StoredImage> Inspect(const std::string& reference) override;
  bool MayPull(const std::string& reference) const override;
  Status Pull(const std::string& reference) override;
  Result<std::string> Import(const std::string& name, const std::string& manifest,
                             const std::string& config, const NewLayer* layer) override;
  Status ReadFiles(const std::string& image, const std::string& path,
                   const std::function<Result<bool>(std::string_view)>& sink) override;
  Status Remove(const std::string& reference) override;
  Result<CommandResult> Run(const BuildCommand& command) override;

 private:
  using ImportStream =
      rpc::Stream<supervisor::v1::ImportImageRequest, supervisor::v1::ImportImageResponse>;
  class Cell;

  rpc::CallOptions Interruptible(int deadline_ms = 0) const { return {deadline_ms, signals_}; }
  Status SendLayer(const NewLayer& layer, ImportStream* stream) const;
  supervisor::v1::PrepareCellRequest CellFor(const BuildCommand& command);
  Result<supervisor::v1::ExecOutcome> Execute(const std::string& cell_id,
                                              const BuildCommand& command);

  const Client& client_;
  const supervisor::v1::ImagesStub images_;
  const supervisor::v1::SupervisorStub cells_;
  const uid_t owner_;
  const policy::SandboxRequest sandbox_;
  const std::string cell_;
  const int signals_;
  BuildProgress* const progress_;
  ImagePuller* const puller_;
  int commands_ = 0;
};

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_IMAGE_BUILD_SUPERVISOR_STORE_H_
