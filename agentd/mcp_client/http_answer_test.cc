#include "agentd/mcp_client/http_answer.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "agentd/mcp_client/connection.h"

namespace odyssey::mcp_client {
namespace {

using Strings = std::vector<std::string>;

dialect::McpServerSpec Spec(const std::string& header) {
  dialect::McpServerSpec spec;
  spec.name = "s";
  spec.url = "https://x.example/mcp";
  spec.headers["X-Key"] = header;
  return spec;
}

TEST(PostCommandTest, IsCurlWithTheTermsOfTheSession) {
  const Strings words = PostCommand(Spec("plain"), {"id-1", "2025-11-25", 1500});
  EXPECT_EQ(words.front(), "curl");
  EXPECT_EQ(words[1], "-q");
  EXPECT_EQ(words.back(), "https://x.example/mcp");
  for (const char* word : {"Mcp-Session-Id: id-1", "MCP-Protocol-Version: 2025-11-25",
                           "X-Key: plain", "=http,https", "7"}) {
    EXPECT_NE(std::find(words.begin(), words.end(), word), words.end()) << word;
  }
  // A redirect may lead to where no rule of the manifest does.
  EXPECT_EQ(std::count(words.begin(), words.end(), "-L"), 0);
}

TEST(PostCommandTest, OfVariablesTheShellPutsInTheValues) {
  const Strings words = PostCommand(Spec("it's ${KEY};$(id)"), {"", "", 1000});
  ASSERT_EQ(words.size(), 3u);
  EXPECT_EQ(words[0], "sh");
  EXPECT_EQ(words[2].rfind("exec 'curl' ", 0), 0u);
  EXPECT_NE(words[2].find("-H 'X-Key: ''it'\\''s '\"${KEY:?is not set in the cell}\"';$(id)' "
                          "'https://x.example/mcp'"),
            std::string::npos)
      << words[2];
}

Strings Messages(const Strings& pieces, Status* status) {
  Strings out;
  HttpBody body;
  const HttpBody::Sink sink = [&](const std::string& message) {
    out.push_back(message);
    return OkStatus();
  };
  for (const std::string& piece : pieces) {
    *status = body.Push(piece, sink);
    if (!status->ok()) return out;
  }
  *status = body.Finish(sink);
  return out;
}

TEST(HttpBodyTest, IsJsonOrEvents) {
  Status status;
  EXPECT_EQ(Messages({"\r\n{\"a\"", ":1}"}, &status), (Strings{"{\"a\":1}"}));
  EXPECT_EQ(Messages({": c\n\ndata: {\"a\"", ":1}\n\ndata: {}\n\n"}, &status),
            (Strings{"{\"a\":1}", "{}"}));
  EXPECT_EQ(Messages({"event: message\ndata: {}"}, &status), (Strings{"{}"}));
  EXPECT_EQ(Messages({}, &status), Strings());
  EXPECT_TRUE(status.ok());
}

TEST(HttpBodyTest, IsBounded) {
  Status status;
  const std::string piece(kMaxMessageBytes / 2, ' ');
  EXPECT_EQ(Messages({"{" + piece, piece}, &status), Strings());
  EXPECT_EQ(status.code(), Code::kResourceExhausted);
}

TEST(HttpFactsTest, StandOnTheLastLine) {
  EXPECT_EQ(ReadFacts("\nodyssey-mcp 200 abc\n"), (HttpFacts{200, "abc", ""}));
  EXPECT_EQ(ReadFacts("curl: (7) Failed\n\nodyssey-mcp 000 \n"),
            (HttpFacts{0, "", "curl: (7) Failed"}));
  EXPECT_EQ(ReadFacts("sh: KEY: is not set"), (HttpFacts{0, "", "sh: KEY: is not set"}));
  // A session's id goes into an argument.
  EXPECT_EQ(ReadFacts("\nodyssey-mcp 200 a b\n").session_id, "");
  EXPECT_EQ(ReadFacts("\nodyssey-mcp 200 \x1b[1m\n").session_id, "");
}

}  // namespace
}  // namespace odyssey::mcp_client
