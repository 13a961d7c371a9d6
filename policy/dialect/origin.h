#ifndef ODYSSEY_POLICY_DIALECT_ORIGIN_H_
#define ODYSSEY_POLICY_DIALECT_ORIGIN_H_

// Where the values of a request were written, so that a later refusal can name the place.

#include <map>
#include <optional>
#include <string>

#include "common/base/status.h"
#include "policy/dialect/problem.h"

namespace odyssey::dialect {

struct Place {
  std::string file;     // "": none, the key is an option of a command
  int line = 0;         // 0: the file as a whole
  std::string key;      // "sandbox.permissions.network"
  std::string written;  // the value, "" = that of the request, or more than one
};

class Origins final {
 public:
  // `field` is what refusals of the request call it: "mode", "limits.pids", "mounts[2]",
  // "env.NAME"; "mounts" and "env" are the whole of them.
  void Add(const std::string& field, Place place) { places_[field] = std::move(place); }
  // What is said of the field, of one of its entries or of its parts was written elsewhere.
  void Forget(const std::string& field);
  // nullptr: not known.
  const Place* Find(const std::string& field) const;
  // Files below the directory are named as it names them: of a copy in the store.
  void NameFrom(const std::string& directory);

  // By its detail. "mounts[2].source: /proc: why" becomes "FILE:LINE: KEY: /proc: why", and where
  // another value is written than the request has, "limits.pids: 9: why" "FILE:LINE: KEY: WRITTEN:
  // limits.pids: 9: why". Of an option: "--pids: limits.pids: 9: why",
  // "--read: /proc: why". What is of no field that is
  // known here stays as it is.
  Status Locate(const Status& status) const;
  // The same in its parts; nullopt for what is of no field that is known here.
  std::optional<Problem> ToProblem(const Status& status) const;

  // Where something is written is no part of what it says.
  friend bool operator==(const Origins&, const Origins&) { return true; }

 private:
  // Where a field is written, or, of an entry of a list that is not numbered, its value.
  const Place* FindValue(const std::string& field, const std::string& value) const;

  std::map<std::string, Place> places_;
};

}  // namespace odyssey::dialect

#endif  // ODYSSEY_POLICY_DIALECT_ORIGIN_H_
