#include "http/head/access.h"

#include <gtest/gtest.h>

namespace odyssey::head {
namespace {

Status Check(std::string_view host, std::string_view origin = "", size_t hosts = 1) {
  std::set<std::string> names = LoopbackNames();
  names.insert("box.example");
  return CheckHostAndOrigin({.host = host, .origin = origin, .hosts = hosts}, names);
}

TEST(AccessTest, OnlyOwnNamesAreServed) {
  for (const char* host : {"127.0.0.1", "127.0.0.1:8472", "localhost:1", "LocalHost", "[::1]:8472",
                           "[::1]", "box.example"}) {
    EXPECT_TRUE(Check(host).ok()) << host;
  }
  for (const char* host :
       {"", "evil.example", "evil.example:8472", "127.0.0.1.evil.example", "localhost.evil.example",
        "localhost:", "localhost:x", "localhost:999999", "localhost@evil.example", "[::1", "[::1]x",
        "127.0.0.2", " localhost", "localhost:80:80"}) {
    EXPECT_EQ(Check(host).code(), Code::kPermissionDenied) << host;
  }
  EXPECT_EQ(Check("localhost", "", 0).code(), Code::kInvalidArgument);
  EXPECT_EQ(Check("localhost", "", 2).code(), Code::kInvalidArgument);
}

TEST(AccessTest, AnOriginIsThatHostAlone) {
  EXPECT_TRUE(Check("localhost:8472", "http://localhost:8472").ok());
  EXPECT_TRUE(Check("box.example", "https://box.example").ok());
  for (const char* origin :
       {"null", "http://evil.example", "http://localhost", "http://localhost:8473",
        "http://127.0.0.1:8472", "localhost:8472", "http://localhost:8472.evil.example",
        "http://localhost:8472/", "file://localhost:8472"}) {
    EXPECT_EQ(Check("localhost:8472", origin).code(), Code::kPermissionDenied) << origin;
  }
}

TEST(AccessTest, ATokenComesAsBearerOrAsOurCookie) {
  EXPECT_EQ(FindCredential({.authorization = "Bearer odt_1"})->token, "odt_1");
  EXPECT_EQ(FindCredential({.authorization = "bearer  odt_1 "})->token, "odt_1");
  const Result<Credential> cookie = FindCredential({.cookie = "a=b; odyssey=odt_2; c"});
  EXPECT_EQ(cookie->token, "odt_2");
  EXPECT_TRUE(cookie->of_cookie);
  // The first counts, whatever else is there.
  EXPECT_EQ(FindCredential({.authorization = "Bearer odt_1", .cookie = "odyssey=odt_2"})->token,
            "odt_1");
  for (const char* authorization : {"Basic odt_1", "odt_1", "Bearer", "Bearer ", "Bearer a b",
                                    "Bearer a\r\nb: c", "Bearer \xc3\xa4"}) {
    EXPECT_EQ(
        FindCredential({.authorization = authorization, .cookie = "odyssey=odt_2"}).status().code(),
        Code::kUnauthenticated)
        << authorization;
  }
  for (const char* text : {"", "odyssey", "odyssey=", "xodyssey=a", "odyssey=a; odyssey=b",
                           "odyssey=\"a\"", "Odyssey=a"}) {
    EXPECT_EQ(FindCredential({.cookie = text}).status().code(), Code::kUnauthenticated) << text;
  }
  EXPECT_EQ(FindCredential({.authorization = std::string("Bearer ") + std::string(129, 'a')})
                .status()
                .code(),
            Code::kUnauthenticated);
}

// Another site's form posts with the cookie, and older browsers without an Origin.
TEST(AccessTest, AChangeByCookieNeedsAnOrigin) {
  EXPECT_EQ(FindCredential({.cookie = "odyssey=a", .changes = true}).status().code(),
            Code::kPermissionDenied);
  EXPECT_TRUE(
      FindCredential({.origin = "http://localhost", .cookie = "odyssey=a", .changes = true}).ok());
  EXPECT_TRUE(FindCredential({.cookie = "odyssey=a", .changes = false}).ok());
  EXPECT_TRUE(FindCredential({.authorization = "Bearer a", .changes = true}).ok());
}

}  // namespace
}  // namespace odyssey::head
