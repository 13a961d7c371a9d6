#include "policy/executables/found_encoding.h"

#include "common/base/field_codec.h"
#include "policy/executables/closure.h"
#include "policy/plan/plan.h"
#include "policy/plan/plan_check.h"

namespace odyssey::compile {

constexpr uint32_t kMaxWhyBytes = 2 * plan::kMaxPath;

void VisitFields(auto& v, Executable& m) {
  v.Text("path", m.path, plan::kMaxPath);
  v.Bool("run", m.run);
  v.Text("why", m.why, kMaxWhyBytes);
}

void VisitFields(auto& v, FoundExecutables& m) {
  v.List("files", m.files, executables::kMaxFiles);
  v.Texts("notes", m.notes, executables::kMaxFiles, kMaxWhyBytes);
  v.Texts("compilers", m.compilers, executables::kMaxFiles, plan::kMaxPath);
  v.Text("identity", m.identity, kMaxWhyBytes);
}

}  // namespace odyssey::compile

namespace odyssey::executables {

std::string EncodeFound(const compile::FoundExecutables& found) { return EncodeFields(found); }

Result<compile::FoundExecutables> DecodeFound(std::string_view bytes) {
  compile::FoundExecutables found;
  Reader in(bytes);
  GetFields get(&in);
  VisitFields(get, found);
  if (!in.Done()) return InvalidArgument("decode found programs");
  for (const compile::Executable& file : found.files) {
    if (!plan::IsNormalizedAbsolute(file.path) || !compile::IsInSystemTree(file.path)) {
      return InvalidArgument("decode found programs: a path outside the system's trees");
    }
  }
  return found;
}

}  // namespace odyssey::executables
