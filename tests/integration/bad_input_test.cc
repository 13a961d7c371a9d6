// Cells: keys, enums, mounts, limits, variables, directories.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/integration/bad_input_fixture.h"

namespace odyssey::testing {
namespace {

namespace pv1 = ::odyssey::policy::v1;

using Bad = BadField<v1::PrepareCellRequest>;

TEST_F(BadInputTest, KeysOfCells) {
  using Key = v1::CellKey;
  const auto plain = [](const std::string& field, const std::string& value) {
    return [=](v1::PrepareCellRequest* r) {
      Key* key = r->mutable_key();
      if (field == "session_id") key->set_session_id(value);
      if (field == "agent_id") key->set_agent_id(value);
      if (field == "kind") key->set_kind(value);
      if (field == "component") key->set_component(value);
    };
  };
  std::vector<Bad> fields = {
      {"no key", [](v1::PrepareCellRequest* r) { r->clear_key(); }, kInvalid, "key.agent_id"}};
  for (const std::string field : {"session_id", "agent_id", "kind", "component"}) {
    const std::string words = "key." + field;
    if (field != "session_id") fields.push_back({field, plain(field, ""), kInvalid, words});
    fields.push_back({field + " slash", plain(field, "../../etc"), kInvalid, words});
    fields.push_back({field + " space", plain(field, "a b"), kInvalid, words});
    fields.push_back({field + " NUL", plain(field, std::string("a\0b", 3)), kInvalid, words});
    fields.push_back({field + " newline", plain(field, "a\n"), kInvalid, words});
    fields.push_back({field + " not ASCII", plain(field, "é"), kInvalid, words});
    fields.push_back({field + " long", plain(field, std::string(129, 'a')), kInvalid, words});
  }
  ExpectAllRefused(fields);
}

TEST_F(BadInputTest, EnumsOfSandboxes) {
  const auto spoil = [](auto change) {
    return [=](v1::PrepareCellRequest* r) { change(r->mutable_sandbox()); };
  };
  std::vector<Bad> fields = {{"no sandbox", [](v1::PrepareCellRequest* r) { r->clear_sandbox(); },
                              kInvalid, "sandbox.mode 0: give MODE_READ_ONLY"}};
  for (const int value : {0, 4, 99, -1}) {
    const std::string text = std::to_string(value);
    fields.push_back({"mode " + text,
                      spoil([=](auto* s) { s->set_mode(static_cast<pv1::Mode>(value)); }), kInvalid,
                      "sandbox.mode " + text});
    fields.push_back({"network " + text,
                      spoil([=](auto* s) { s->set_network(static_cast<pv1::Network>(value)); }),
                      kInvalid, "sandbox.network " + text});
  }
  for (const int value : {0, 5}) {
    fields.push_back({"executables_mode", spoil([=](auto* s) {
                        s->set_executables_mode(static_cast<pv1::ExecutablesMode>(value));
                      }),
                      kInvalid, "sandbox.executables_mode " + std::to_string(value)});
  }
  fields.push_back({"a program that is not there",
                    spoil([](auto* s) { s->add_executables("no-such"); }), Code::kNotFound,
                    "missing system tool: no-such"});
  for (const int value : {0, 4}) {
    fields.push_back({"access", WithMount(Host("real"), "/data", static_cast<pv1::Access>(value)),
                      kInvalid, "sandbox.mounts.access " + std::to_string(value)});
  }
  ExpectAllRefused(fields);
}

TEST_F(BadInputTest, SourcesOfMounts) {
  std::vector<Bad> fields;
  for (const std::string source :
       {"", ".", "real", "/a/../etc", "/a//b", "/a/./b", "/a/", "/a\nb"}) {
    fields.push_back({"shape " + source, WithMount(source, "/data"), kInvalid, "mounts[0].source"});
  }
  for (const std::string source : {"/", "/proc", "/proc/self", "/sys", "/dev", "/dev/null", "/run",
                                   "/etc", "/etc/passwd", "/root", "/home", "/var", "/usr"}) {
    fields.push_back({"forbidden " + source, WithMount(source, "/data"), kDenied,
                      "mounts[0].source: " + source});
  }
  for (const std::string source : {"/usr/local", "/usr/bin", "/var/spool/cron"}) {
    fields.push_back({"to write " + source, WithMount(source, "/data", pv1::ACCESS_READ_WRITE),
                      kDenied, "may be shown read-only only"});
  }
  const std::string own = supervisor_.directory();
  for (const std::string& source :
       {own, own + "/state", own + "/state/cells", own + "/run", own + "/run/supervisor.sock"}) {
    fields.push_back(
        {"own " + source, WithMount(source, "/data"), kDenied, "Odyssey's own directories"});
  }
  ExpectAllRefused(fields);
}

// Of 3,000 bytes, none of whose names is too long.
std::string LongPath() {
  std::string path = "/srv";
  for (int i = 0; i < 15; ++i) path += "/" + std::string(199, 'a');
  return path;
}

// What only root can see: whether the source is there, and what it is.
TEST_F(BadInputTest, SourcesOfMountsOnTheHost) {
  ExpectAllRefused({
      {"missing", WithMount(Host("missing"), "/data"), Code::kNotFound,
       "mounts[0].source: open " + Host("missing")},
      {"a symbolic link", WithMount(Host("link"), "/data"), kInvalid,
       "mounts[0].source: " + Host("link") + " is or passes through a symbolic link"},
      {"a long path", WithMount(LongPath(), "/data"), Code::kNotFound,
       ": No such file or directory"},
      {"below a symbolic link", WithMount(Host("link/below"), "/data"), kInvalid,
       "passes through a symbolic link"},
      {"below a file", WithMount("/usr/bin/true/x", "/data"), kInvalid,
       "mounts[0].source: open /usr/bin/true/x"},
      {"a pipe", WithMount(Host("fifo"), "/data"), kInvalid,
       "mounts[0].source: mount " + Host("fifo") + ": neither directory nor regular file"},
      {"a device", WithMount(Host("device"), "/data"), kInvalid,
       "neither directory nor regular file"},
      {"a missing workspace", [&](auto* r) { r->set_workspace(Host("missing")); }, Code::kNotFound,
       "workspace: open " + Host("missing")},
      {"a linked workspace", [&](auto* r) { r->set_workspace(Host("link")); }, kInvalid,
       "workspace: " + Host("link")},
      {"a file as workspace", [&](auto* r) { r->set_workspace(Host("file")); },
       Code::kFailedPrecondition, "workspace: " + Host("file") + ": /workspace is no directory"},
  });
}

TEST_F(BadInputTest, TargetsOfMounts) {
  std::vector<Bad> fields;
  for (const std::string target : {"", "data", "/", "/data/../proc", "/data/", "//data"}) {
    fields.push_back(
        {"shape " + target, WithMount(Host("real"), target), kInvalid, "mounts[0].target"});
  }
  for (const std::string target :
       {"/proc", "/proc/sys", "/dev", "/dev/shm", "/usr", "/usr/bin", "/etc", "/etc/ld.so.preload",
        "/bin", "/lib64", "/sys", "/tmp", "/run", "/.odyssey", "/.odyssey/cell-init", "/cell",
        "/workspace", "/workspace/src", "/workspace/mount"}) {
    fields.push_back({"taken " + target, WithMount(Host("real"), target), kInvalid,
                      "mounts[0].target: " + target});
  }
  fields.push_back({"twice",
                    [&](auto* r) {
                      WithMount(Host("real"), "/data")(r);
                      WithMount(Host("real/below"), "/data")(r);
                    },
                    kInvalid, "mounts[1].target: /data"});
  fields.push_back({"one inside the other",
                    [&](auto* r) {
                      WithMount(Host("real"), "/data")(r);
                      WithMount(Host("real"), "/data/below")(r);
                    },
                    kInvalid, "mounts[1].target: /data/below: lies inside /data"});
  fields.push_back({"a long component", WithMount(Host("real"), "/data/" + std::string(256, 'a')),
                    kInvalid, "mounts[0].target: /data/aaa"});
  fields.push_back({"too many",
                    [&](auto* r) {
                      for (int i = 0; i < 600; ++i) {
                        WithMount(Host("real"), "/data/" + std::to_string(i))(r);
                      }
                    },
                    kInvalid, "mounts"});
  ExpectAllRefused(fields);
}

TEST_F(BadInputTest, Limits) {
  const auto limit = [](auto change) {
    return [=](v1::PrepareCellRequest* r) { change(r->mutable_sandbox()->mutable_limits()); };
  };
  constexpr uint32_t kHuge32 = ~uint32_t{0};
  ExpectAllRefused({
      {"memory", limit([](auto* l) { l->set_memory_bytes(1); }), kInvalid, "memory_bytes"},
      {"memory", limit([](auto* l) { l->set_memory_bytes(1 << 20); }), kInvalid, "memory_bytes"},
      {"cpu", limit([](auto* l) { l->set_cpu_millis(1); }), kInvalid, "cpu_millis"},
      {"cpu", limit([](auto* l) { l->set_cpu_millis(kHuge32); }), kInvalid, "cpu_millis"},
      {"pids", limit([](auto* l) { l->set_pids(1); }), kInvalid, "pids"},
      {"pids", limit([](auto* l) { l->set_pids(40'000); }), kInvalid,
       "limits.pids: 40000: 8 to 32768 is allowed"},
      {"pids", limit([](auto* l) { l->set_pids(kHuge32); }), kInvalid, "limits.pids"},
      {"files", limit([](auto* l) { l->set_open_files(3); }), kInvalid, "open_files"},
      {"files", limit([](auto* l) { l->set_open_files(kHuge32); }), kInvalid, "open_files"},
      {"tmp", limit([](auto* l) { l->set_tmp_bytes(1); }), kInvalid, "tmp_bytes"},
  });
}

TEST_F(BadInputTest, EnvironmentWorkspaceAndDigestOfCells) {
  const auto env = [](const std::string& name, const std::string& value) {
    return [=](v1::PrepareCellRequest* r) { (*r->mutable_sandbox()->mutable_env())[name] = value; };
  };
  std::vector<Bad> fields = {
      {"no name", env("", "x"), kInvalid, "env: name"},
      {"name with =", env("A=B", "x"), kInvalid, "env: name"},
      {"name with a digit first", env("1A", "x"), kInvalid, "env: name"},
      {"name with NUL", env(std::string("A\0B", 3), "x"), kInvalid, "env: name"},
      {"value with NUL", env("A", std::string("\0", 1)), kInvalid, "env: A: a NUL"},
      {"the cell's own", env("ODYSSEY_SANDBOX", "0"), kInvalid, "env: ODYSSEY_SANDBOX: "},
      {"large", env("A", std::string(100'000, 'x')), kInvalid, "env"},
      {"digest", [](auto* r) { r->set_bundle_digest(std::string(1000, 'a')); }, kInvalid,
       "bundle_digest"},
      {"sources", [](auto* r) { r->set_sources_digest(std::string(1000, 'a')); }, kInvalid,
       "sources_digest"},
  };
  for (const std::string path : {".", "relative", "/a/../b", "/a/"}) {
    fields.push_back(
        {"workspace " + path, [=](auto* r) { r->set_workspace(path); }, kInvalid, "workspace"});
  }
  for (const std::string path : {"/", "/proc", "/etc", "/root", "/usr/local"}) {
    fields.push_back({"workspace " + path, [=](auto* r) { r->set_workspace(path); }, kDenied,
                      "workspace: " + path});
  }
  ExpectAllRefused(fields);
}

TEST_F(BadInputTest, CellsThatAreNotThere) {
  for (const std::string& id : {std::string(), std::string("cel_0123456789abcdef"),
                                std::string("../x"), std::string(100'000, 'a')}) {
    EXPECT_EQ(supervisor_.Remove(id).code(), Code::kNotFound);
    grpc::ClientContext context;
    v1::DescribeCellRequest request;
    request.set_cell_id(id);
    v1::DescribeCellResponse response;
    const grpc::Status status = supervisor_.stub()->DescribeCell(&context, request, &response);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
    EXPECT_NE(status.error_message().find("cell_id"), std::string::npos);
  }
}

}  // namespace
}  // namespace odyssey::testing
