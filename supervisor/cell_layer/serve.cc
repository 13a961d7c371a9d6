#include "supervisor/cell_layer/serve.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include "common/os/file.h"
#include "common/os/unique_fd.h"
#include "image/layer/layer.h"
#include "image/layer/pack.h"
#include "policy/executables/finder.h"
#include "policy/executables/found_encoding.h"

namespace odyssey::cell_layer {
namespace {

using layer::AccountFile;
using layer::FileState;

// Of the layer, through no link of it.
UniqueFd OpenPlain(int directory, const char* path, uint64_t flags) {
  open_how how{};
  how.flags = flags | O_CLOEXEC | O_NOFOLLOW;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS;
  return UniqueFd(static_cast<int>(syscall(SYS_openat2, directory, path, &how, sizeof(how))));
}

bool IsOpaque(int directory) {
  char value[2];
  return fgetxattr(directory, "user.overlay.opaque", value, sizeof(value)) == 1 && value[0] == 'y';
}

// A file of etc, as overlayfs shows it with this layer above others.
AccountFile ReadAccounts(int layer, const char* name) {
  const UniqueFd etc = OpenPlain(layer, "etc", O_RDONLY | O_DIRECTORY);
  if (!etc) {
    return {.state =
                errno == ENOENT && !IsOpaque(layer) ? FileState::kUntouched : FileState::kHidden};
  }
  struct stat info {};
  if (fstatat(etc.get(), name, &info, AT_SYMLINK_NOFOLLOW) != 0) {
    return {.state = IsOpaque(etc.get()) ? FileState::kHidden : FileState::kUntouched};
  }
  if (!S_ISREG(info.st_mode)) return {.state = FileState::kHidden};
  const UniqueFd file = OpenPlain(etc.get(), name, O_RDONLY | O_NONBLOCK);
  const Result<std::string> text =
      file ? ReadToTheEnd(file.get(), name, layer::kMaxAccounts) : NotFound(name);
  if (!text.ok()) return {.state = FileState::kHidden};
  return {.state = FileState::kText, .text = *text};
}

image::Bounds BoundsOf(const layer::Order& order) {
  image::Bounds bounds;
  bounds.bytes = std::min(bounds.bytes, order.max_bytes);
  bounds.entries = std::min(bounds.entries, order.max_entries);
  return bounds;
}

Status Unpack(const layer::Order& order, const Place& place, layer::Done* done) {
  ODY_ASSIGN_OR_RETURN(const image::LayerStats stats,
                       image::UnpackLayer(place.tar, place.directory, BoundsOf(order)));
  // What the store records as whole has to be whole after a loss of power too.
  if (syncfs(place.directory) != 0) return ErrnoStatus(errno, "write the layer to the disk");
  done->entries = stats.entries;
  done->bytes = stats.bytes;
  done->set_id_files = stats.set_id_files;
  done->passwd = ReadAccounts(place.directory, "passwd");
  done->group = ReadAccounts(place.directory, "group");
  return OkStatus();
}

Status Pack(const layer::Order& order, const Place& place, layer::Done* done) {
  const image::Bounds bounds = BoundsOf(order);
  ODY_ASSIGN_OR_RETURN(const image::PackStats stats,
                       order.op == layer::Op::kPack
                           ? image::PackLayer(place.directory, place.tar, order.leave_out, bounds)
                           : image::PackFiles(place.directory, order.path, place.tar, bounds));
  done->entries = stats.entries;
  done->bytes = stats.bytes;
  return OkStatus();
}

Status Find(const layer::Order& order, const Place& place) {
  executables::Finder finder;
  ODY_ASSIGN_OR_RETURN(const compile::FoundExecutables found, finder.Find(order.programs));
  return WriteAll(place.tar, executables::EncodeFound(found));
}

Status Carry(const layer::Order& order, const Place& place, layer::Done* done) {
  switch (order.op) {
    case layer::Op::kUnpack:
      return Unpack(order, place, done);
    case layer::Op::kPack:
    case layer::Op::kRead:
      return Pack(order, place, done);
    case layer::Op::kFind:
      return Find(order, place);
  }
  return Internal("unknown order");
}

}  // namespace

layer::Done Do(const layer::Order& order, const Place& place) {
  layer::Done done;
  done.status = Carry(order, place, &done);
  return done;
}

}  // namespace odyssey::cell_layer
