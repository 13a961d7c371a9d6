#include "common/audit/log_directory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <memory>
#include <utility>

#include "common/os/file.h"

namespace odyssey::audit {
namespace {

constexpr std::string_view kPrefix = "audit-";
constexpr std::string_view kSuffix = ".jsonl";
constexpr size_t kDigits = 20;
constexpr size_t kReadBytes = 64 * 1024;
constexpr size_t kMaxHead = 256;

Result<UniqueFd> OpenFile(int directory, const std::string& name) {
  UniqueFd fd(openat(directory, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat info;
  if (!fd || fstat(fd.get(), &info) != 0) return ErrnoStatus(errno, "open " + name);
  if (!S_ISREG(info.st_mode)) return FailedPrecondition("open " + name + ": it is no regular file");
  return fd;
}

// Appends what there is, at most kReadBytes; how many.
Result<size_t> ReadMore(int fd, const std::string& name, std::string* out) {
  const size_t before = out->size();
  out->resize(before + kReadBytes);
  ssize_t n;
  do {
    n = read(fd, out->data() + before, kReadBytes);
  } while (n < 0 && errno == EINTR);
  out->resize(before + static_cast<size_t>(std::max<ssize_t>(n, 0)));
  if (n < 0) return ErrnoStatus(errno, "read " + name);
  return static_cast<size_t>(n);
}

}  // namespace

std::string LogFileName(uint64_t first_seq) {
  char digits[kDigits + 1];
  snprintf(digits, sizeof(digits), "%020llu", static_cast<unsigned long long>(first_seq));
  return std::string(kPrefix) + digits + std::string(kSuffix);
}

uint64_t FirstSeqOf(std::string_view name) {
  if (name.size() != kPrefix.size() + kDigits + kSuffix.size()) return 0;
  uint64_t seq = 0;
  const std::string_view digits = name.substr(kPrefix.size(), kDigits);
  std::from_chars(digits.data(), digits.data() + digits.size(), seq);
  return LogFileName(seq) == name ? seq : 0;
}

Result<UniqueFd> OpenLogDirectory(const std::string& path) {
  UniqueFd fd(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd) return ErrnoStatus(errno, "open " + path);
  return fd;
}

Result<std::vector<LogFile>> ListLogFiles(int directory) {
  // A description of its own: its place in the directory is not shared.
  UniqueFd fd(openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd) return ErrnoStatus(errno, "open the directory of the audit log");
  const std::unique_ptr<DIR, int (*)(DIR*)> dir(fdopendir(fd.get()), closedir);
  if (dir == nullptr) return ErrnoStatus(errno, "read the directory of the audit log");
  fd.release();
  std::vector<LogFile> files;
  // Only this thread reads this stream.
  while (const dirent* entry = readdir(dir.get())) {  // NOLINT(concurrency-mt-unsafe)
    const uint64_t first_seq = FirstSeqOf(entry->d_name);
    if (first_seq != 0) files.push_back({entry->d_name, first_seq});
  }
  std::sort(files.begin(), files.end());
  return files;
}

Result<Position> ReadHead(int directory) {
  ODY_ASSIGN_OR_RETURN(const UniqueFd fd, OpenFile(directory, kHeadName));
  std::string text;
  ODY_ASSIGN_OR_RETURN(const size_t bytes, ReadMore(fd.get(), kHeadName, &text));
  return ParseHead(std::string_view(text).substr(0, std::min(bytes, kMaxHead)));
}

Result<LineReader> LineReader::Open(int directory, const std::string& name, uint64_t offset) {
  ODY_ASSIGN_OR_RETURN(UniqueFd fd, OpenFile(directory, name));
  if (lseek(fd.get(), static_cast<off_t>(offset), SEEK_SET) < 0) {
    return ErrnoStatus(errno, "seek " + name);
  }
  return LineReader(std::move(fd), name);
}

Result<std::optional<std::string>> LineReader::Next() {
  for (;;) {
    const size_t newline = buffer_.find('\n', scanned_);
    if (newline != std::string::npos) {
      std::string line = buffer_.substr(consumed_, newline - consumed_);
      consumed_ = scanned_ = newline + 1;
      return std::optional<std::string>(std::move(line));
    }
    buffer_.erase(0, consumed_);
    consumed_ = 0;
    scanned_ = buffer_.size();
    if (buffer_.size() > kMaxLine) {
      return Status(Code::kDataLoss, name_ + ": a line is longer than " + std::to_string(kMaxLine) +
                                         " bytes: not an audit log");
    }
    ODY_ASSIGN_OR_RETURN(const size_t bytes, ReadMore(fd_.get(), name_, &buffer_));
    if (bytes == 0) return std::optional<std::string>();
  }
}

namespace {

Result<Chain> VerifyOnce(int directory, const Position& after) {
  // First the head: what it names is in the log by then.
  Chain chain(after, ReadHead(directory));
  ODY_ASSIGN_OR_RETURN(const std::vector<LogFile> files, ListLogFiles(directory));
  for (const LogFile& file : files) {
    chain.BeginFile(file.name, file.first_seq);
    ODY_ASSIGN_OR_RETURN(LineReader reader, LineReader::Open(directory, file.name));
    for (;;) {
      ODY_ASSIGN_OR_RETURN(const std::optional<std::string> line, reader.Next());
      if (!line) break;
      chain.Add(*line);
    }
    chain.Unfinished(reader.unfinished());
  }
  chain.Finish();
  return chain;
}

}  // namespace

Result<Chain> Verify(int directory, const Position& after) {
  // Rotation may remove a file between the listing and its turn.
  for (int attempts = 3;;) {
    Result<Chain> chain = VerifyOnce(directory, after);
    if (chain.ok() || chain.status().code() != Code::kNotFound || --attempts == 0) return chain;
  }
}

}  // namespace odyssey::audit
