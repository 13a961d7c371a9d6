#include "hub/transfer/hub_url.h"

#include <gtest/gtest.h>

#include "hub/transfer/hub_post.h"

namespace odyssey::transfer {
namespace {

std::string ErrorOf(const std::string& url) { return ParseHubUrl(url).status().message(); }

TEST(HubUrlTest, TakesHttpsAnywhereAndHttpToLoopback) {
  EXPECT_EQ(ParseHubUrl("https://hub.example/")->base, "https://hub.example");
  EXPECT_FALSE(ParseHubUrl("https://hub.example")->loopback);
  EXPECT_EQ(ParseHubUrl("http://127.0.0.1:8473")->base, "http://127.0.0.1:8473");
  EXPECT_TRUE(ParseHubUrl("http://[::1]:8473")->loopback);
}

TEST(HubUrlTest, RefusesPlainHttpOffLoopback) {
  EXPECT_EQ(ErrorOf("http://hub.example"),
            "hub URL http://hub.example: http:// is for loopback alone; use https://");
  EXPECT_FALSE(ParseHubUrl("http://127.0.0.1.hub.example").ok());
  EXPECT_FALSE(ParseHubUrl("file:///etc/passwd").ok());
}

TEST(HubUrlTest, RefusesParts) {
  EXPECT_EQ(ErrorOf("https://hub.example/x"), "hub URL must not include a path");
  EXPECT_EQ(ErrorOf("https://ann@hub.example"), "hub URL must not include a username");
  EXPECT_EQ(ErrorOf("https://:x@hub.example"), "hub URL must not include a password");
  EXPECT_EQ(ErrorOf("https://hub.example?x"), "hub URL must not include a query");
}

TEST(HubTokenTest, RefusesALineBreak) {
  EXPECT_TRUE(CheckToken("abc").ok());
  EXPECT_FALSE(CheckToken("abc\r\nX: y").ok());
}

}  // namespace
}  // namespace odyssey::transfer
