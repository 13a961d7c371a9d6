#include "ctl/planted_link.h"

#include <errno.h>
#include <stdlib.h>

#include <deque>
#include <filesystem>
#include <memory>

#include "policy/dialect/policy.h"
#include "policy/plan/plan_check.h"

namespace odyssey::ctl {
namespace {

namespace fs = std::filesystem;

constexpr int kMostLinks = 40;  // as many as the kernel follows

bool IsTheSystems(const std::string& directory) {
  return directory == "/" || directory == "/home" || directory == "/var" ||
         plan::IsWithin(directory, "/usr");
}

void PutBefore(const fs::path& path, std::deque<std::string>* rest) {
  const std::deque<std::string> parts(path.begin(), path.end());
  rest->insert(rest->begin(), parts.begin(), parts.end());
}

}  // namespace

std::string PlantedLink(const std::string& path) {
  std::error_code error;
  const fs::path absolute = fs::absolute(path, error);
  std::deque<std::string> rest;
  PutBefore(absolute, &rest);
  fs::path at = "/";
  for (int links = 0; !rest.empty() && !error;) {
    const std::string name = rest.front();
    rest.pop_front();
    if (name == "..") at = at.parent_path();
    if (name.empty() || name == "/" || name == "." || name == "..") continue;
    const fs::path next = at / name;
    if (!fs::is_symlink(next, error)) {
      at = next;
      continue;
    }
    if (!IsTheSystems(at.string()) || ++links > kMostLinks) return next.string();
    const fs::path target = fs::read_symlink(next, error);
    if (target.is_absolute()) at = "/";
    PutBefore(target, &rest);
  }
  return "";
}

Result<std::string> ResolvePath(const std::string& path) {
  const std::unique_ptr<char, decltype(&free)> real(realpath(path.c_str(), nullptr), free);
  if (!real) return ErrnoStatus(errno, "resolve " + path);
  return std::string(real.get());
}

Result<std::string> ResolveUnplanted(const std::string& path) {
  ODY_ASSIGN_OR_RETURN(std::string real, ResolvePath(path));
  const std::string link = PlantedLink(path);
  if (link.empty()) return real;
  return FailedPrecondition(dialect::RefusalOfLink(link, real));
}

}  // namespace odyssey::ctl
