#include "ctl/access/ssh_keys.h"

#include <sys/stat.h>
#include <unistd.h>

#include "common/os/file.h"
#include "ctl/base/child_program.h"
#include "ctl/file/named_place.h"

namespace odyssey::ctl {
namespace {

constexpr char kKeygen[] = "/usr/bin/ssh-keygen";
constexpr size_t kMaxKey = 4096;
constexpr mode_t kPrivate = 0700, kOthers = 0077;

Status MakeKey(const std::string& path) {
  if (WalkPath(path).status.ok()) return OkStatus();
  Result<ChildProgram> keygen = ChildProgram::Start(
      kKeygen, {"ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "odyssey", "-f", path});
  if (!keygen.ok()) {
    return FailedPrecondition(keygen.status().message() + "; install the package openssh-client");
  }
  const int code = keygen->Wait();
  if (code == 0) return OkStatus();
  return FailedPrecondition("make the key " + path + ": ssh-keygen exited with " +
                            std::to_string(code));
}

Status CheckPrivate(const NamedPlace& directory) {
  struct stat info {};
  if (fstat(directory.fd(), &info) != 0) return ErrnoStatus(errno, "look at " + directory.name());
  if (info.st_uid == geteuid() && (info.st_mode & kOthers) == 0) return OkStatus();
  return PermissionDenied(directory.name() + ": others than uid " + std::to_string(geteuid()) +
                          " may look into it; chmod 700, or name another with --keys");
}

}  // namespace

Result<SshKeys> SshKeys::Make(const std::string& directory, const std::string& name) {
  NamedPlaces places;
  ODY_ASSIGN_OR_RETURN(const NamedPlace* const place, places.Make(directory, kPrivate));
  ODY_RETURN_IF_ERROR(CheckPrivate(*place));
  SshKeys keys(place->name());
  ODY_RETURN_IF_ERROR(MakeKey(keys.host_key()));
  ODY_RETURN_IF_ERROR(MakeKey(keys.client_key()));
  ODY_ASSIGN_OR_RETURN(const std::string host,
                       places.Read(keys.host_key() + ".pub", Links::kSystem, kMaxKey));
  ODY_RETURN_IF_ERROR(ReplaceNamedFile(keys.known_hosts(), name + " " + host, 0600));
  return keys;
}

Result<SshKeys> SshKeys::Find(const std::string& directory) {
  ODY_ASSIGN_OR_RETURN(const NamedPlace place, OpenNamedPlace(directory));
  ODY_RETURN_IF_ERROR(CheckPrivate(place));
  return SshKeys(place.name());
}

Result<std::string> SshDirectory(const std::string& home, const std::string& cell) {
  const bool is_name = !cell.empty() && cell[0] != '.' && cell.find('/') == std::string::npos;
  if (is_name && !home.empty()) return home + "/.ssh/odyssey/" + cell;
  return InvalidArgument("no directory for the keys of \"" + cell + "\"; name one with --keys");
}

std::string SshQuoted(const std::string& word) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=@,+";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? "'\\''" : c == '%' ? "%%" : std::string(1, c);
  return out + "'";
}

std::string SshConfig(const SshHost& host, const SshKeys& keys) {
  const auto file = [](const std::string& path) {
    std::string out = "\"";
    for (const char c : path) out += c == '%' ? "%%" : std::string(1, c);
    return out + "\"\n";
  };
  return "Host " + host.name + "\n" +                            //
         "    ProxyCommand " + host.proxy_command + "\n" +       //
         "    User agent\n" +                                    //
         "    IdentityFile " + file(keys.client_key()) +         //
         "    IdentitiesOnly yes\n" +                            //
         "    HostKeyAlias " + host.name + "\n" +                //
         "    UserKnownHostsFile " + file(keys.known_hosts()) +  //
         "    GlobalKnownHostsFile /dev/null\n" +                //
         "    StrictHostKeyChecking yes\n" + "    ForwardAgent no\n" + "    ForwardX11 no\n";
}

}  // namespace odyssey::ctl
