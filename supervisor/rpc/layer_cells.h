#ifndef ODYSSEY_SUPERVISOR_RPC_LAYER_CELLS_H_
#define ODYSSEY_SUPERVISOR_RPC_LAYER_CELLS_H_

// What layer cells do for the image store: the files of layers belong to other host uids than
// rpc's, so each is written, packed and read by a cell of its own. A seam. Blocking.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "policy/compile/found_executables.h"
#include "supervisor/rpc/event_loop.h"
#include "supervisor/rpc/root_client.h"
#include "supervisor/wire/layer_wire.h"

namespace odyssey::supervisor {

// A layer that is being unpacked.
class LayerUnpacking {
 public:
  virtual ~LayerUnpacking() = default;
  // Bytes of the packed tar. False: no more are taken; Finish says why.
  virtual bool Write(std::string_view bytes) = 0;
  // After the last byte; once. The failure is the cell's: `entry "NAME": why`.
  virtual Result<layer::Done> Finish() = 0;
  // Ends it, and removes its files.
  virtual Status Discard() = 0;
};

// A tar that is being packed.
class TarReading {
 public:
  virtual ~TarReading() = default;
  // The next bytes; none at the end.
  virtual Result<std::string> Read() = 0;
  // Once, after the end: whether it is whole.
  virtual Status Finish() = 0;
};

class LayerCells {
 public:
  virtual ~LayerCells() = default;
  // `name` in plan::kLayersTree, of which there are no files.
  virtual Result<std::unique_ptr<LayerUnpacking>> Unpack(const std::string& name,
                                                         uint64_t max_bytes,
                                                         uint64_t max_entries) = 0;
  // What the cell with this tree has changed in its root, as a layer. No process of it lives.
  virtual Result<std::unique_ptr<TarReading>> Pack(const std::string& cell_tree) = 0;
  // `path` of the image of these layers, the lowest first.
  virtual Result<std::unique_ptr<TarReading>> Read(const std::vector<std::string>& layers,
                                                   const std::string& path) = 0;
  // `names` in the image of these layers. Errors as of executables::Finder::Find.
  virtual Result<compile::FoundExecutables> FindPrograms(const std::vector<std::string>& layers,
                                                         const std::vector<std::string>& names) = 0;
  // The layer's files, if there are any.
  virtual Status Remove(const std::string& name) = 0;
};

// By cells of root. Both are borrowed.
std::unique_ptr<LayerCells> MakeLayerCells(EventLoop* loop, RootClient* root);

}  // namespace odyssey::supervisor

#endif  // ODYSSEY_SUPERVISOR_RPC_LAYER_CELLS_H_
