#include "policy/model/keys_page.h"

#include "policy/model/policy_keys.h"

namespace odyssey::policy {
namespace {

constexpr char kBegin[] = R"(# Keys: every limit, in every dialect

Generated from `policy/model/policy_keys.h`; `ODYSSEY_UPDATE_GOLDEN=1` of `policy_model_test` rewrites it.

A request carries each limit under the name of its heading, which is what refusals and plans call it. 0, or a key that is
not there, means the default. What is asked for is refused outside the bounds, and beyond what the
[ceiling](ceiling.md) says: `limits.max` bounds it, `limits.default` is the default in place of the one here. The narrower of
two values gives less: `odyssey-ctl policy diff` and `--within` compare by that. How each limit behaves when it is reached:
[limits and runs](limits-and-runs.md).
)";

std::string Code(std::string_view text) { return "`" + std::string(text) + "`"; }

std::string Number(uint64_t value) { return std::to_string(value); }

std::string FormatText(Format format) {
  switch (format) {
    case Format::kSize:
      return "a size such as `512m`";
    case Format::kCores:
      return "cores such as `1.5`";
    case Format::kDuration:
      return "a duration such as `60s`";
    case Format::kWhole:
      break;
  }
  return "a whole number";
}

// "`sandbox.resources.memory_mb`, 16 to 16777216, each 1048576 of the field; not given: 512".
std::string SpellingText(const std::string& prefix, const Spelling& spelling) {
  std::string text = Code(prefix + std::string(spelling.name)) + ", " + Number(spelling.least) +
                     " to " + Number(spelling.most);
  if (spelling.unit != 1) text += ", each " + Number(spelling.unit) + " of the field";
  if (spelling.unsaid != 0) text += "; not given: " + Number(spelling.unsaid);
  return text;
}

std::string OdekText(const OdekSpelling& odek) {
  if (odek.name == kNone) return std::string(kNone);
  return Code(odek.name) + ", " + std::string(odek.rule);
}

std::string OptionText(const OptionSpelling& option) {
  if (option.name == kNone) return std::string(kNone);
  return Code("--" + std::string(option.name) + " " + std::string(option.value_name)) + ", " +
         FormatText(option.format) +
         (option.carrier == Carrier::kExecStart ? ", of that command alone" : "");
}

std::string DefaultText(const LimitKey& key) {
  return key.fallback == 0 ? std::string(key.zero) : Number(key.fallback);
}

std::string OrderText(Order order) {
  return order == Order::kLessIsNarrower ? "less is narrower" : "more is narrower";
}

void AddLine(const char* what, const std::string& text, std::string* page) {
  *page += "| " + std::string(what) + " | " + text + " |\n";
}

void AddKey(const LimitKey& key, std::string* page) {
  *page +=
      "\n## " + std::string(key.name) + "\n\n" + std::string(key.help) + "\n\n| | |\n|---|---|\n";
  AddLine("field",
          Code("limits." + std::string(key.name)) + ", " + std::string(key.member.type) + ", " +
              std::string(key.member.unit),
          page);
  AddLine("default", DefaultText(key), page);
  AddLine("bounds", Number(key.least) + " to " + Number(key.most), page);
  AddLine("order", OrderText(key.order), page);
  AddLine("manifest", SpellingText("sandbox.resources.", key.manifest), page);
  AddLine("llm-do", std::string(key.foreign.llm_do), page);
  AddLine("odek", OdekText(key.foreign.odek), page);
  AddLine("OpenShell", std::string(key.foreign.openshell), page);
  AddLine("ceiling", SpellingText("limits.max.", key.ceiling), page);
  AddLine("`odyssey-ctl exec`", OptionText(key.option), page);
  AddLine("enforced by", std::string(key.enforcer.mechanism) + ": " + std::string(key.enforcer.how),
          page);
}

}  // namespace

std::string KeysPage() {
  std::string page = kBegin;
  for (const LimitKey& key : kLimitKeys) AddKey(key, &page);
  return page;
}

}  // namespace odyssey::policy
