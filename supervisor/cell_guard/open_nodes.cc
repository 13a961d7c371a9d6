#include "supervisor/cell_guard/open_nodes.h"

#include <string.h>

#include <algorithm>

#include "supervisor/cell_guard/kernel_request.h"

namespace odyssey::cell_guard {

void OpenNodes::Begin(void* request, size_t bytes) {
  request_ = {};
  to_link_ = linked_ = 0;
  created_ = -1;
  read_anew_ = false;
  if (bytes < sizeof(request_)) return;
  memcpy(&request_, request, sizeof(request_));
  if (request_.opcode == FUSE_LINK) {
    if (const auto* link = ArgumentsIn<fuse_link_in>(request, bytes)) to_link_ = link->oldnodeid;
  }
  if (request_.opcode != FUSE_GETATTR && request_.opcode != FUSE_SETATTR) return;
  const int fd = DescriptorOf(request_.nodeid);
  if (fd < 0) return;
  auto* get =
      request_.opcode == FUSE_GETATTR ? ArgumentsIn<fuse_getattr_in>(request, bytes) : nullptr;
  if (get != nullptr && (get->getattr_flags & FUSE_GETATTR_FH) == 0) {
    get->getattr_flags |= FUSE_GETATTR_FH;
    get->fh = kIfPathFails | static_cast<uint64_t>(fd);
  }
  // ftruncate(2) comes with its own descriptor, and truncate(2) needs one that is open for writing.
  auto* set =
      request_.opcode == FUSE_SETATTR ? ArgumentsIn<fuse_setattr_in>(request, bytes) : nullptr;
  if (set != nullptr && (set->valid & (FATTR_FH | FATTR_SIZE)) == 0) {
    set->valid |= FATTR_FH;
    set->fh = kIfPathFails | static_cast<uint64_t>(fd);
  }
}

void OpenNodes::Answer(const iovec* parts, int count) {
  fuse_out_header answer;
  if (count == 0 || parts[0].iov_len < sizeof(answer)) return;
  memcpy(&answer, parts[0].iov_base, sizeof(answer));
  if (answer.unique != request_.unique || answer.error != 0) return;
  linked_ = to_link_;
  fuse_open_out opened;
  if (read_anew_ && count == 2 && parts[1].iov_len == sizeof(opened)) {
    memcpy(&opened, parts[1].iov_base, sizeof(opened));
    opened.open_flags &= ~static_cast<uint32_t>(FOPEN_KEEP_CACHE);
    memcpy(parts[1].iov_base, &opened, sizeof(opened));
  }
  fuse_entry_out made;
  if (created_ < 0 || count < 2 || parts[1].iov_len < sizeof(made)) return;
  memcpy(&made, parts[1].iov_base, sizeof(made));
  nodes_[static_cast<size_t>(created_)] = made.nodeid;
}

void OpenNodes::Opened(int fd) {
  const auto at = static_cast<size_t>(fd);
  if (nodes_.size() <= at) nodes_.resize(at + 1);
  if (request_.opcode == FUSE_CREATE) {
    created_ = fd;
  } else {
    nodes_[at] = request_.nodeid;
  }
}

void OpenNodes::Released(int fd) {
  const auto at = static_cast<size_t>(fd);
  if (at < nodes_.size()) nodes_[at] = 0;
}

int OpenNodes::DescriptorOf(uint64_t node) const {
  const auto found = std::find(nodes_.begin(), nodes_.end(), node);
  return found == nodes_.end() ? -1 : static_cast<int>(found - nodes_.begin());
}

}  // namespace odyssey::cell_guard
