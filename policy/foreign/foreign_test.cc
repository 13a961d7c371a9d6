#include "policy/foreign/foreign.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "policy/compile/protection.h"

namespace odyssey::foreign {
namespace {

using testing::Contains;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

policy::SandboxRequest Project() {
  policy::SandboxRequest request;
  request.workspace = "/home/ada/it's";
  request.mounts = {{.source = "/srv/data", .target = "/data"}};
  request.env = {{"GREETING", "a b"}, {"KEY", "sk-secret"}};
  request.protection = policy::Protection::kNone;
  request.protect = {"Makefile"};
  return request;
}

Written WriteOf(const policy::SandboxRequest& request, System system) {
  const Result<Written> written = Write(request, {{"KEY", "ADAS_KEY"}}, system);
  EXPECT_TRUE(written.ok()) << written.status().message();
  return written.ok() ? *written : Written{};
}

std::vector<std::string> ItemsOf(const Written& written, Effect effect) {
  std::vector<std::string> out;
  for (const Gap& gap : written.gaps) {
    if (gap.effect == effect) out.push_back(gap.item);
  }
  return out;
}

// Lines without those of the system's own paths.
std::string Own(const std::string& text) {
  std::string out;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = text.find('\n', begin) + 1;
    const std::string line = text.substr(begin, end - begin);
    if (line.find("--ro-bind-try /") == std::string::npos) out += line;
    begin = end;
  }
  return out;
}

TEST(ForeignTest, Bwrap) {
  EXPECT_EQ(Own(WriteOf(Project(), System::kBwrap).text), R"(#!/bin/sh
# usage: sh FILE COMMAND [ARGUMENT]...
exec prlimit --nofile=1024 bwrap \
  --unshare-all \
  --die-with-parent \
  --new-session \
  --cap-drop ALL \
  --uid 1000 \
  --gid 1000 \
  --hostname cell \
  --proc /proc \
  --dev /dev \
  --size 536870912 \
  --tmpfs /tmp \
  --size 536870912 \
  --tmpfs /home \
  --bind '/home/ada/it'\''s' /workspace \
  --ro-bind-try '/home/ada/it'\''s/Makefile' /workspace/Makefile \
  --ro-bind /srv/data /data \
  --chdir /workspace \
  --clearenv \
  --setenv PATH /usr/local/bin:/usr/bin:/bin \
  --setenv HOME /home \
  --setenv GREETING 'a b' \
  --setenv KEY "$ADAS_KEY" \
  -- "$@"
)");
}

TEST(ForeignTest, DockerRunInTheOrderOfOdek) {
  policy::SandboxRequest request = Project();
  request.workspace = "/home/ada/project";
  request.limits.cpu_millis = 1500;
  EXPECT_EQ(WriteOf(request, System::kDockerRun).text, R"(#!/bin/sh
# usage: IMAGE=… sh FILE; then docker exec -w /workspace "$NAME" COMMAND
exec docker run --rm --detach --name "${NAME:-odyssey-cell}" \
  --cap-drop ALL --security-opt no-new-privileges \
  --network none \
  -v /home/ada/project:/workspace \
  --tmpfs /tmp:noexec,size=536870912 \
  --memory 2147483648 \
  --cpus 1.5 \
  --user 1000 \
  --pids-limit 512 --read-only \
  --ulimit nofile=1024 \
  -e 'GREETING=a b' \
  -e KEY="$ADAS_KEY" \
  -v /srv/data:/data:ro \
  "${IMAGE:?the image to run}" sleep infinity
)");
}

TEST(ForeignTest, AnImageIsDockersOwnAndElsewhereALine) {
  const policy::SandboxRequest request = {.image = {.reference = "node:20", .user = "node"}};
  const Written docker = *Write(request, {}, System::kDockerRun);
  EXPECT_NE(docker.text.find("  --user node \\\n"), std::string::npos) << docker.text;
  EXPECT_NE(docker.text.find("\n  node:20 sleep infinity\n"), std::string::npos) << docker.text;
  const auto says = [](const Written& written) {
    return std::any_of(written.gaps.begin(), written.gaps.end(),
                       [](const Gap& gap) { return gap.item == "image node:20"; });
  };
  EXPECT_FALSE(says(docker));
  EXPECT_TRUE(says(*Write(request, {}, System::kBwrap)));
  EXPECT_TRUE(says(*Write(request, {}, System::kCodex)));
}

TEST(ForeignTest, AVolumeOfDockerHasNoColon) {
  policy::SandboxRequest request = Project();
  request.mounts[0].source = "/srv/a:rw";
  const Result<Written> written = Write(request, {}, System::kDockerRun);
  ASSERT_FALSE(written.ok());
  EXPECT_EQ(written.status().message(),
            "mount /srv/a:rw: a volume of docker run cannot have a colon");
}

TEST(ForeignTest, Seatbelt) {
  policy::SandboxRequest request = Project();
  request.workspace = "/srv/ada/a\"b";
  const std::string text = WriteOf(request, System::kSeatbelt).text;
  EXPECT_THAT(text, StartsWith("(version 1)\n(deny default)\n"));
  EXPECT_THAT(text, HasSubstr(R"(
; The policy's directories.
(allow file-read* (subpath "/srv/ada/a\"b"))
(allow file-write* (subpath "/srv/ada/a\"b"))
(allow file-read* (subpath "/srv/data"))

; What programs of the host obey later.
(deny file-write*
  (subpath "/srv/ada/a\"b/Makefile"))
)"));
  EXPECT_THAT(text, Not(HasSubstr("network")));
  EXPECT_EQ(std::count(text.begin(), text.end(), '('), std::count(text.begin(), text.end(), ')'));

  request.workspace = "/srv/ada/p.q";
  request.deny = {"**/.env", "secrets/**", "*.pem"};
  request.network = policy::Network::kFull;
  EXPECT_THAT(WriteOf(request, System::kSeatbelt).text, EndsWith(R"(
(deny file-read* file-write* (regex #"^/srv/ada/p\.q/(.*/)?\.env(/.*)?$"))
(deny file-read* file-write* (regex #"^/srv/ada/p\.q/secrets/.+(/.*)?$"))
(deny file-read* file-write* (regex #"^/srv/ada/p\.q/[^/]*\.pem(/.*)?$"))
(deny file-read* file-write* (regex #"^/srv/data/(.*/)?\.env(/.*)?$"))
(deny file-read* file-write* (regex #"^/srv/data/secrets/.+(/.*)?$"))
(deny file-read* file-write* (regex #"^/srv/data/[^/]*\.pem(/.*)?$"))

(allow network*)
)"));
}

TEST(ForeignTest, ARegexOfSeatbeltEndsAtAQuote) {
  policy::SandboxRequest request = Project();
  request.deny = {"a\"b"};
  EXPECT_FALSE(Write(request, {}, System::kSeatbelt).ok());
}

TEST(ForeignTest, OpenShellEnforces) {
  policy::SandboxRequest request = Project();
  request.network = policy::Network::kEgress;
  request.user = 1234;
  egress::Rule rule = egress::RuleFor("api", "api.example.com", 443);
  rule.endpoints[0].protocol = egress::Protocol::kRest;
  rule.endpoints[0].access = egress::AccessLevel::kReadOnly;
  rule.endpoints[0].budget.bytes_up = 7;
  rule.binaries = {{.path = "/usr/bin/curl", .only_itself = true}};
  request.egress.rules = {rule};
  const Written written = WriteOf(request, System::kOpenShell);
  EXPECT_EQ(written.text, R"(version: 1
filesystem_policy:
  include_workdir: false
  read_only: [/usr, /lib, /etc, /proc, /dev/urandom, /srv/data]
  read_write: [/tmp, /dev/null, "/home/ada/it's"]
landlock:
  compatibility: hard_requirement
process:
  run_as_user: 1234
  run_as_group: 1234
network_policies:
  "api":
    endpoints:
    - host: api.example.com
      port: 443
      protocol: rest
      enforcement: enforce
      access: read-only
    binaries:
    - path: /usr/bin/curl
)");
  EXPECT_THAT(ItemsOf(written, Effect::kWeaker), Contains(EndsWith(".budget.bytes_up 7")));
  EXPECT_THAT(ItemsOf(written, Effect::kWeaker), Contains("api for /usr/bin/curl itself"));
}

TEST(ForeignTest, Codex) {
  const Written written = WriteOf(Project(), System::kCodex);
  EXPECT_EQ(written.text, R"(sandbox_mode = "workspace-write"

[sandbox_workspace_write]
writable_roots = ["/home/ada/it's"]
network_access = false
exclude_tmpdir_env_var = true
exclude_slash_tmp = true

[shell_environment_policy]
inherit = "core"
set = { "GREETING" = "a b" }
)");
  EXPECT_THAT(ItemsOf(written, Effect::kWeaker), Contains("only what is mounted can be read"));
  EXPECT_THAT(ItemsOf(written, Effect::kStricter), Contains("env KEY"));

  policy::SandboxRequest request = Project();
  request.mode = policy::Mode::kReadOnly;
  request.network = policy::Network::kFull;
  const Written read_only = WriteOf(request, System::kCodex);
  EXPECT_THAT(read_only.text, StartsWith("sandbox_mode = \"read-only\"\n"));
  EXPECT_THAT(ItemsOf(read_only, Effect::kStricter), Contains("the host's network"));
}

// What no system may be given by an export.

TEST(ForeignTest, NoValueOfASecretIsWritten) {
  for (const SystemName& each : kSystems) {
    EXPECT_THAT(WithGaps(WriteOf(Project(), each.system)), Not(HasSubstr("sk-secret")))
        << each.name;
  }
}

TEST(ForeignTest, ReviewedDirectoriesAreReadOnly) {
  policy::SandboxRequest request = Project();
  policy::ReviewAllWrites(&request);
  request.mounts.push_back(
      {.source = "/srv/out", .target = "/out", .access = policy::Access::kReview});
  EXPECT_THAT(WriteOf(request, System::kBwrap).text, Not(HasSubstr("--bind ")));
  EXPECT_THAT(WriteOf(request, System::kDockerRun).text, HasSubstr("-v /srv/out:/out:ro"));
  EXPECT_THAT(WriteOf(request, System::kSeatbelt).text, Not(HasSubstr("(allow file-write*")));
  EXPECT_THAT(WriteOf(request, System::kOpenShell).text,
              HasSubstr("read_write: [/tmp, /dev/null]\n"));
  EXPECT_THAT(WriteOf(request, System::kCodex).text, StartsWith("sandbox_mode = \"read-only\"\n"));
  for (const SystemName& each : kSystems) {
    EXPECT_THAT(ItemsOf(WriteOf(request, each.system), Effect::kStricter),
                Contains("review of writes in /out"))
        << each.name;
  }
}

TEST(ForeignTest, EndpointsAreNoNetworkWhereTheyCannotBeSaid) {
  policy::SandboxRequest request = Project();
  request.network = policy::Network::kEgress;
  request.egress = egress::PublicPolicy("permissions.network");
  EXPECT_THAT(WriteOf(request, System::kBwrap).text, Not(HasSubstr("--share-net")));
  EXPECT_THAT(WriteOf(request, System::kDockerRun).text, HasSubstr("--network none"));
  EXPECT_THAT(WriteOf(request, System::kSeatbelt).text, Not(HasSubstr("network*")));
  EXPECT_THAT(WriteOf(request, System::kCodex).text, HasSubstr("network_access = false"));
  for (const SystemName& each : kSystems) {
    EXPECT_FALSE(ItemsOf(WriteOf(request, each.system), Effect::kStricter).empty()) << each.name;
  }
}

TEST(ForeignTest, DangerIsNotExported) {
  policy::SandboxRequest request = Project();
  request.mode = policy::Mode::kDangerFullAccess;
  for (const SystemName& each : kSystems) {
    EXPECT_EQ(Write(request, {}, each.system).status().code(), Code::kInvalidArgument) << each.name;
  }
}

TEST(ForeignTest, ProtectedNamesAreWhereTheyCanBeSaid) {
  policy::SandboxRequest request = Project();
  request.protection = policy::Protection::kDefault;
  const std::string bwrap = WriteOf(request, System::kBwrap).text;
  const std::string seatbelt = WriteOf(request, System::kSeatbelt).text;
  for (const compile::ProtectedName& name : compile::ProjectNames()) {
    EXPECT_THAT(bwrap, HasSubstr(" /workspace/" + std::string(name.path) + " \\\n"));
    EXPECT_THAT(seatbelt, HasSubstr("/" + std::string(name.path) + "\")"));
  }
  EXPECT_THAT(ItemsOf(WriteOf(request, System::kCodex), Effect::kWeaker),
              Contains("protection default"));
}

TEST(ForeignTest, AGapIsALineOfComment) {
  policy::SandboxRequest request = Project();
  request.deny = {"a\nexec rm"};
  const std::string text = WithGaps(WriteOf(request, System::kBwrap));
  EXPECT_THAT(text, StartsWith("#!/bin/sh\n# weaker: "));
  EXPECT_THAT(text, HasSubstr("\n# weaker: deny a?exec rm: bwrap hides no names\n"));
}

}  // namespace
}  // namespace odyssey::foreign
