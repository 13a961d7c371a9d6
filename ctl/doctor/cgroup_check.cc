#include "ctl/doctor/cgroup_check.h"

#include <mntent.h>
#include <stdio.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <sstream>
#include <string_view>

#include "common/os/file.h"

namespace odyssey::ctl {
namespace {

constexpr size_t kMaxControlFile = 64 * 1024;
constexpr const char* kNeeded[] = {"memory", "pids", "cpu"};

std::vector<std::string> Words(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> out;
  for (std::string word; in >> word;) out.push_back(word);
  return out;
}

bool Has(const CgroupMount& mount, const std::string& controller) {
  return std::count(mount.controllers.begin(), mount.controllers.end(), controller) > 0;
}

bool HasAll(const CgroupMount& mount) {
  return std::all_of(std::begin(kNeeded), std::end(kNeeded),
                     [&](const char* each) { return Has(mount, each); });
}

Check Missing(std::string detail, std::string advice, std::string mend = "") {
  return {"cgroups", Verdict::kMissing, std::move(detail), std::move(advice), std::move(mend)};
}

Check JudgeV2(const CgroupMount& mount) {
  const std::string& at = mount.directory;
  if (!mount.writable) {
    return Missing("v2 at " + at + " is read-only", "in a container, give it a writable cgroup",
                   "mount -o remount,rw " + at);
  }
  // A group with members gives no controllers to its children; the host's own root may.
  if (!mount.top && mount.occupied) {
    return Missing("v2 at " + at + " is not delegated: processes are in its top group",
                   "move them into a group of their own, or start the supervisor in a unit with "
                   "Delegate=yes",
                   "mkdir -p " + at + "/init && for p in $(cat " + at +
                       "/cgroup.procs); do echo $p >" + at + "/init/cgroup.procs; done");
  }
  return {"cgroups", Verdict::kGood, "v2 at " + at, "", ""};
}

}  // namespace

std::vector<CgroupMount> FindCgroupMounts() {
  std::vector<CgroupMount> out;
  const std::unique_ptr<FILE, int (*)(FILE*)> mounts(setmntent("/proc/self/mounts", "re"),
                                                     endmntent);
  // Only this thread reads this file.
  for (const mntent* mount;
       mounts && (mount = getmntent(mounts.get())) != nullptr;) {  // NOLINT(concurrency-mt-unsafe)
    const std::string_view type = mount->mnt_type;
    if (type != "cgroup" && type != "cgroup2") continue;
    CgroupMount found{.directory = mount->mnt_dir, .v2 = type == "cgroup2"};
    struct statvfs info {};
    found.writable = statvfs(mount->mnt_dir, &info) == 0 && (info.f_flag & ST_RDONLY) == 0;
    if (found.v2) {
      const auto text = ReadFile(found.directory + "/cgroup.controllers", kMaxControlFile);
      const auto members = ReadFile(found.directory + "/cgroup.procs", kMaxControlFile);
      found.controllers = Words(text.ok() ? *text : "");
      found.top = access((found.directory + "/cgroup.type").c_str(), F_OK) != 0;
      found.occupied = members.ok() && !members->empty();
    } else {
      for (const char* each : {"memory", "pids", "cpu"}) {
        if (hasmntopt(mount, each) != nullptr) found.controllers.emplace_back(each);
      }
    }
    out.push_back(std::move(found));
  }
  return out;
}

Check JudgeCgroups(const std::vector<CgroupMount>& mounts) {
  const CgroupMount* v2 = nullptr;
  for (const CgroupMount& mount : mounts) {
    if (mount.v2) v2 = &mount;
  }
  if (v2 != nullptr && HasAll(*v2)) return JudgeV2(*v2);
  std::string missing;
  for (const char* each : kNeeded) {
    const auto found = std::find_if(mounts.begin(), mounts.end(), [&](const CgroupMount& mount) {
      return (!mount.v2 || mounts.size() == 1) && Has(mount, each);
    });
    if (found == mounts.end()) {
      missing += (missing.empty() ? "" : " ") + std::string(each);
    } else if (!found->writable) {
      return Missing("v1 at " + found->directory + " is read-only",
                     "in a container, give it a writable cgroup",
                     "mount -o remount,rw " + found->directory);
    }
  }
  if (missing.empty()) return {"cgroups", Verdict::kGood, "v1: memory pids cpu", "", ""};
  if (mounts.empty()) {
    return Missing("no cgroup file system is mounted",
                   "mount cgroup2; in a container, give it a writable cgroup",
                   "mount -t cgroup2 none /sys/fs/cgroup");
  }
  if (v2 != nullptr && mounts.size() == 1) {
    return Missing("v2 at " + v2->directory + " lacks the controllers: " + missing,
                   "they are not delegated: enable them in the group above (a unit's "
                   "Delegate=yes), or boot without cgroup_disable=");
  }
  const std::string first = missing.substr(0, missing.find(' '));
  return Missing("controllers are missing: " + missing,
                 "boot with systemd.unified_cgroup_hierarchy=1, or mount the v1 hierarchies",
                 "mkdir -p /sys/fs/cgroup/" + first + " && mount -t cgroup -o " + first +
                     " none /sys/fs/cgroup/" + first);
}

}  // namespace odyssey::ctl
