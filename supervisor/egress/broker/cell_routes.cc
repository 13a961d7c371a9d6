#include "supervisor/egress/broker/cell_routes.h"

#include <stdio.h>

#include <utility>

#include "supervisor/egress/inference/decide.h"
#include "supervisor/egress/inference/spending.h"

namespace odyssey::egress {

std::string CellRoutes::Read(const egress_wire::SetPolicy& policy) {
  const bool had = !set_.routes.empty();
  const egress_wire::RouteUse used = set_.used;
  set_ = {};
  if (inference::IsWanted(policy.policy)) {
    Result<egress_wire::SetRoutes> read = files_->RoutesOf(policy.owner_uid);
    if (read.ok()) {
      set_ = *std::move(read);
    } else {
      fprintf(stderr, "<3>odyssey-egress: cell %s has no route: %s\n", policy.cell_id.c_str(),
              read.status().message().c_str());
    }
  }
  set_.used = used;
  return had || !set_.routes.empty() ? egress_wire::Encode(set_) : "";
}

void CellRoutes::Count(const egress_wire::Record& record) {
  const egress_wire::InferenceRecord& use = record.inference;
  inference::AddUse({.tokens = use.tokens_in, .cost = use.cost}, &set_.used);
  inference::AddUse({.tokens = use.tokens_out}, &set_.used);
}

const egress_wire::Route* CellRoutes::Find(const std::string& name) const {
  for (const egress_wire::Route& route : set_.routes) {
    if (route.name == name) return &route;
  }
  return nullptr;
}

}  // namespace odyssey::egress
