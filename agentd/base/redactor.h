#ifndef ODYSSEY_AGENTD_BASE_REDACTOR_H_
#define ODYSSEY_AGENTD_BASE_REDACTOR_H_

// Takes secrets out of text: values of named variables, and keys of well-known shapes. Pure.

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace odyssey::agent {

// A shorter value ("1", "true", "en") would be taken out of everything.
inline constexpr size_t kMinSecretBytes = 8;

class Redactor final {
 public:
  // The values of `variables` that have kMinSecretBytes are secrets.
  explicit Redactor(const std::map<std::string, std::string>& variables);

  // `text` with "[REDACTED:NAME]" in place of each secret; NAME is the variable or the shape.
  std::string Text(std::string_view text) const;
  // The same in every string of a JSON text; what is no JSON is treated as text.
  std::string JsonText(const std::string& json) const;

  // Where the end of `text` may be the beginning of a secret that goes on after it; its size if
  // nowhere.
  size_t UnfinishedAt(std::string_view text) const;

 private:
  struct Value {
    std::string name, value;
  };
  // The length of the secret at the front of `text` and its name; 0: none is there.
  size_t SecretAtFront(std::string_view text, std::string_view* name) const;

  bool IsUnfinished(std::string_view end) const;

  std::vector<Value> values_;  // longest first
};

// The same for a text that comes in pieces: what may be a part of a secret is kept back.
class StreamRedactor final {
 public:
  explicit StreamRedactor(const Redactor* redactor) : redactor_(redactor) {}  // borrowed
  std::string Push(std::string_view piece);
  // What was kept back; at the end of the text.
  std::string Finish();

 private:
  const Redactor* redactor_;
  std::string kept_;
};

}  // namespace odyssey::agent

#endif  // ODYSSEY_AGENTD_BASE_REDACTOR_H_
