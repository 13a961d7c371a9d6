#include "ctl/file/file_rights.h"

#include <sys/fsuid.h>

namespace odyssey::ctl {

// In this order: the group is changed as root.
FileRights::FileRights(const ceiling::Owner& owner)
    : group_(static_cast<gid_t>(setfsgid(owner.gids.empty() ? owner.uid : owner.gids[0]))),
      user_(static_cast<uid_t>(setfsuid(owner.uid))) {}

FileRights::~FileRights() {
  setfsuid(user_);
  setfsgid(group_);
}

}  // namespace odyssey::ctl
