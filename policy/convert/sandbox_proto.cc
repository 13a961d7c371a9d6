#include "policy/convert/sandbox_proto.h"

#include <algorithm>
#include <string>
#include <utility>

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include "common/base/refusal.h"
#include "policy/convert/egress_proto.h"
#include "policy/model/policy_keys.h"
#include "policy/model/provider_name.h"

namespace odyssey::policy {
namespace {

// One row per enumerator. The first row is what an unknown model value would become.
template <typename Proto, typename Model>
struct EnumRow {
  Proto proto;
  Model model;
};

constexpr EnumRow<v1::Mode, Mode> kModes[] = {
    {v1::MODE_READ_ONLY, Mode::kReadOnly},
    {v1::MODE_WORKSPACE_WRITE, Mode::kWorkspaceWrite},
    {v1::MODE_DANGER_FULL_ACCESS, Mode::kDangerFullAccess}};
constexpr EnumRow<v1::Network, Network> kNetworks[] = {{v1::NETWORK_NONE, Network::kNone},
                                                       {v1::NETWORK_FULL, Network::kFull},
                                                       {v1::NETWORK_EGRESS, Network::kEgress}};
constexpr EnumRow<v1::ExecutablesMode, ExecutablesMode> kExecutablesModes[] = {
    {v1::EXECUTABLES_MODE_EXPLICIT, ExecutablesMode::kExplicit},
    {v1::EXECUTABLES_MODE_STANDARD, ExecutablesMode::kStandard},
    {v1::EXECUTABLES_MODE_WORKSPACE, ExecutablesMode::kWorkspace},
    {v1::EXECUTABLES_MODE_ALL, ExecutablesMode::kAll}};
constexpr EnumRow<v1::Access, Access> kAccesses[] = {{v1::ACCESS_READ_ONLY, Access::kReadOnly},
                                                     {v1::ACCESS_REVIEW, Access::kReview},
                                                     {v1::ACCESS_READ_WRITE, Access::kReadWrite}};
// The last rows give "unspecified" its meaning.
constexpr EnumRow<v1::Protection, Protection> kProtections[] = {
    {v1::PROTECTION_DEFAULT, Protection::kDefault},
    {v1::PROTECTION_NONE, Protection::kNone},
    {v1::PROTECTION_UNSPECIFIED, Protection::kDefault}};
constexpr EnumRow<v1::Writes, Writes> kWrites[] = {{v1::WRITES_DIRECT, Writes::kDirect},
                                                   {v1::WRITES_REVIEW, Writes::kReview},
                                                   {v1::WRITES_UNSPECIFIED, Writes::kDirect}};
constexpr EnumRow<v1::Landlock, Landlock> kLandlocks[] = {
    {v1::LANDLOCK_HARD_REQUIREMENT, Landlock::kHardRequirement},
    {v1::LANDLOCK_BEST_EFFORT, Landlock::kBestEffort},
    {v1::LANDLOCK_UNSPECIFIED, Landlock::kHardRequirement}};

template <typename Proto, typename Model, size_t N>
Proto ToProto(Model value, const EnumRow<Proto, Model> (&table)[N]) {
  for (const auto& row : table) {
    if (row.model == value) return row.proto;
  }
  return table[0].proto;
}

template <typename Proto, typename Model, size_t N>
Status FromProto(const char* field, Proto value, const EnumRow<Proto, Model> (&table)[N],
                 const char* allowed, Model* out) {
  for (const auto& row : table) {
    if (row.proto != value) continue;
    *out = row.model;
    return OkStatus();
  }
  return InvalidArgument(std::string(field) + " " + std::to_string(static_cast<int>(value)) +
                         ": give " + allowed);
}

v1::Mount ToProto(const Mount& mount) {
  v1::Mount out;
  out.set_source(mount.source);
  out.set_target(mount.target);
  out.set_access(ToProto(mount.access, kAccesses));
  out.set_executable(mount.executable);
  out.mutable_suffixes()->Assign(mount.suffixes.begin(), mount.suffixes.end());
  out.set_max_file_bytes(mount.max_file_bytes);
  if (mount.identity.inode != 0) *out.mutable_source_identity() = ToProto(mount.identity);
  return out;
}

Status FromProto(const v1::Mount& mount, Mount* out) {
  out->source = mount.source();
  out->target = mount.target();
  out->executable = mount.executable();
  out->suffixes.assign(mount.suffixes().begin(), mount.suffixes().end());
  out->max_file_bytes = mount.max_file_bytes();
  out->identity = policy::FromProto(mount.source_identity());
  return FromProto("sandbox.mounts.access", mount.access(), kAccesses,
                   "ACCESS_READ_ONLY, ACCESS_REVIEW or ACCESS_READ_WRITE", &out->access);
}

using google::protobuf::FieldDescriptor;

// Of a row; policy_keys_test compares rows and fields.
const FieldDescriptor& FieldOf(const LimitKey& key) {
  const FieldDescriptor* field = v1::Limits::descriptor()->FindFieldByName(std::string(key.name));
  ODY_CHECK(field != nullptr);
  return *field;
}

Limits FromProto(const v1::Limits& limits) {
  const google::protobuf::Reflection& reflection = *v1::Limits::GetReflection();
  Limits out;
  for (const LimitKey& key : kLimitKeys) {
    const FieldDescriptor& field = FieldOf(key);
    const bool word = field.cpp_type() == FieldDescriptor::CPPTYPE_UINT32;
    key.set(&out,
            word ? reflection.GetUInt32(limits, &field) : reflection.GetUInt64(limits, &field));
  }
  return out;
}

Status EnumsFromProto(const v1::Sandbox& sandbox, SandboxRequest* out) {
  ODY_RETURN_IF_ERROR(FromProto("sandbox.mode", sandbox.mode(), kModes,
                                "MODE_READ_ONLY, MODE_WORKSPACE_WRITE or MODE_DANGER_FULL_ACCESS",
                                &out->mode));
  ODY_RETURN_IF_ERROR(FromProto("sandbox.network", sandbox.network(), kNetworks,
                                "NETWORK_NONE, NETWORK_FULL or NETWORK_EGRESS", &out->network));
  ODY_RETURN_IF_ERROR(FromProto("sandbox.executables_mode", sandbox.executables_mode(),
                                kExecutablesModes, "EXECUTABLES_MODE_EXPLICIT, _STANDARD or _ALL",
                                &out->executables_mode));
  ODY_RETURN_IF_ERROR(FromProto("sandbox.protection", sandbox.protection(), kProtections,
                                "PROTECTION_DEFAULT or PROTECTION_NONE", &out->protection));
  ODY_RETURN_IF_ERROR(FromProto("sandbox.workspace_writes", sandbox.workspace_writes(), kWrites,
                                "WRITES_DIRECT or WRITES_REVIEW", &out->workspace_writes));
  return FromProto("sandbox.landlock", sandbox.landlock(), kLandlocks,
                   "LANDLOCK_HARD_REQUIREMENT or LANDLOCK_BEST_EFFORT", &out->landlock);
}

Status ProvidersFromProto(const v1::Sandbox& sandbox, std::vector<std::string>* out) {
  if (sandbox.providers_size() > static_cast<int>(kMaxProviders)) {
    return InvalidArgument("sandbox.providers: at most " + std::to_string(kMaxProviders) +
                           " are allowed");
  }
  for (int i = 0; i < sandbox.providers_size(); ++i) {
    const std::string& name = sandbox.providers(i);
    if (!IsProviderName(name)) {
      return Refused(Code::kInvalidArgument, "sandbox.providers[" + std::to_string(i) + "]",
                     name.substr(0, kMaxProviderName),
                     kProviderNameRule + std::string(" is allowed"));
    }
    if (std::find(out->begin(), out->end(), name) == out->end()) out->push_back(name);
  }
  return OkStatus();
}

}  // namespace

v1::FileIdentity ToProto(const FileIdentity& identity) {
  v1::FileIdentity out;
  out.set_device(identity.device);
  out.set_inode(identity.inode);
  return out;
}

FileIdentity FromProto(const v1::FileIdentity& identity) {
  return {.device = identity.device(), .inode = identity.inode()};
}

v1::Limits ToProto(const Limits& limits) {
  const google::protobuf::Reflection& reflection = *v1::Limits::GetReflection();
  v1::Limits out;
  for (const LimitKey& key : kLimitKeys) {
    const FieldDescriptor& field = FieldOf(key);
    const uint64_t value = key.get(limits);
    if (field.cpp_type() == FieldDescriptor::CPPTYPE_UINT32) {
      reflection.SetUInt32(&out, &field, static_cast<uint32_t>(value));
    } else {
      reflection.SetUInt64(&out, &field, value);
    }
  }
  return out;
}

v1::Sandbox ToProto(const SandboxRequest& request) {
  v1::Sandbox out;
  out.set_mode(ToProto(request.mode, kModes));
  out.set_network(ToProto(request.network, kNetworks));
  out.set_executables_mode(ToProto(request.executables_mode, kExecutablesModes));
  out.mutable_executables()->Assign(request.executables.begin(), request.executables.end());
  for (const Mount& mount : request.mounts) *out.add_mounts() = ToProto(mount);
  out.mutable_env()->insert(request.env.begin(), request.env.end());
  *out.mutable_limits() = ToProto(request.limits);
  *out.mutable_unsaid_limits() = ToProto(request.unsaid_limits);
  out.mutable_protect()->Assign(request.protect.begin(), request.protect.end());
  out.set_protection(ToProto(request.protection, kProtections));
  out.mutable_deny()->Assign(request.deny.begin(), request.deny.end());
  out.set_landlock(ToProto(request.landlock, kLandlocks));
  out.set_user(request.user);
  out.set_workspace_writes(ToProto(request.workspace_writes, kWrites));
  if (request.network == Network::kEgress) *out.mutable_egress() = ToProto(request.egress);
  out.mutable_providers()->Assign(request.providers.begin(), request.providers.end());
  if (request.image == ImageRoot{}) return out;
  out.mutable_image()->set_reference(request.image.reference);
  out.mutable_image()->set_user(request.image.user);
  out.mutable_image()->set_build(request.image.build);
  return out;
}

Status FromProto(const v1::Sandbox& sandbox, SandboxRequest* out) {
  ODY_RETURN_IF_ERROR(EnumsFromProto(sandbox, out));
  out->executables.assign(sandbox.executables().begin(), sandbox.executables().end());
  out->mounts.resize(static_cast<size_t>(sandbox.mounts_size()));
  for (int i = 0; i < sandbox.mounts_size(); ++i) {
    ODY_RETURN_IF_ERROR(FromProto(sandbox.mounts(i), &out->mounts[static_cast<size_t>(i)]));
  }
  out->env.insert(sandbox.env().begin(), sandbox.env().end());
  out->limits = FromProto(sandbox.limits());
  out->unsaid_limits = FromProto(sandbox.unsaid_limits());
  out->protect.assign(sandbox.protect().begin(), sandbox.protect().end());
  out->deny.assign(sandbox.deny().begin(), sandbox.deny().end());
  out->user = sandbox.user();
  out->image = {.reference = sandbox.image().reference(),
                .user = sandbox.image().user(),
                .build = sandbox.image().build()};
  ODY_RETURN_IF_ERROR(ProvidersFromProto(sandbox, &out->providers));
  return FromProto(sandbox.egress(), &out->egress);
}

}  // namespace odyssey::policy
