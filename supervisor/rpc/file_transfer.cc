#include "supervisor/rpc/file_transfer.h"

#include <stdio.h>

#include <algorithm>
#include <utility>

#include "common/base/refusal.h"
#include "common/base/utf8.h"

namespace odyssey::supervisor {
namespace {

constexpr size_t kMaxName = 255;  // NAME_MAX
constexpr size_t kMaxQuoted = 200;
constexpr uint32_t kPermissionBits = 0777;
constexpr uint32_t kDefaultMode = 0644;
constexpr uint32_t kUnfinishedMode = 0600;

Status BadPath(const std::string& path, const char* why) {
  return InvalidArgument("file.path \"" + path.substr(0, kMaxQuoted) + "\": " + why +
                         "; names below the directory, without \".\" and \"..\", are allowed");
}

// The file itself, piece by piece; its head has been delivered.
bool Deliver(const AskWorker& ask, const std::string& path, uint64_t size, std::string piece,
             const CollectSink& sink) {
  for (uint64_t sent = 0; !piece.empty();) {
    piece.resize(std::min<uint64_t>(piece.size(), size - sent));
    sent += piece.size();
    if (!sink.data(std::move(piece))) return false;
    piece.clear();
    if (sent == size) break;
    auto next =
        ask({.op = tool::Op::kFetch, .path = path, .offset = sent, .max_bytes = kMaxTransferPiece});
    if (next.ok()) piece = std::move(next->content);  // else it is gone: it ends here
  }
  return true;
}

// A worker is as trustworthy as its cell: what it calls a file may have any name.
std::string WhyNoName(const tool::ListEntry& entry) {
  if (entry.type != "file") return SanitizeUtf8(entry.type);
  const bool named = entry.path.empty() || CheckTransferPath(entry.path).ok();
  return named ? "" : "its name is none";
}

}  // namespace

Status CheckTransferPath(const std::string& path) {
  if (path.size() > tool::kMaxPath) return BadPath(path, "longer than 4095 bytes");
  if (path.find('\0') != std::string::npos) return BadPath(path, "a NUL character");
  if (path.empty() || path[0] == '/') return BadPath(path, "not a relative path");
  for (size_t begin = 0; begin <= path.size();) {
    const size_t end = std::min(path.find('/', begin), path.size());
    const std::string_view name = std::string_view(path).substr(begin, end - begin);
    if (name.empty()) return BadPath(path, "an empty name");
    if (name == "." || name == "..") return BadPath(path, "\".\" or \"..\"");
    if (name.size() > kMaxName) return BadPath(path, "a name longer than 255 bytes");
    begin = end + 1;
  }
  return OkStatus();
}

Result<std::string> PlaceInCell(const std::string& field, const std::string& path,
                                const std::string& workspace) {
  const std::string whole = path[0] == '/' ? path : workspace + "/" + path;
  std::string place;
  for (size_t begin = 0; begin < whole.size();) {
    const size_t end = std::min(whole.find('/', begin), whole.size());
    const std::string_view name = std::string_view(whole).substr(begin, end - begin);
    if (name == ".." || name.find('\0') != std::string_view::npos) {
      return Refused(Code::kInvalidArgument, field, SanitizeUtf8(path).substr(0, kMaxQuoted),
                     "a path without \"..\" and NUL characters is allowed");
    }
    if (!name.empty() && name != ".") (place += '/') += name;
    begin = end + 1;
  }
  if (!place.empty() && place.size() <= tool::kMaxPath) return place;
  return Refused(Code::kInvalidArgument, field, "", "names no file or directory below /");
}

Injection::~Injection() {
  if (finished_) return;
  // From the last, so that a directory is empty when its turn comes.
  for (auto it = made_.rbegin(); it != made_.rend(); ++it) {
    (void)ask_({.op = tool::Op::kDiscard, .path = it->path, .directories = it->directories});
  }
}

Status Injection::BeginFile(const std::string& path, uint32_t mode) {
  ODY_RETURN_IF_ERROR(EndFile());
  ODY_RETURN_IF_ERROR(CheckTransferPath(path));
  if (directory_.size() + path.size() > tool::kMaxPath) return BadPath(path, "too long");
  if ((mode & ~kPermissionBits) != 0) {
    char octal[16];
    snprintf(octal, sizeof(octal), "0%o", mode);
    return InvalidArgument(std::string("file.mode ") + octal +
                           ": only permission bits, 0 to 0777, are allowed");
  }
  if (made_.size() == kMaxInjectedFiles) {
    return ResourceExhausted("file: at most " + std::to_string(kMaxInjectedFiles) +
                             " files of one call are allowed");
  }
  path_ = directory_ + path;
  mode_ = mode == 0 ? kDefaultMode : mode;
  written_ = 0;
  created_ = false;
  return OkStatus();
}

Status Injection::Add(std::string data) {
  if (path_.empty()) return InvalidArgument("data: the first message of a file must be file");
  if (data.size() > kMaxTransferPiece) {
    return InvalidArgument("data: " + std::to_string(data.size()) + " bytes; at most " +
                           std::to_string(kMaxTransferPiece) + " are allowed");
  }
  if (data.size() > kMaxInjectedBytes - bytes_) {
    return ResourceExhausted("data: at most " + std::to_string(kMaxInjectedBytes) +
                             " bytes of one call are allowed");
  }
  bytes_ += data.size();
  // Until more comes or the file ends it is open whether this is its last piece.
  if (!piece_.empty()) ODY_RETURN_IF_ERROR(Write(kUnfinishedMode));
  piece_ = std::move(data);
  return OkStatus();
}

Status Injection::Finish() {
  ODY_RETURN_IF_ERROR(EndFile());
  finished_ = true;
  return OkStatus();
}

Status Injection::EndFile() { return path_.empty() ? OkStatus() : Write(mode_); }

// What is waiting, and the mode with it: most files are one request.
Status Injection::Write(uint32_t mode) {
  tool::Request request{.op = created_ ? tool::Op::kAppend : tool::Op::kCreate,
                        .path = path_,
                        .offset = written_,
                        .content = std::move(piece_),
                        .mode = mode,
                        .replace_all = !created_ && existing_ == Existing::kReplace};
  piece_.clear();
  written_ += request.content.size();
  const auto response = ask_(request);
  if (response.ok() && !created_) made_.push_back({path_, response->directories});
  created_ = created_ || response.ok();
  return response.status();
}

Status Collect(const AskWorker& ask, const std::string& top, const CollectSink& sink) {
  uint64_t left = kMaxCollectedBytes;
  ODY_ASSIGN_OR_RETURN(const tool::Response tree, ask({.op = tool::Op::kTree, .path = top}));
  for (const tool::ListEntry& entry : tree.entries) {
    const bool whole = entry.path.empty();
    CollectedFile file{.path = SanitizeUtf8(whole ? top.substr(top.rfind('/') + 1) : entry.path),
                       .size = entry.size,
                       .mode = entry.mode & kPermissionBits,
                       .skipped = WhyNoName(entry)};
    const std::string path = whole ? top : top + "/" + entry.path;
    Result<tool::Response> first = tool::Response{};
    if (file.skipped.empty()) {
      first = ask({.op = tool::Op::kFetch, .path = path, .max_bytes = kMaxTransferPiece});
      if (!first.ok()) file.skipped = SanitizeUtf8(first.status().message());
    }
    if (file.skipped.empty()) file.size = first->total_bytes;
    if (file.skipped.empty() && file.size > left) {
      file.skipped =
          "with it there were more than " + std::to_string(kMaxCollectedBytes) + " bytes";
    }
    if (!sink.file(file)) return Cancelled("the client stopped receiving files");
    if (!file.skipped.empty()) continue;
    left -= file.size;
    if (!Deliver(ask, path, file.size, std::move(first->content), sink)) {
      return Cancelled("the client stopped receiving files");
    }
  }
  if (!tree.truncated) return OkStatus();
  const CollectedFile rest{.skipped = "there is more than one call collects: " +
                                      std::to_string(tool::kMaxListEntries) + " files"};
  return sink.file(rest) ? OkStatus() : Cancelled("the client stopped receiving files");
}

}  // namespace odyssey::supervisor
