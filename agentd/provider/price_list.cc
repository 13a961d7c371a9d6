#include "agentd/provider/price_list.h"

#include <algorithm>
#include <cmath>

#include "agentd/provider/model_config.h"
#include "policy/dialect/node.h"
#include "policy/dialect/schema.h"
#include "policy/model/budget.h"

namespace odyssey::provider {
namespace {

using dialect::MapReader;
using dialect::Need;
using dialect::Node;
using dialect::NodeKind;

uint64_t ReadPrice(MapReader* map, std::string_view name, Need need, uint64_t otherwise) {
  const Node* node = map->Any(name, need);
  if (node == nullptr) return otherwise;
  const std::optional<uint64_t> dollars =
      node->kind == NodeKind::kNumber ? policy::ParseDollars(node->text) : std::nullopt;
  if (dollars) return *dollars;
  map->source().Invalid(node->line, map->KeyOf(name),
                        std::string("must be ") + policy::kDollarsRule);
  return otherwise;
}

void ReadModel(const dialect::Key& key, MapReader model, PriceList* out) {
  const size_t slash = std::min(key.name.find('/'), key.name.size());
  const std::string provider = key.name.substr(0, slash);
  const std::string name = slash < key.name.size() ? key.name.substr(slash + 1) : "";
  if (const auto row = FindProvider(provider); !row.ok()) {
    model.source().Invalid(key.line, model.key(), row.status().message());
  } else if (name.empty()) {
    model.source().Invalid(key.line, model.key(),
                           "must be PROVIDER/MODEL, such as openai/gpt-4.1-mini");
  } else if (out->Find(provider, name)) {
    model.source().Invalid(key.line, model.key(), "the model has a price already");
  }
  Price price;
  price.input = ReadPrice(&model, "input", Need::kRequired, 0);
  price.output = ReadPrice(&model, "output", Need::kRequired, 0);
  // Without one of its own a cached token is charged as any other.
  price.cached_input = ReadPrice(&model, "cached_input", Need::kOptional, price.input);
  model.Finish();
  out->Add(provider, name, price);
}

std::string CanonicalName(std::string_view provider) {
  const auto row = FindProvider(provider);
  return std::string(row.ok() ? (*row)->name : provider);
}

}  // namespace

uint64_t CostOf(const Price& price, uint64_t input, uint64_t cached, uint64_t output) {
  constexpr double kMost = 1e18;  // a provider may report any number
  cached = std::min(cached, input);
  const double picodollars =
      static_cast<double>(input - cached) * static_cast<double>(price.input) +
      static_cast<double>(cached) * static_cast<double>(price.cached_input) +
      static_cast<double>(output) * static_cast<double>(price.output);
  return static_cast<uint64_t>(std::min(std::ceil(picodollars / 1e6), kMost));
}

std::optional<Price> PriceList::Find(std::string_view provider, std::string_view model) const {
  const auto it = prices_.find({CanonicalName(provider), std::string(model)});
  if (it == prices_.end()) return std::nullopt;
  return it->second;
}

void PriceList::Add(std::string_view provider, std::string model, const Price& price) {
  prices_[{CanonicalName(provider), std::move(model)}] = price;
}

Result<PriceList> ParsePrices(const std::string& file, std::string_view yaml) {
  PriceList out;
  dialect::Problems problems;
  const std::optional<Node> root =
      dialect::ParseDocument(dialect::Format::kYaml, file, yaml, &problems);
  if (!root) return dialect::ToStatus(problems);
  const dialect::Source source{file, dialect::ProblemKind::kYaml, &problems};
  MapReader map(&source, &*root, "");
  for (auto& [key, model] : map.MapOfMaps("models", kMaxPrices)) ReadModel(key, model, &out);
  map.Finish();
  if (!problems.empty()) return dialect::ToStatus(problems);
  return out;
}

}  // namespace odyssey::provider
