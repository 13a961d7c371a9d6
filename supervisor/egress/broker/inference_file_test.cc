#include "supervisor/egress/broker/inference_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <fstream>

#include "supervisor/egress/broker/inference_routes.h"

namespace odyssey::egress {
namespace {

using testing::HasSubstr;

constexpr char kFile[] = R"(
version: odyssey.inference/v1
routes:
  - name: main
    protocol: openai
    base_url: https://api.example.com/openai/
    model: large-1
    models: ["large-*", tiny]
    key_credential: main-key
    price: {input: 0.15, output: 0.60}
    idle_seconds: 30
  - {name: local, protocol: anthropic, base_url: "http://127.0.0.1:8080"}
grants:
  - users: [alice]
    routes: [local, main]
    budget: {tokens: 1000, cost_usd: 2.5, requests_per_minute: 60}
  - users: ["*"]
    routes: [main]
)";

std::string WrongRoute(const std::string& rest) {
  const std::string head = "version: odyssey.inference/v1\nroutes:\n  - ";
  return ParseInferenceFile("f.yaml", head + rest).status().message();
}

TEST(InferenceFileTest, HasRoutesAndGrants) {
  const Result<InferenceFile> file = ParseInferenceFile("f.yaml", kFile);
  ASSERT_TRUE(file.ok()) << file.status().ToString();
  const egress_wire::Route expected{.name = "main",
                                    .host = "api.example.com",
                                    .base_path = "/openai",
                                    .model = "large-1",
                                    .models = {"large-*", "tiny"},
                                    .key_field = "authorization",
                                    .price = {150'000, 600'000},
                                    .idle_seconds = 30};
  EXPECT_EQ(file->routes[0].route, expected);
  EXPECT_EQ(file->routes[0].key_credential, "main-key");
  const egress_wire::Route& local = file->routes[1].route;
  EXPECT_EQ(local.host, "127.0.0.1");
  EXPECT_EQ(local.port, 8080);
  EXPECT_FALSE(local.tls);
  EXPECT_EQ(local.key_field, "x-api-key");
  const RouteGrant* const grant = GrantOf(*file, {.uid = 1000, .name = "alice"});
  ASSERT_NE(grant, nullptr);
  EXPECT_EQ(grant->routes, (std::vector<size_t>{1, 0}));
  EXPECT_EQ(grant->budget, (egress_wire::RouteBudget{1000, 2'500'000, 60}));
  EXPECT_EQ(GrantOf(*file, {.uid = 1001, .name = "bob"})->routes, std::vector<size_t>{0});
}

TEST(InferenceFileTest, AnAddressOfThisMachineIsWrittenWithItsPort) {
  const std::string name = "{name: a, protocol: openai, base_url: ";
  EXPECT_EQ(WrongRoute(name + "\"http://127.0.0.1:1\"}"), "");
  EXPECT_EQ(WrongRoute(name + "\"http://10.0.0.1\"}"), "");
  for (const char* url : {"http://api.example.com", "http://127.0.0.1", "https://localhost:8080",
                          "https://169.254.169.254", "ftp://a.example", "https://u@a.example",
                          "https://a.example/x?y", "https://a.example/../x",
                          "https://*.example.com", "https://a.example:99999", "https://"}) {
    EXPECT_THAT(WrongRoute(name + "\"" + url + "\"}"), HasSubstr("base_url")) << url;
  }
}

TEST(InferenceFileTest, SaysWhatIsWrongAndWhere) {
  const std::string good = "name: a, protocol: openai, base_url: \"https://a.example\"";
  EXPECT_THAT(WrongRoute("{" + good + ", models: [\"a b\"]}"), HasSubstr("models"));
  EXPECT_THAT(WrongRoute("{" + good + ", key_file: key}"), HasSubstr("absolute path"));
  EXPECT_THAT(WrongRoute("{" + good + ", key_file: /k, key_credential: k}"), HasSubstr("both"));
  EXPECT_THAT(WrongRoute("{" + good + ", key_credential: ../k}"), HasSubstr("key_credential"));
  EXPECT_THAT(WrongRoute("{" + good + ", header: \"a b\"}"), HasSubstr("header"));
  EXPECT_THAT(WrongRoute("{" + good + ", kye: x}"), HasSubstr("kye"));
  EXPECT_THAT(WrongRoute("{" + good + "}\n  - {" + good + "}"), HasSubstr("same name"));
  EXPECT_THAT(WrongRoute("{" + good + "}\ngrants: [{users: [x], routes: [b]}]"),
              HasSubstr("no route"));
  EXPECT_THAT(WrongRoute("{" + good + "}\ngrants: [{routes: [a]}]"), HasSubstr("users"));
  EXPECT_FALSE(ParseInferenceFile("f.yaml", "version: 1\n").ok());
}

class InferenceFilesTest : public testing::Test {
 protected:
  InferenceFilesTest() {
    char name[] = "/tmp/odyssey-inference-XXXXXX";
    files_.directory = files_.credentials = mkdtemp(name);
  }
  ~InferenceFilesTest() override {
    for (const char* name : {"/inference.yaml", "/key", "/named"}) {
      unlink((files_.directory + name).c_str());
    }
    rmdir(files_.directory.c_str());
  }

  void Write(const std::string& name, const std::string& text, mode_t mode) {
    const std::string path = files_.directory + name;
    std::ofstream(path) << text;
    chmod(path.c_str(), mode);
  }
  void WriteFile(const std::string& key, mode_t mode = 0644) {
    Write("/inference.yaml",
          "version: odyssey.inference/v1\nroutes:\n  - {name: a, protocol: openai, base_url: "
          "\"https://a.example\", " +
              key + "}\ngrants: [{users: [\"*\"], routes: [a]}]\n",
          mode);
  }
  std::string KeyOrWhy() {
    const auto routes = files_.RoutesOf(getuid());
    if (!routes.ok()) return routes.status().message();
    return routes->routes.empty() ? "no route" : routes->routes[0].key;
  }

  InferenceFiles files_;
};

TEST_F(InferenceFilesTest, ReadKeys) {
  EXPECT_EQ(KeyOrWhy(), "no route");
  WriteFile("key_file: " + files_.directory + "/key");
  Write("/key", "sk-1\n", 0600);
  EXPECT_EQ(KeyOrWhy(), "sk-1");
  WriteFile("key_credential: named");
  Write("/named", "sk-2", 0440);
  EXPECT_EQ(KeyOrWhy(), "sk-2");
  files_.credentials.clear();
  EXPECT_THAT(KeyOrWhy(), HasSubstr("no credentials"));
}

TEST_F(InferenceFilesTest, TrustOnlyWhatOthersCannotWriteAndNoKeyThatTheyCanRead) {
  const std::string key = "key_file: " + files_.directory + "/key";
  WriteFile(key, 0666);
  EXPECT_THAT(KeyOrWhy(), HasSubstr("may write"));
  WriteFile(key, 0644);
  EXPECT_THAT(KeyOrWhy(), HasSubstr("no such file"));
  Write("/key", "sk-1\n", 0640);
  EXPECT_THAT(KeyOrWhy(), HasSubstr("0600"));
  Write("/key", "sk-1\nsk-2\n", 0600);
  EXPECT_THAT(KeyOrWhy(), HasSubstr("one line"));
  Write("/key", "\n", 0600);
  EXPECT_THAT(KeyOrWhy(), HasSubstr("one line"));
}

}  // namespace
}  // namespace odyssey::egress
