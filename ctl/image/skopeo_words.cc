#include "ctl/image/skopeo_words.h"

#include <utility>
#include <vector>

namespace odyssey::ctl {
namespace {

constexpr std::string_view kFatal = "level=fatal msg=";
constexpr size_t kMaxMessage = 600;

// As Go quotes a string, up to its end.
std::string Unquoted(std::string_view text) {
  if (!text.starts_with('"')) return std::string(text);
  std::string out;
  for (size_t i = 1; i < text.size() && text[i] != '"'; ++i) {
    if (text[i] == '\\' && i + 1 < text.size()) ++i;
    out += text[i];
  }
  return out;
}

// "reading …: manifest unknown: manifest unknown" says its end twice.
std::string WithoutRepeatedEnd(std::string text) {
  const size_t last = text.rfind(": ");
  if (last == text.npos) return text;
  const std::string end = text.substr(last);
  if (last >= end.size() && text.compare(last - end.size(), end.size(), end) == 0) {
    text.resize(last);
  }
  return text;
}

// skopeo calls every failure to open an image one to parse its name.
std::string WithoutBeginning(const std::string& text) {
  constexpr std::string_view kBeginning = "Error parsing image name ";
  if (!text.starts_with(kBeginning)) return text;
  const size_t end = text.find("\": ");
  return end == text.npos ? text : text.substr(end + 3);
}

}  // namespace

std::string SkopeoError(std::string_view text) {
  while (!text.empty() && text.back() == '\n') text.remove_suffix(1);
  std::string message;
  if (const size_t fatal = text.rfind(kFatal); fatal != text.npos) {
    std::string_view line = text.substr(fatal + kFatal.size());
    line = line.substr(0, line.find('\n'));
    message = WithoutRepeatedEnd(WithoutBeginning(Unquoted(line)));
  } else {
    const size_t newline = text.rfind('\n');
    message = std::string(newline == text.npos ? text : text.substr(newline + 1));
  }
  if (message.size() > kMaxMessage) message.resize(kMaxMessage);
  return message.empty() ? "skopeo failed, and did not say why" : message;
}

std::string AdviceOn(const std::string& message, const std::string& registry) {
  const std::vector<std::pair<std::string_view, std::string>> known = {
      {"gave HTTP response to HTTPS client", "It speaks HTTP alone: --plain-http."},
      {"certificate signed by unknown authority",
       "--ca-file FILE trusts the certificate of the authority that signed it."},
      {"unauthorized", "--authfile FILE gives credentials; skopeo login --authfile FILE " +
                           registry + " makes one."},
      {"authentication required",
       "--authfile FILE gives credentials; skopeo login --authfile "
       "FILE " +
           registry + " makes one."},
      {"denied", "--authfile FILE gives credentials; skopeo login --authfile FILE " + registry +
                     " makes one."},
      {"manifest unknown", "There is no such tag or digest."},
      {"name unknown", "There is no such repository."}};
  for (const auto& [text, advice] : known) {
    if (message.find(text) != message.npos) return advice;
  }
  return "";
}

}  // namespace odyssey::ctl
