#ifndef ODYSSEY_SUPERVISOR_PROBE_TARGETS_H_
#define ODYSSEY_SUPERVISOR_PROBE_TARGETS_H_

// What the host tells the probes: what kind of cell this is, and what to look for. Words of the
// form name=value; a name may stand several times.
//
//   mode network executables tree     the cell: read_only|workspace_write, none|full,
//                                     explicit|standard|all, memory|disk|host
//   workspace bin ro rw               directories in the cell: the workspace, and mounts of the
//   host outside secret                    a directory of the host that is not shown, and a file in
//   it command pid                       a process of the host variable                          in
//   the supervisor's environment abstract unix                     beginnings of Unix addresses;
//   -stream -dgram -packet follow tcp4 tcp6 udp4 udp6               ports on the host's loopback
//   shm_key shm queue key             System V and POSIX IPC, a key in a keyring
//   hostname terminal namespace=net=… the host's own
//   address socket own                of the host's interfaces; the daemons' sockets and
//   directories sibling neighbour                 names of processes: in this cell, in another one
//   neighbour_tcp neighbour_abstract neighbour_key
//   pids tmp_bytes open_files         the cell's limits
//   protected                         names in the workspace that are read-only
//   root=image image_variable         the root is an image, whose files are no host's, as its
//                                     variables are not

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace odyssey::probe {

class Targets final {
 public:
  // False, with *error set, for a word that is none of the above.
  bool Add(std::string_view word, std::string* error);

  // The last value; "" if there is none.
  const std::string& Text(std::string_view name) const;
  long Number(std::string_view name) const;
  const std::vector<std::string>& All(std::string_view name) const;
  bool Is(std::string_view name, std::string_view value) const { return Text(name) == value; }

  // Names that have no value.
  std::vector<std::string> Missing() const;

  // Descriptors beyond 0 to 2 that were open when the program started, as /proc/self/fd shows them.
  std::vector<std::string> inherited;

 private:
  std::map<std::string, std::vector<std::string>, std::less<>> values_;
};

}  // namespace odyssey::probe

#endif  // ODYSSEY_SUPERVISOR_PROBE_TARGETS_H_
