#ifndef ODYSSEY_POLICY_COMPILE_LAYER_PLAN_H_
#define ODYSSEY_POLICY_COMPILE_LAYER_PLAN_H_

// The plans of layer cells, in which a layer of a container image is unpacked or packed, or files
// of an image are. Their only process is odyssey-cell-layer: no network, and no file of the host.
// Pure; without cell_id.

#include <string>
#include <vector>

#include "policy/plan/plan.h"

namespace odyssey::compile {

// `name`: of a layer in plan::kLayersTree, which is made; its files are at kLayerPath.
plan::Plan UnpackPlan(const std::string& name);

// A cell's changes of its root, at layer::kFromPath, read-only. `scratch`: a tree as of a layer,
// which a layer cell has to have and which nothing is written to.
plan::Plan PackPlan(const std::string& scratch, const std::string& cell_tree);

// The root of the cell is the image of these layers, the lowest first.
plan::Plan ReadPlan(const std::string& scratch, const std::vector<std::string>& layers);

// Relative paths of a cell's root that root makes for what it mounts there: no change of the
// cell's.
std::vector<std::string> PlacesMadeByRoot();

}  // namespace odyssey::compile

#endif  // ODYSSEY_POLICY_COMPILE_LAYER_PLAN_H_
