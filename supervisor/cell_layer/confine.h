#ifndef ODYSSEY_SUPERVISOR_CELL_LAYER_CONFINE_H_
#define ODYSSEY_SUPERVISOR_CELL_LAYER_CONFINE_H_

#include "common/base/status.h"
#include "supervisor/wire/layer_wire.h"

namespace odyssey::cell_layer {

// The directory that the order is about, as a path of the cell.
const char* PathOf(layer::Op op);

// For good, before a byte of the tar is read: Landlock with that directory alone, to be written to
// by kUnpack; of the capabilities of the cell's user namespace, what giving files their owners and
// modes needs. The filter of cell-init holds already.
Status Confine(layer::Op op);

}  // namespace odyssey::cell_layer

#endif  // ODYSSEY_SUPERVISOR_CELL_LAYER_CONFINE_H_
