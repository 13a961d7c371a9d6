#ifndef ODYSSEY_SUPERVISOR_CELL_REVIEW_HOST_WRITER_H_
#define ODYSSEY_SUPERVISOR_CELL_REVIEW_HOST_WRITER_H_

// Takes paths of the host's directory from one state to another: to commit, to undo, to recover.
// Each path is in one of the two at every moment.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "supervisor/cell_review/layer.h"

namespace odyssey::cell_review {

struct Step {
  std::string path;
  State from, to;
  timespec modified{};                   // of `to`
  std::string temporary;                 // name beside the path, until it is renamed to it
  std::function<Result<Source>()> open;  // of a file
  // Of what is at the path now, if that was just looked at; else its content is compared with
  // `from`.
  std::optional<Node> seen;
};

struct Refusal {
  std::string path;
  Status why;
};

struct Written {
  uint32_t done = 0;  // paths that are in their new state
  std::vector<Refusal> refused;
};

enum class Mode {
  kForward,  // every path is in the state `from`
  kRecover,  // … or already in `to`: what was cut off may have done it
};

// First what is removed, deepest first; then what is made, from the top.
Written WriteToHost(Layer* host, std::vector<Step> steps, Mode mode);

}  // namespace odyssey::cell_review

#endif  // ODYSSEY_SUPERVISOR_CELL_REVIEW_HOST_WRITER_H_
