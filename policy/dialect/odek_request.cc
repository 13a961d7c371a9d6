#include <algorithm>
#include <cctype>
#include <set>

#include "policy/ceiling/ceiling.h"
#include "policy/dialect/odek.h"
#include "policy/dialect/odek_limits.h"
#include "policy/dialect/odek_volume.h"
#include "policy/dialect/sandbox_request.h"
#include "policy/model/own_variables.h"
#include "policy/model/policy_keys.h"

namespace odyssey::dialect::odek {
namespace {

void Refuse(const Word& word, const Source& source, const std::string& why) {
  At(source, word.place).Invalid(word.place.line, word.place.key, why + ": `" + word.value + "`");
}

void Warn(const Place& place, const Source& source, std::string why) {
  At(source, place).Warn(place.line, place.key, std::move(why));
}

constexpr char kUserRule[] =
    "must be a uid that is not root's, alone or with the same number as group, such as `1000:1000`";

// With an image its users count, and root is one of them.
void AddImage(const Config& config, const Source& source, policy::SandboxRequest* request) {
  if (config.image) {
    request->image.reference = config.image->value;
    if (config.user) request->image.user = config.user->value;
    return;
  }
  if (config.user) {
    request->user = ParseUser(config.user->value).value_or(0);
    if (request->user == 0) Refuse(*config.user, source, kUserRule);
  }
}

policy::Network NetworkOf(const Config& config, const Source& source) {
  if (!config.network || config.network->value == "none") {
    return policy::Network::kNone;
  }
  const std::string& value = config.network->value;
  if (value == "bridge") {
    return policy::Network::kEgress;
  }
  Warn(config.network->place, source,
       value == "host" ? "`host` destroys container isolation. Forcing 'none'."
                       : "`" + value +
                             "` is not allowed. Only 'none' and 'bridge' are permitted. Forcing "
                             "'none'.");
  return policy::Network::kNone;
}

// What is wrong with them CheckValues says.
void AddLimits(const Config& config, policy::SandboxRequest* request) {
  for (size_t i = 0; i < policy::kLimitCount; ++i) {
    const policy::LimitKey& key = policy::kLimitKeys[i];
    const std::optional<Word>& word = config.limits[i];
    if (word) key.set(&request->limits, ParseLimit(key, word->value).value_or(0));
  }
}

// "USER[:GROUP]", each a name or a number.
bool IsUserText(const std::string& text) {
  const size_t colon = text.find(':');
  const auto names_one = [](const std::string& part) {
    return !part.empty() && std::all_of(part.begin(), part.end(), [](unsigned char c) {
      return std::isalnum(c) != 0 || c == '_' || c == '-' || c == '.';
    });
  };
  return names_one(text.substr(0, colon)) &&
         (colon == std::string::npos || names_one(text.substr(colon + 1)));
}

bool IsVariableName(const std::string& name) {
  const auto good = [](char c) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    return letter || (c >= '0' && c <= '9') || c == '_';
  };
  return !name.empty() && std::all_of(name.begin(), name.end(), good) &&
         !(name[0] >= '0' && name[0] <= '9');
}

// `word` with every ${NAME} replaced; nullopt if it is left out, with the reason told. Adds those
// that look like secrets to `secrets`.
std::optional<std::string> Expanded(const Word& word, const Source& source,
                                    const PolicyContext& context, std::set<std::string>* secrets) {
  std::string out;
  size_t at = 0;
  for (size_t open = word.value.find("${"); open != std::string::npos;
       open = word.value.find("${", at)) {
    const size_t close = word.value.find('}', open);
    const std::string name =
        close == std::string::npos ? "" : word.value.substr(open + 2, close - open - 2);
    if (!IsVariableName(name)) {
      Refuse(word, source, "expected the name of a variable and `}` after `${`");
      return std::nullopt;
    }
    if (ceiling::LooksSecret(name)) secrets->insert(name);
    if (!context.MayTake(name)) {
      Refuse(word, source,
             "the variable " + name + " looks like a secret and needs an operator grant");
      return std::nullopt;
    }
    const std::optional<std::string> value = context.Variable(name);
    if (!value) {
      Warn(word.place, source, "left out: there is no variable " + name + " here");
      return std::nullopt;
    }
    out += word.value.substr(at, open - at) + *value;
    at = close + 1;
  }
  return out + word.value.substr(at);
}

void AddEnv(const Config& config, const Source& source, const PolicyContext& context, Policy* out) {
  if (!config.env) return;
  for (const auto& [name, word] : *config.env) {
    if (!IsVariableName(name) || policy::IsOwnVariable(name)) continue;  // said by CheckValues
    std::set<std::string> secrets;
    std::optional<std::string> value = Expanded(word, source, context, &secrets);
    for (const std::string& variable : secrets) out->secrets.push_back({name, variable});
    out->origins.Add("env." + name, word.place);
    if (value) out->request.env[name] = *std::move(value);
  }
}

void AddVolumes(const Config& config, const Source& source, const PolicyContext& context,
                Policy* out) {
  if (!config.volumes || context.client_cwd.empty()) return;
  for (const Word& volume : *config.volumes) {
    std::optional<policy::Mount> mount = ReadVolume(volume, source, context);
    if (!mount) continue;
    out->origins.Add("mounts[" + std::to_string(out->request.mounts.size()) + "]", volume.place);
    out->request.mounts.push_back(*std::move(mount));
  }
}

void NoteOrigins(const Config& config, Origins* origins) {
  const std::pair<const char*, const std::optional<Word>&> words[] = {
      {"network", config.network},
      {"image", config.image},
      {config.image ? "image.user" : "user", config.user}};
  for (const auto& [field, word] : words) {
    if (word) origins->Add(field, word->place);
  }
  for (size_t i = 0; i < policy::kLimitCount; ++i) {
    const std::optional<Word>& word = config.limits[i];
    if (word) origins->Add("limits." + std::string(policy::kLimitKeys[i].name), word->place);
  }
  if (config.readonly) origins->Add("mode", config.readonly->place);
}

}  // namespace

void CheckValues(const Config& layer, const Source& source) {
  for (size_t i = 0; i < policy::kLimitCount; ++i) {
    const policy::LimitKey& key = policy::kLimitKeys[i];
    const std::optional<Word>& word = layer.limits[i];
    if (word && ParseLimit(key, word->value) < key.least) {
      Refuse(*word, source, "must be " + std::string(key.foreign.odek.rule));
    }
  }
  if (layer.user && !IsUserText(layer.user->value)) {
    Refuse(*layer.user, source, "must be `USER` or `USER:GROUP`, each a name or a number");
  }
  if (!layer.env) return;
  for (const auto& [name, word] : *layer.env) {
    const Source at = At(source, word.place);
    if (!IsVariableName(name)) {
      at.Invalid(word.place.line, word.place.key,
                 "the name of a variable has letters, digits and underscores");
    } else if (policy::IsOwnVariable(name)) {
      at.Invalid(word.place.line, word.place.key, policy::kOwnVariableRule);
    }
  }
}

void AddRequest(const Config& config, const Source& source, const PolicyContext& context,
                Policy* out) {
  policy::SandboxRequest& request = out->request;
  if (config.sandbox && !config.sandbox->value) {
    Warn(config.sandbox->place, source, "false is ignored: commands run in a cell or not at all");
  }
  if (context.client_cwd.empty()) {
    source.Invalid(0, "", "the project is the client's directory, and the client named none");
  }
  const bool readonly = config.readonly && config.readonly->value;
  request.mode = readonly ? policy::Mode::kReadOnly : policy::Mode::kWorkspaceWrite;
  request.workspace = context.client_cwd;
  AddImage(config, source, &request);
  request.network = NetworkOf(config, source);
  if (request.network == policy::Network::kEgress) {
    request.egress = egress::PublicPolicy(config.network->place.key);
  }
  AddLimits(config, &request);
  AddEnv(config, source, context, out);
  AddVolumes(config, source, context, out);
  NoteOrigins(config, &out->origins);
  for (const std::string& key : config.others) out->elsewhere.push_back(key + ": odek's own");
}

}  // namespace odyssey::dialect::odek
