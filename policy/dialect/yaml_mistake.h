#ifndef ODYSSEY_POLICY_DIALECT_YAML_MISTAKE_H_
#define ODYSSEY_POLICY_DIALECT_YAML_MISTAKE_H_

// What a person did where the parser says what it expected.

#include <string>
#include <string_view>

namespace odyssey::dialect {

// `said` is yaml-cpp's message about line `line` of `text`, counted from 1. What is likely meant,
// in words that name the line's own characters; what nothing is known about stays as it is said.
// Pure.
std::string ExplainYamlMistake(std::string_view text, int line, const std::string& said);

// Whether the quoted scalar that begins at `begin` has an end. yaml-cpp takes the end of the file
// for one.
bool IsQuoteClosed(std::string_view text, size_t begin);

}  // namespace odyssey::dialect

#endif  // ODYSSEY_POLICY_DIALECT_YAML_MISTAKE_H_
