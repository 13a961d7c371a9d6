#include "supervisor/probe/targets.h"

#include <stdlib.h>

#include <algorithm>
#include <iterator>

namespace odyssey::probe {
namespace {

constexpr std::string_view kRequired[] = {"mode",
                                          "network",
                                          "executables",
                                          "tree",
                                          "workspace",
                                          "bin",
                                          "ro",
                                          "rw",
                                          "outside",
                                          "secret",
                                          "command",
                                          "pid",
                                          "variable",
                                          "abstract",
                                          "unix",
                                          "tcp4",
                                          "tcp6",
                                          "udp4",
                                          "udp6",
                                          "shm_key",
                                          "shm",
                                          "queue",
                                          "key",
                                          "hostname",
                                          "terminal",
                                          "namespace",
                                          "socket",
                                          "own",
                                          "sibling",
                                          "neighbour",
                                          "pids",
                                          "neighbour_tcp",
                                          "neighbour_abstract",
                                          "neighbour_key",
                                          "tmp_bytes",
                                          "open_files"};
constexpr std::string_view kOptional[] = {"address", "protected", "root", "image_variable"};

bool IsKnown(std::string_view name) {
  return std::find(std::begin(kRequired), std::end(kRequired), name) != std::end(kRequired) ||
         std::find(std::begin(kOptional), std::end(kOptional), name) != std::end(kOptional);
}

}  // namespace

bool Targets::Add(std::string_view word, std::string* error) {
  const size_t equals = word.find('=');
  const std::string_view name = word.substr(0, equals);
  if (equals == std::string_view::npos || equals + 1 == word.size() || !IsKnown(name)) {
    *error = "argument \"" + std::string(word) + "\": a known name=value is allowed";
    return false;
  }
  values_[std::string(name)].emplace_back(word.substr(equals + 1));
  return true;
}

const std::string& Targets::Text(std::string_view name) const {
  static const std::string none;
  const std::vector<std::string>& values = All(name);
  return values.empty() ? none : values.back();
}

long Targets::Number(std::string_view name) const {
  return strtol(Text(name).c_str(), nullptr, 10);
}

const std::vector<std::string>& Targets::All(std::string_view name) const {
  static const std::vector<std::string> none;
  const auto it = values_.find(name);
  return it == values_.end() ? none : it->second;
}

std::vector<std::string> Targets::Missing() const {
  std::vector<std::string> missing;
  for (const std::string_view name : kRequired) {
    if (All(name).empty()) missing.emplace_back(name);
  }
  return missing;
}

}  // namespace odyssey::probe
