#ifndef ODYSSEY_CTL_ACCESS_SSH_KEYS_H_
#define ODYSSEY_CTL_ACCESS_SSH_KEYS_H_

// What ssh into a cell needs on this side: two pairs of keys, one of the sshd that `cell ssh-proxy`
// runs in the cell, one of the client, and a known_hosts file with the first. They name each other
// and give no right: who may run a command in the cell is the supervisor's to say.

#include <string>

#include "common/base/status.h"

namespace odyssey::ctl {

// Files of one directory, which this user alone reads.
class SshKeys final {
 public:
  // Makes what is missing, with ssh-keygen. `name` is that of the host in known_hosts.
  static Result<SshKeys> Make(const std::string& directory, const std::string& name);
  // NOT_FOUND: Make has not been called.
  static Result<SshKeys> Find(const std::string& directory);

  // Absolute.
  const std::string& directory() const { return directory_; }
  std::string host_key() const { return directory_ + "/host"; }
  std::string client_key() const { return directory_ + "/client"; }
  std::string authorized_keys() const { return directory_ + "/client.pub"; }
  std::string known_hosts() const { return directory_ + "/known_hosts"; }

 private:
  explicit SshKeys(std::string directory) : directory_(std::move(directory)) {}

  std::string directory_;
};

// DIRECTORY of a cell: ~/.ssh/odyssey/CELL of the caller. INVALID_ARGUMENT if `cell` is no name of
// a file.
Result<std::string> SshDirectory(const std::string& home, const std::string& cell);

struct SshHost {
  std::string name;           // of the Host block
  std::string proxy_command;  // for the shell
};

// The Host block of ssh_config(5). Pure.
std::string SshConfig(const SshHost& host, const SshKeys& keys);

// A word for a shell, and for ssh_config's own percent signs. Pure.
std::string SshQuoted(const std::string& word);

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_ACCESS_SSH_KEYS_H_
