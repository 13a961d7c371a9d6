#ifndef ODYSSEY_SUPERVISOR_CELL_LAYER_SERVE_H_
#define ODYSSEY_SUPERVISOR_CELL_LAYER_SERVE_H_

#include "supervisor/wire/layer_wire.h"

namespace odyssey::cell_layer {

// What the order works on; open before the program is confined. Borrowed.
struct Place {
  int directory = -1;  // plan::kLayerPath, kFromPath, or the root
  int tar = -1;        // the pipe
};

layer::Done Do(const layer::Order& order, const Place& place);

}  // namespace odyssey::cell_layer

#endif  // ODYSSEY_SUPERVISOR_CELL_LAYER_SERVE_H_
