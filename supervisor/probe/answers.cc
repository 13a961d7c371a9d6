#include "supervisor/probe/answers.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/wait.h>

#include <algorithm>

#include "common/os/unique_fd.h"

namespace odyssey::probe {

std::string_view VerdictName(Verdict verdict) {
  switch (verdict) {
    case Verdict::kContained:
      return "contained";
    case Verdict::kEscaped:
      return "ESCAPED";
    case Verdict::kWorks:
      return "works";
    case Verdict::kNotApplicable:
      return "not_applicable";
    case Verdict::kNone:
    case Verdict::kBroken:
      break;
  }
  return "BROKEN";
}

std::string ErrnoText(int error) {
  const char* text = strerrordesc_np(error);
  return text == nullptr ? "errno " + std::to_string(error) : text;
}

Finding MustBeRefused(Answer answer, const Errnos& refusals) {
  if (answer.result >= 0) return Escaped("it succeeded");
  if (std::find(refusals.begin(), refusals.end(), answer.error) != refusals.end()) {
    return Contained(ErrnoText(answer.error));
  }
  switch (answer.error) {
    case ENOSYS:
    case EAFNOSUPPORT:
    case EPROTONOSUPPORT:
    case ESOCKTNOSUPPORT:
    case EOPNOTSUPP:
    case ENODEV:
      return NotApplicable("this kernel does not have it: " + ErrnoText(answer.error));
    default:
      return Escaped("it was not refused: " + ErrnoText(answer.error));
  }
}

Finding MustNotOpen(const std::string& path, int flags, const Errnos& refusals) {
  const UniqueFd fd(open(path.c_str(), flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  const int error = errno;
  if (!fd && error == ENOENT &&
      std::find(refusals.begin(), refusals.end(), ENOENT) == refusals.end()) {
    return NotApplicable("this kernel does not have " + path);
  }
  return MustBeRefused({fd.get(), error}, refusals);
}

Finding BrokenAt(std::string_view what) {
  return Broken(std::string(what) + ": " + ErrnoText(errno));
}

Finding WorksIf(bool good, std::string_view what) { return good ? Works() : BrokenAt(what); }

std::string Slurp(const std::string& path, size_t most) {
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  std::string text;
  char buffer[4096];
  for (ssize_t n; fd && text.size() < most && (n = read(fd.get(), buffer, sizeof(buffer))) > 0;) {
    text.append(buffer, static_cast<size_t>(n));
  }
  return text;
}

bool Spit(const std::string& path, std::string_view bytes, mode_t mode) {
  const UniqueFd fd(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode));
  return fd && write(fd.get(), bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size());
}

bool CopyFile(const std::string& from, const std::string& to) {
  const UniqueFd in(open(from.c_str(), O_RDONLY | O_CLOEXEC));
  const UniqueFd out(open(to.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0700));
  if (!in || !out) return false;
  char buffer[1 << 16];
  ssize_t n = 0;
  while ((n = read(in.get(), buffer, sizeof(buffer))) > 0) {
    if (write(out.get(), buffer, static_cast<size_t>(n)) != n) return false;
  }
  return n == 0;
}

bool ListDirectory(const std::string& path, std::vector<std::string>* names) {
  DIR* directory = opendir(path.c_str());
  if (directory == nullptr) return false;
  // Only this thread reads this stream.
  while (const dirent* entry = readdir(directory)) {  // NOLINT(concurrency-mt-unsafe)
    const std::string name = entry->d_name;
    if (name != "." && name != "..") names->push_back(name);
  }
  closedir(directory);
  return true;
}

std::vector<pid_t> Processes() {
  std::vector<std::string> names;
  ListDirectory("/proc", &names);
  std::vector<pid_t> pids;
  for (const std::string& name : names) {
    if (isdigit(static_cast<unsigned char>(name[0])) != 0) pids.push_back(atoi(name.c_str()));
  }
  return pids;
}

std::string OwnStatus(std::string_view name) {
  const std::string text = "\n" + Slurp("/proc/self/status");
  const std::string key = "\n" + std::string(name) + ":";
  const size_t at = text.find(key);
  if (at == std::string::npos) return "";
  const size_t begin = text.find_first_not_of(" \t", at + key.size());
  return begin == std::string::npos ? "" : text.substr(begin, text.find('\n', begin) - begin);
}

bool Ended::Exited(int code) const {
  return started && WIFEXITED(status) && WEXITSTATUS(status) == code;
}

Ended Execute(const std::vector<std::string>& argv) {
  std::vector<char*> words;
  for (const std::string& word : argv) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  char path[] = "PATH=/usr/local/bin:/usr/bin:/bin";
  char* const environment[] = {path, nullptr};
  int failure[2];
  if (pipe2(failure, O_CLOEXEC) != 0) return {.error = errno};
  const UniqueFd from_child(failure[0]);
  UniqueFd to_parent(failure[1]);

  const pid_t pid = fork();
  if (pid < 0) return {.error = errno};
  if (pid == 0) {
    const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = 0; fd <= 2; ++fd) dup2(null, fd);
    execve(words[0], words.data(), environment);
    const int error = errno;
    (void)!write(to_parent.get(), &error, sizeof(error));
    _exit(125);
  }
  to_parent.reset();
  Ended ended{.started = true};
  if (read(from_child.get(), &ended.error, sizeof(ended.error)) > 0) ended.started = false;
  while (waitpid(pid, &ended.status, 0) < 0 && errno == EINTR) {
  }
  return ended;
}

bool IsOfImage(const Targets& targets, const std::string& path) {
  struct statfs info;
  return targets.Is("root", "image") && statfs(path.c_str(), &info) == 0 &&
         info.f_type == OVERLAYFS_SUPER_MAGIC;
}

}  // namespace odyssey::probe
