#ifndef ODYSSEY_TESTS_FUZZ_HTTP_ORACLE_H_
#define ODYSSEY_TESTS_FUZZ_HTTP_ORACLE_H_

// llhttp, another parser of HTTP/1, as the oracle of the requests that odyssey-egress writes.

#include <string>
#include <vector>

namespace odyssey::fuzz {

struct OracleRequest {
  std::string method, target, body;
  int hosts = 0;  // fields of that name
  bool whole = false;
};

// The requests in `bytes`, as llhttp reads them; it reads all of `bytes` or the process aborts.
// Empty: it does not know a method, of which it has a fixed list.
std::vector<OracleRequest> ReadByLlhttp(const std::string& bytes);

}  // namespace odyssey::fuzz

#endif  // ODYSSEY_TESTS_FUZZ_HTTP_ORACLE_H_
