#include "ctl/provider/provider_request.h"

#include <algorithm>
#include <utility>

#include "common/base/control.h"
#include "common/base/join.h"
#include "common/base/time_text.h"
#include "ctl/base/sanitize.h"

namespace odyssey::ctl {
namespace {

std::string OrDash(std::string text) { return text.empty() ? "-" : text; }

Result<std::string> OneLine(std::string text, const std::string& file) {
  StripLineEnd(&text);
  if (text.empty()) return InvalidArgument("--from-file " + file + ": it is empty");
  if (text.find('\n') == std::string::npos) return text;
  return InvalidArgument("--from-file " + file + ": a secret is one line");
}

}  // namespace

Result<provider_wire::Put> MakePut(const ParsedOptions& options, bool create,
                                   const ReadSecret& read) {
  const std::vector<std::string>& keys = options.All("credential");
  const std::vector<std::string>& files = options.All("from-file");
  if (keys.size() != files.size()) {
    return InvalidArgument("--credential KEY and --from-file FILE go together, one for one");
  }
  if (std::count(files.begin(), files.end(), "-") > 1) {
    return InvalidArgument("--from-file -: stdin is read once");
  }
  provider_wire::Put put{.create = create,
                         .name = options.Word(0),
                         .type = options.Text("type"),
                         .endpoints = options.All("endpoint")};
  for (size_t i = 0; i < keys.size(); ++i) {
    ODY_ASSIGN_OR_RETURN(std::string text, read(files[i]));
    ODY_ASSIGN_OR_RETURN(std::string secret, OneLine(std::move(text), files[i]));
    put.secrets.push_back({keys[i], std::move(secret)});
  }
  return put;
}

std::string FormatProviders(const std::vector<provider_wire::Provider>& providers) {
  std::vector<std::vector<std::string>> rows;
  for (const provider_wire::Provider& one : providers) {
    rows.push_back({one.name, one.type, one.by_operator ? "operator" : "yours",
                    OrDash(Join(one.keys, ",")),
                    one.rotated == 0 ? "-" : Rfc3339(static_cast<time_t>(one.rotated)),
                    OrDash(Join(one.endpoints, ","))});
    for (std::string& cell : rows.back()) cell = Sanitize(cell, Lines::kOne);
  }
  return FormatTable({"NAME", "TYPE", "OWNER", "CREDENTIALS", "ROTATED", "ENDPOINTS"}, rows);
}

Json ProvidersJson(const std::vector<provider_wire::Provider>& providers) {
  Json out = Json::array();
  for (const provider_wire::Provider& one : providers) {
    out.push_back({{"name", one.name},
                   {"type", one.type},
                   {"by_operator", one.by_operator},
                   {"credentials", one.keys},
                   {"endpoints", one.endpoints},
                   {"created", one.created},
                   {"rotated", one.rotated}});
  }
  return {{"providers", std::move(out)}};
}

}  // namespace odyssey::ctl
