#include "ctl/policy/option_words.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "ctl/policy/exec_options.h"
#include "policy/model/policy_keys.h"

namespace odyssey::ctl {
namespace {

using policy::ExecutablesMode;
using supervisor::v1::Denial;
using supervisor::v1::GrantKey;

Denial Refused(GrantKey key, const std::string& value, const std::string& resource = "",
               const std::string& grant = "sandbox.key: \"value\"") {
  Denial denial;
  denial.set_grant_key(key);
  denial.set_grant_value(value);
  denial.set_resource(resource);
  denial.set_grant(grant);
  return denial;
}

std::string Words(const Denial& denial, ExecutablesMode mode = ExecutablesMode::kWorkspace) {
  return GrantAsOption(denial, mode);
}

TEST(OptionWordsTest, NamesTheOptionOfEachKey) {
  EXPECT_EQ(Words(Refused(supervisor::v1::GRANT_KEY_MOUNT_READ, "/srv/x")), "--read /srv/x");
  EXPECT_EQ(Words(Refused(supervisor::v1::GRANT_KEY_MOUNT_WRITE, "/srv/a b's")),
            "--write '/srv/a b'\\''s'");
  EXPECT_EQ(Words(Refused(supervisor::v1::GRANT_KEY_WORKSPACE_WRITE, "")),
            "--mode workspace_write");
  EXPECT_EQ(Words(Refused(supervisor::v1::GRANT_KEY_NETWORK_FULL, "")), "--network full");
}

TEST(OptionWordsTest, NamesTheModeInWhichAProgramRuns) {
  const Denial named = Refused(supervisor::v1::GRANT_KEY_EXECUTABLE, "git", "git");
  EXPECT_EQ(Words(named, ExecutablesMode::kExplicit), "--tool git");
  EXPECT_EQ(Words(named, ExecutablesMode::kStandard), "--tools all");
  const Denial built = Refused(supervisor::v1::GRANT_KEY_EXECUTABLES_ALL, "", "/workspace/a.out");
  EXPECT_EQ(Words(built, ExecutablesMode::kStandard), "--tools workspace");
  EXPECT_EQ(Words(built, ExecutablesMode::kExplicit), "--tools all");
}

// Whatever key there is: no denial of `exec` is answered in a key that the person did not type,
// but with the file that carries it.
TEST(OptionWordsTest, EveryKeyHasWords) {
  const auto* const keys = supervisor::v1::GrantKey_descriptor();
  for (int i = 0; i < keys->value_count(); ++i) {
    const auto key = static_cast<GrantKey>(keys->value(i)->number());
    const std::string words = Words(Refused(key, "7", "cpu_seconds"));
    const bool option = words.rfind("--", 0) == 0;
    EXPECT_TRUE(option || words.ends_with("(--policy FILE)")) << keys->value(i)->name() << words;
  }
  EXPECT_EQ(Words(Refused(supervisor::v1::GRANT_KEY_UNSPECIFIED, "", "", "")), "");
  EXPECT_EQ(Words(Refused(supervisor::v1::GRANT_KEY_UNSPECIFIED, "", "", "sandbox.x: 1")),
            "sandbox.x: 1 in a policy file (--policy FILE)");
}

// Of every limit: what is said can be typed, and means the value that was said.
TEST(OptionWordsTest, LimitsAreWhatTheOptionReads) {
  std::set<std::string> options;
  for (const OptionSpec& spec : ExecOptionSpecs()) options.insert("--" + std::string(spec.name));
  for (const policy::LimitKey& key : policy::kLimitKeys) {
    const uint64_t value = key.most >= 3000 ? 3000 / key.manifest.unit * key.manifest.unit : 7;
    const uint64_t limit = value == 0 ? 3 * key.manifest.unit : value;
    const std::string name(key.name);
    const std::string words =
        Words(Refused(supervisor::v1::GRANT_KEY_LIMIT, std::to_string(limit), name));
    if (key.option.name == policy::kNone) {
      EXPECT_EQ(words, "sandbox.key: \"value\" in a policy file (--policy FILE)") << name;
      continue;
    }
    const size_t space = words.find(' ');
    const std::string option = words.substr(0, space);
    EXPECT_EQ(options.count(option), 1u) << words;
    const auto parsed = ParseOptions(ExecOptionSpecs(), {}, {option, words.substr(space + 1)});
    ASSERT_TRUE(parsed.ok()) << words << ": " << parsed.status().message();
    uint64_t read = 0;
    switch (key.option.format) {
      case policy::Format::kSize:
        read = parsed->Size(key.option.name);
        break;
      case policy::Format::kCores:
        read = parsed->CpuMillis(key.option.name);
        break;
      case policy::Format::kDuration:
        read = parsed->DurationMs(key.option.name);
        break;
      case policy::Format::kWhole:
        read = parsed->Number(key.option.name);
        break;
    }
    EXPECT_EQ(read, limit) << words;
  }
  EXPECT_EQ(LimitAsOption("memory_bytes", uint64_t{1} << 30), "--memory 1g");
  EXPECT_EQ(LimitAsOption("cpu_millis", 1500), "--cpus 1.5");
  EXPECT_EQ(LimitAsOption("wall_clock_ms", 2000), "--timeout 2s");
}

}  // namespace
}  // namespace odyssey::ctl
