#include "agentd/package/layout_directory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "common/oci/digest.h"
#include "common/os/file.h"

namespace odyssey::package {
namespace {

constexpr size_t kPieceBytes = 64 * 1024;

Status WriteNew(const std::string& path, std::string_view text) {
  UniqueFd fd(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  if (!fd) return ErrnoStatus(errno, "create " + path);
  ODY_RETURN_IF_ERROR(WriteAll(fd.get(), text));
  if (fsync(fd.get()) != 0) return ErrnoStatus(errno, "sync " + path);
  return OkStatus();
}

std::string BlobName(const std::string& hex) {
  return std::string(oci::kBlobDirectory) + "/" + hex;
}

Status WriteEntry(const std::string& name, int fd, uint64_t bytes, const std::string& shown,
                  const ByteSink& sink) {
  ODY_ASSIGN_OR_RETURN(const std::string head, oci::EncodeEntry(oci::kArchiveFormat, name, bytes));
  ODY_RETURN_IF_ERROR(sink(head));
  return ReadInPieces(fd, shown, sink);
}

}  // namespace

Status ReadInPieces(int fd, const std::string& shown, const ByteSink& sink) {
  char buffer[kPieceBytes];
  for (;;) {
    const ssize_t n = read(fd, buffer, sizeof(buffer));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return ErrnoStatus(errno, "read " + shown);
    if (n == 0) return OkStatus();
    ODY_RETURN_IF_ERROR(sink({buffer, static_cast<size_t>(n)}));
  }
}

BlobWriter::BlobWriter(std::string directory, UniqueFd fd, std::string path)
    : directory_(std::move(directory)), fd_(std::move(fd)), path_(std::move(path)) {}

BlobWriter::~BlobWriter() {
  if (!path_.empty()) unlink(path_.c_str());
}

Status BlobWriter::Write(std::string_view bytes) {
  hash_.Update(bytes);
  size_ += bytes.size();
  return WriteAll(fd_.get(), bytes);
}

Result<oci::Descriptor> BlobWriter::Commit(const std::string& expected) {
  oci::Descriptor blob = {hash_.Hex(), size_};
  if (!expected.empty() && blob.digest != expected) {
    return oci::InvalidBundle("blob bytes do not match digest " + oci::DigestOf(expected));
  }
  if (fsync(fd_.get()) != 0) return ErrnoStatus(errno, "sync " + path_);
  const std::string name = directory_ + "/" + BlobName(blob.digest);
  if (rename(path_.c_str(), name.c_str()) != 0) return ErrnoStatus(errno, "rename to " + name);
  path_.clear();
  return blob;
}

Result<LayoutDirectory> LayoutDirectory::Create(const std::string& path) {
  ODY_RETURN_IF_ERROR(MakeDirectories(path + "/" + oci::kBlobDirectory, 0755));
  ODY_RETURN_IF_ERROR(WriteNew(path + "/" + oci::kLayoutFile, oci::kLayoutText));
  return LayoutDirectory(path);
}

std::string LayoutDirectory::BlobPath(const std::string& hex) const {
  return path_ + "/" + BlobName(hex);
}

Result<std::unique_ptr<BlobWriter>> LayoutDirectory::NewBlob() const {
  std::string path = path_ + "/" + oci::kBlobDirectory + "/.new-XXXXXX";
  UniqueFd fd(mkostemp(path.data(), O_CLOEXEC));
  if (!fd) return ErrnoStatus(errno, "create " + path);
  if (fchmod(fd.get(), 0644) != 0) return ErrnoStatus(errno, "chmod " + path);
  return std::make_unique<BlobWriter>(path_, std::move(fd), std::move(path));
}

Result<oci::Descriptor> LayoutDirectory::AddBlob(std::string_view bytes,
                                                 const std::string& expected) const {
  ODY_ASSIGN_OR_RETURN(const std::unique_ptr<BlobWriter> blob, NewBlob());
  ODY_RETURN_IF_ERROR(blob->Write(bytes));
  return blob->Commit(expected);
}

Result<UniqueFd> LayoutDirectory::OpenBlob(const oci::Descriptor& blob) const {
  const std::string digest = oci::DigestOf(blob.digest);
  if (!oci::IsHex(blob.digest)) return oci::InvalidBundle("invalid digest " + digest);
  UniqueFd fd(open(BlobPath(blob.digest).c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd && errno == ENOENT) return oci::InvalidBundle("blob " + digest + " is missing");
  if (!fd) return ErrnoStatus(errno, "open blob " + digest);
  struct stat info;
  if (fstat(fd.get(), &info) != 0) return ErrnoStatus(errno, "stat blob " + digest);
  if (!S_ISREG(info.st_mode) || static_cast<uint64_t>(info.st_size) != blob.size) {
    return oci::InvalidBundle("blob " + digest + " has " + std::to_string(info.st_size) +
                              " bytes, expected " + std::to_string(blob.size));
  }
  return fd;
}

Result<std::string> LayoutDirectory::ReadBlob(const oci::Descriptor& blob, size_t max_bytes) const {
  ODY_ASSIGN_OR_RETURN(const UniqueFd fd, OpenBlob(blob));
  ODY_ASSIGN_OR_RETURN(std::string text, ReadToTheEnd(fd.get(), BlobPath(blob.digest), max_bytes));
  if (Sha256Hex(text) == blob.digest) return text;
  return oci::InvalidBundle("blob bytes do not match digest " + oci::DigestOf(blob.digest));
}

Status LayoutDirectory::SetManifest(const oci::Descriptor& manifest,
                                    const std::string& ref_name) const {
  return WriteNew(path_ + "/" + oci::kIndexFile, oci::WriteIndex(manifest, ref_name));
}

Result<Parts> LayoutDirectory::ReadParts() const {
  ODY_ASSIGN_OR_RETURN(const std::string index,
                       ReadFile(path_ + "/" + oci::kIndexFile, oci::kMaxIndexBytes));
  ODY_ASSIGN_OR_RETURN(const oci::Descriptor manifest, oci::ReadIndex(index));
  return ReadPartsOf(manifest);
}

Result<Parts> LayoutDirectory::ReadPartsOf(const oci::Descriptor& manifest) const {
  Parts out;
  out.manifest_blob = manifest;
  ODY_ASSIGN_OR_RETURN(out.manifest_text, ReadBlob(manifest, oci::kMaxManifestBytes));
  ODY_ASSIGN_OR_RETURN(out.manifest, oci::ReadManifest(out.manifest_text));
  ODY_ASSIGN_OR_RETURN(const std::string config,
                       ReadBlob(out.manifest.config, oci::kMaxConfigBytes));
  ODY_ASSIGN_OR_RETURN(out.config, oci::ReadConfig(config));
  for (const oci::Descriptor& layer : out.manifest.layers) {
    ODY_RETURN_IF_ERROR(OpenBlob(layer).status());
  }
  return out;
}

std::set<std::string> BlobsOf(const Parts& parts) {
  std::set<std::string> out = {parts.manifest_blob.digest, parts.manifest.config.digest};
  for (const oci::Descriptor& layer : parts.manifest.layers) out.insert(layer.digest);
  return out;
}

Status LayoutDirectory::WriteArchive(const Parts& parts, const ByteSink& sink) const {
  std::vector<std::string> names = {oci::kIndexFile, oci::kLayoutFile};
  for (const std::string& hex : BlobsOf(parts)) names.push_back(BlobName(hex));
  std::sort(names.begin(), names.end());
  ODY_ASSIGN_OR_RETURN(const std::string header,
                       oci::EncodeHeader(oci::kArchiveFormat, names.size()));
  ODY_RETURN_IF_ERROR(sink(header));
  for (const std::string& name : names) {
    const std::string path = path_ + "/" + name;
    UniqueFd fd(open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
    struct stat info;
    if (!fd || fstat(fd.get(), &info) != 0) return ErrnoStatus(errno, "open " + path);
    ODY_RETURN_IF_ERROR(
        WriteEntry(name, fd.get(), static_cast<uint64_t>(info.st_size), path, sink));
  }
  return OkStatus();
}

ArchiveReceiver::ArchiveReceiver(const LayoutDirectory* layout)
    : layout_(layout), decoder_(oci::kArchiveFormat, this) {}

Status ArchiveReceiver::Begin(const std::string& path, uint64_t bytes) {
  const std::string blobs = std::string(oci::kBlobDirectory) + "/";
  name_ = path;
  if (path.rfind(blobs, 0) == 0) {
    name_ = path.substr(blobs.size());
    if (!oci::IsHex(name_)) return oci::InvalidBundle("invalid digest sha256:" + name_);
    ODY_ASSIGN_OR_RETURN(blob_, layout_->NewBlob());
    return OkStatus();
  }
  if (path != oci::kIndexFile && path != oci::kLayoutFile) {
    return oci::InvalidBundle("bundle archive entry is part of no OCI layout: " + path);
  }
  if (bytes > oci::kMaxIndexBytes) {
    return oci::InvalidBundle("archive entry length exceeds maximum " +
                              std::to_string(oci::kMaxIndexBytes) + " bytes: " + path);
  }
  return OkStatus();
}

Status ArchiveReceiver::Data(std::string_view bytes) {
  if (blob_) return blob_->Write(bytes);
  text_ += bytes;
  return OkStatus();
}

Status ArchiveReceiver::End() {
  const std::string text = std::exchange(text_, "");
  if (const std::unique_ptr<BlobWriter> blob = std::move(blob_)) {
    return blob->Commit(name_).status();
  }
  if (name_ == oci::kIndexFile) return WriteNew(layout_->path() + "/" + name_, text);
  return OkStatus();  // oci-layout is there
}

}  // namespace odyssey::package
