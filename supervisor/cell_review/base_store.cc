#include "supervisor/cell_review/base_store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/codec.h"
#include "common/os/file.h"
#include "supervisor/cell_review/state_codec.h"
#include "supervisor/wire/review_wire.h"

namespace odyssey::cell_review {
namespace {

constexpr char kName[] = "base";
constexpr char kNext[] = "base.next";
constexpr uint64_t kMaxBytes = uint64_t{256} << 20;
constexpr uint8_t kVersion = 1;

void PutBase(const Base& base, Writer* out) {
  out->Bool(base.known);
  for (const State* state : {&base.state, &base.host, &base.upper}) PutState(*state, out);
  out->U64(static_cast<uint64_t>(base.host_changed));
  out->U64(static_cast<uint64_t>(base.upper_changed));
  out->U64(base.host_inode);
  out->U64(base.upper_inode);
}

Base GetBase(Reader* in) {
  Base base;
  base.known = in->Bool();
  for (State* state : {&base.state, &base.host, &base.upper}) *state = GetState(in);
  base.host_changed = static_cast<int64_t>(in->U64());
  base.upper_changed = static_cast<int64_t>(in->U64());
  base.host_inode = in->U64();
  base.upper_inode = in->U64();
  return base;
}

}  // namespace

Result<BaseStore> LoadBases(Layer* store) {
  const auto text = store->Read(kName, kMaxBytes);
  if (text.status().code() == Code::kNotFound) return BaseStore{};
  ODY_RETURN_IF_ERROR(text.status());
  Reader in(*text);
  BaseStore bases;
  const bool ours = in.U8() == kVersion;
  bases.scanned = static_cast<int64_t>(in.U64());
  for (uint32_t left = in.U32(); left > 0 && !in.failed(); --left) {
    std::string path = in.String(review::kMaxPath);
    bases.paths[std::move(path)] = GetBase(&in);
  }
  if (ours && in.Done()) return bases;
  return Status(Code::kDataLoss, "the record of what the host had cannot be read");
}

Status SaveBases(const BaseStore& bases, Layer* store) {
  Writer out;
  out.U8(kVersion);
  out.U64(static_cast<uint64_t>(bases.scanned));
  out.U32(static_cast<uint32_t>(bases.paths.size()));
  for (const auto& [path, base] : bases.paths) {
    out.String(path);
    PutBase(base, &out);
  }
  UniqueFd file(
      openat(store->fd(), kNext, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file) return ErrnoStatus(errno, "create the record of what the host had");
  ODY_RETURN_IF_ERROR(WriteAll(file.get(), out.bytes()));
  const int renamed = renameat(store->fd(), kNext, store->fd(), kName);
  return renamed == 0 ? OkStatus() : ErrnoStatus(errno, "save the record of what the host had");
}

}  // namespace odyssey::cell_review
