// The laws of an order and its greatest common parts, on requests made at random from few words, so
// that they overlap, contain and contradict each other often.

#include <gtest/gtest.h>

#include <random>

#include "policy/lattice/lattice.h"
#include "policy/model/policy_keys.h"
#include "policy/plan/plan_check.h"

namespace odyssey::lattice {
namespace {

using policy::SandboxRequest;

constexpr int kTriples = 10'000;

class Source final {
 public:
  explicit Source(uint32_t seed) : random_(seed) {}

  // Another request with one or two things changed, or with none.
  SandboxRequest Vary(const SandboxRequest& from) {
    SandboxRequest request = from;
    for (int i = Number(3); i > 0; --i) {
      const SandboxRequest other = Next();
      switch (Number(10)) {
        case 0:
          request.mode = other.mode;
          break;
        case 1:
          request.network = other.network;
          request.egress = other.egress;
          request.providers = other.providers;
          break;
        case 2:
          request.executables_mode = other.executables_mode;
          break;
        case 3:
          request.executables = other.executables;
          break;
        case 4:
          request.mounts.push_back(Mount(9));
          break;
        case 5:
          if (!request.mounts.empty()) request.mounts.pop_back();
          break;
        case 6:
          request.workspace = other.workspace;
          break;
        case 7:
          request.deny = other.deny;
          request.protect = other.protect;
          break;
        case 8:
          request.protection = other.protection;
          request.ephemeral = other.ephemeral;
          break;
        case 9:
          request.limits = other.limits;
          break;
      }
    }
    return request;
  }

  SandboxRequest Next() {
    SandboxRequest request;
    request.mode =
        Pick<policy::Mode>({policy::Mode::kReadOnly, policy::Mode::kReadOnly,
                            policy::Mode::kWorkspaceWrite, policy::Mode::kWorkspaceWrite,
                            policy::Mode::kWorkspaceWrite, policy::Mode::kDangerFullAccess});
    request.network = Pick<policy::Network>(
        {policy::Network::kNone, policy::Network::kFull, policy::Network::kEgress});
    for (const std::string& host : Some({"a.example", "b.example", "c.example"})) {
      egress::Endpoint endpoint;
      endpoint.host = host;
      endpoint.ports = Number(2) == 0 ? std::vector<uint16_t>{80, 443} : std::vector<uint16_t>{443};
      endpoint.key = "endpoints[" + std::to_string(Number(3)) + "]";
      request.egress.rules.push_back(
          {.key = host, .endpoints = {endpoint}, .binaries = Binaries()});
    }
    for (const egress::BudgetKey& key : egress::kBudgetKeys) {
      request.egress.budget.*key.member = Pick<uint64_t>({0, 0, 5, 9});
    }
    request.providers = Some({"github", "aws"});
    request.executables_mode = Pick<policy::ExecutablesMode>(
        {policy::ExecutablesMode::kExplicit, policy::ExecutablesMode::kStandard,
         policy::ExecutablesMode::kWorkspace, policy::ExecutablesMode::kAll});
    request.executables =
        Some({"git", "/usr/bin/git", "/workspace/run", "/p/a/tool", "/p/.bin/tool", "/q"});
    for (int i = Number(4); i > 0; --i) request.mounts.push_back(Mount(i));
    if (!request.mounts.empty() && Number(3) == 0) {
      policy::Mount part = request.mounts.back();  // read-only in what may be writable
      part.source += "/b";
      part.target += "/b";
      part.access = policy::Access::kReadOnly;
      request.mounts.push_back(part);
    }
    for (const std::string& name : Some({"LANG", "TERM", "X"})) request.env[name] = "v";
    // Nothing, less than any default, and more.
    for (const policy::LimitKey& key : policy::kLimitKeys) {
      if (Number(2) == 0) key.set(&request.limits, Pick<uint64_t>({0, 5, key.fallback + 9}));
    }
    if (Number(2) == 0) request.workspace = Path();
    request.ephemeral = Number(3) == 0;
    if (Number(4) == 0) request.protect = Some({"a", "a/b", "c"});
    request.protection = Number(2) == 0 ? policy::Protection::kNone : policy::Protection::kDefault;
    if (Number(3) == 0) request.deny = Some({"**/.env", "**/b", "**/.g*", "**/a/**", "x/*", "**"});
    request.landlock =
        Number(2) == 0 ? policy::Landlock::kBestEffort : policy::Landlock::kHardRequirement;
    request.user = Pick<uint32_t>({0, 1000, 2000});
    return request;
  }

 private:
  std::vector<egress::Binary> Binaries() {
    std::vector<egress::Binary> out;
    for (const std::string& path : Some({"/usr/bin/git", "/usr/bin/git", "/**"})) {
      egress::Binary binary{.path = path, .sha256 = Pick<std::string>({"", "", "a", "b"})};
      binary.only_itself = !binary.sha256.empty() || Number(3) == 0;
      out.push_back(binary);
    }
    return out;
  }

  // 0 to `below` - 1.
  int Number(int below) { return static_cast<int>(random_() % static_cast<uint32_t>(below)); }

  template <typename T>
  T Pick(const std::vector<T>& values) {
    return values[static_cast<size_t>(Number(static_cast<int>(values.size())))];
  }

  std::vector<std::string> Some(const std::vector<std::string>& all) {
    std::vector<std::string> out;
    for (const std::string& value : all) {
      if (Number(2) == 0) out.push_back(value);
    }
    return out;
  }

  std::string Path() {
    return Pick<std::string>(
        {"/p", "/p", "/p/a", "/p/a/b", "/p/.git", "/p/.git/hooks", "/q", "/q/b"});
  }

  policy::Mount Mount(int number) {
    policy::Mount mount = {.source = Path(), .target = "/m" + std::to_string(number)};
    if (Number(2) == 0) mount.access = policy::Access::kReadWrite;
    mount.executable = mount.access == policy::Access::kReadOnly && Number(2) == 0;
    if (Number(3) == 0) mount.suffixes = Some({".md", "d", ".txt"});
    mount.max_file_bytes = Pick<uint64_t>({0, 0, 10, 20});
    return mount;
  }

  std::mt19937 random_;
};

Rights Of(const SandboxRequest& request) {
  const Result<Rights> rights = RightsOf(request);
  EXPECT_TRUE(rights.ok()) << rights.status().ToString();
  return *rights;
}

SandboxRequest Both(const SandboxRequest& parent, const SandboxRequest& child) {
  const Result<SandboxRequest> request = Narrow(parent, child);
  EXPECT_TRUE(request.ok()) << request.status().ToString();
  return *request;
}

bool Within(const SandboxRequest& child, const SandboxRequest& parent) {
  return IsWithin(child, parent).ok();
}

// Calls `law` with many triples; stops at the first that breaks it.
template <typename Law>
void ForAll(Law law) {
  Source source(20'240'131);
  for (int i = 0; i < kTriples && !::testing::Test::HasFailure(); ++i) {
    SCOPED_TRACE("triple " + std::to_string(i));
    const SandboxRequest a = source.Next();
    // Of two at random hardly one lies within the other: every other time they are alike.
    const SandboxRequest b = i % 2 == 0 ? source.Next() : source.Vary(a);
    const SandboxRequest c = i % 2 == 0 ? source.Next() : source.Vary(b);
    law(a, b, c);
  }
}

TEST(NarrowLawTest, IsCommutativeInRights) {
  ForAll(
      [](const auto& a, const auto& b, const auto&) { EXPECT_EQ(Of(Both(a, b)), Of(Both(b, a))); });
}

TEST(NarrowLawTest, IsAssociativeInRights) {
  ForAll([](const auto& a, const auto& b, const auto& c) {
    EXPECT_EQ(Of(Both(Both(a, b), c)), Of(Both(a, Both(b, c))));
  });
}

TEST(NarrowLawTest, IsIdempotentInRights) {
  ForAll([](const auto& a, const auto&, const auto&) { EXPECT_EQ(Of(Both(a, a)), Of(a)); });
}

TEST(NarrowLawTest, LiesWithinBoth) {
  ForAll([](const auto& a, const auto& b, const auto&) {
    const SandboxRequest both = Both(a, b);
    EXPECT_EQ(IsWithin(both, a), OkStatus());
    EXPECT_EQ(IsWithin(both, b), OkStatus());
  });
}

TEST(NarrowLawTest, IsTheGreatestThatLiesWithinBoth) {
  int common = 0;
  ForAll([&](const auto& a, const auto& b, const auto& c) {
    EXPECT_EQ(IsWithin(Both(Both(a, b), c), Both(a, b)), OkStatus());
    if (!Within(c, a) || !Within(c, b)) return;
    ++common;
    EXPECT_EQ(IsWithin(c, Both(a, b)), OkStatus());
  });
  EXPECT_GT(common, 0) << "the law was never put to the test";
}

TEST(NarrowLawTest, OfWhatLiesWithinIsItself) {
  int within = 0;
  ForAll([&](const auto& a, const auto& b, const auto&) {
    const SandboxRequest lower = Both(a, b);
    EXPECT_EQ(Of(Both(a, lower)), Of(lower));
    EXPECT_EQ(Of(Both(lower, a)), Of(lower));
    if (!Within(a, b)) return;
    ++within;
    EXPECT_EQ(Of(Both(b, a)), Of(a));
  });
  EXPECT_GT(within, 0) << "the law was never put to the test";
}

TEST(NarrowLawTest, HasTheRightsThatTheMeetOfTheRightsHas) {
  ForAll([](const auto& a, const auto& b, const auto&) {
    EXPECT_EQ(Of(Both(a, b)), Meet(Of(a), Of(b)));
  });
}

TEST(NarrowLawTest, NoTargetLiesInAnotherButWhatIsHeld) {
  ForAll([](const auto& a, const auto& b, const auto&) {
    const SandboxRequest both = Both(a, b);
    if (both.mode == policy::Mode::kDangerFullAccess) return;
    for (size_t i = 0; i < both.mounts.size(); ++i) {
      for (size_t j = 0; j < both.mounts.size(); ++j) {
        const policy::Mount &inner = both.mounts[i], &outer = both.mounts[j];
        if (i == j || !plan::IsWithin(inner.target, outer.target)) continue;
        const bool held = inner.access == policy::Access::kReadOnly &&
                          outer.access != policy::Access::kReadOnly &&
                          inner.source == outer.source + inner.target.substr(outer.target.size());
        EXPECT_TRUE(held) << inner.target << " in " << outer.target;
      }
    }
  });
}

TEST(IsWithinLawTest, IsReflexive) {
  ForAll([](const auto& a, const auto&, const auto&) { EXPECT_EQ(IsWithin(a, a), OkStatus()); });
}

TEST(IsWithinLawTest, IsTransitive) {
  int chains = 0;
  ForAll([&](const auto& a, const auto& b, const auto& c) {
    const SandboxRequest middle = Both(a, b);
    const SandboxRequest lower = Both(middle, c);
    EXPECT_EQ(IsWithin(lower, a), OkStatus());
    if (Within(a, b) && Within(b, c)) {
      ++chains;
      EXPECT_EQ(IsWithin(a, c), OkStatus());
    }
  });
  EXPECT_GT(chains, 0) << "the law was never put to the test";
}

TEST(IsWithinLawTest, IsAntisymmetricInRights) {
  int equal = 0;
  ForAll([&](const auto& a, const auto& b, const auto&) {
    const SandboxRequest once = Both(a, b), again = Both(b, a);
    if (Within(once, again) && Within(again, once)) {
      ++equal;
      EXPECT_EQ(Of(once), Of(again));
    }
    if (!Within(a, b) || !Within(b, a)) return;
    EXPECT_EQ(Of(a), Of(b));
  });
  EXPECT_GT(equal, 0) << "the law was never put to the test";
}

TEST(IsWithinLawTest, AgreesWithTheMeet) {
  ForAll([](const auto& a, const auto& b, const auto&) {
    EXPECT_EQ(Within(a, b), Of(Both(b, a)) == Of(a));
  });
}

}  // namespace
}  // namespace odyssey::lattice
