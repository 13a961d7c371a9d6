#include "supervisor/egress/http/path.h"

#include <gtest/gtest.h>

#include <string>
#include <variant>

namespace odyssey::egress::http {
namespace {

constexpr PathOptions kStrict = {};
constexpr PathOptions kAsWritten = {.spelling = Spelling::kAsWritten};
constexpr PathOptions kNormalize = {.spelling = Spelling::kNormalize};
constexpr PathOptions kSlash = {.allow_encoded_slash = true};
constexpr PathOptions kNormalizeSlash = {.spelling = Spelling::kNormalize,
                                         .allow_encoded_slash = true};

// "PATH -> WIRE", or the status.
std::string Read(std::string_view path, const PathOptions& options) {
  const auto parsed = CanonicalizePath(path, "", options);
  if (const auto* error = std::get_if<ParseError>(&parsed)) return std::to_string(error->status);
  const auto& canonical = std::get<CanonicalPath>(parsed);
  return canonical.path + " -> " + canonical.wire;
}

// "NAME=VALUE|…", or the status.
std::string Query(std::string_view query) {
  const auto parsed = CanonicalizePath("/", query, kStrict);
  if (const auto* error = std::get_if<ParseError>(&parsed)) return std::to_string(error->status);
  std::string out;
  for (const QueryPair& pair : std::get<CanonicalPath>(parsed).pairs) {
    out += pair.name + "=" + pair.value + "|";
  }
  return out;
}

TEST(PathTest, IsDecodedOnceAndForwardedInOneSpelling) {
  EXPECT_EQ(Read("/", kStrict), "/ -> /");
  EXPECT_EQ(Read("/a/b", kStrict), "/a/b -> /a/b");
  EXPECT_EQ(Read("/a/", kStrict), "/a/ -> /a/");
  EXPECT_EQ(Read("*", kStrict), "* -> *");
  EXPECT_EQ(Read("/%61%7e", kStrict), "/a~ -> /a~");
  EXPECT_EQ(Read("/a%20b%3f%23", kStrict), "/a b?# -> /a%20b%3F%23");
  EXPECT_EQ(Read("/%c3%a4", kStrict), "/\xc3\xa4 -> /%C3%A4");
  EXPECT_EQ(Read("/a[1]\"<>^`{|}", kStrict), "/a[1]\"<>^`{|} -> /a%5B1%5D%22%3C%3E%5E%60%7B%7C%7D");
  EXPECT_EQ(Read("/a:@!$&'()*+,=", kStrict), "/a:@!$&'()*+,= -> /a:@!$&'()*+,=");
  EXPECT_EQ(Read("/100%25", kStrict), "/100% -> /100%25");
  EXPECT_EQ(Read("/...", kStrict), "/... -> /...");
  EXPECT_EQ(Read("/.git", kStrict), "/.git -> /.git");
}

TEST(PathTest, WhatServersReadInTwoWaysIsRefused) {
  for (const char* path :
       {"/a%2fb",    "/a%2Fb", "/a%5cb", "/a%5C",  "/%00",   "/a%00b",  "/%2e",   "/a%2Eb",
        "/%2e%2e/a", "/.",     "/a/.",   "/a/./b", "/..",    "/a/../b", "/a/..",  "//",
        "//a",       "/a//b",  "/a//",   "/a;b",   "/a;b/c", "/;",      "/a%3bb", "/..;/a"}) {
    EXPECT_EQ(Read(path, kStrict), "400") << path;
  }
}

TEST(PathTest, WhatNoRuleReadsIsLeftAsItIs) {
  for (const char* path : {"/a/./b", "/./Packages", "/a/../b", "//a", "/a;b=1", "/%2e%2e/a",
                           "/a%2fb", "/%00", "/%zz", "*"}) {
    EXPECT_EQ(Read(path, kAsWritten), std::string(path) + " -> " + path);
  }
  for (const char* path : {"", "a", "/a b", "/a\\b", "/a#b", "/a\r\nHost: x"}) {
    EXPECT_EQ(Read(path, kAsWritten), "400") << path;
  }
  const auto query = CanonicalizePath("/", "a;b=%zz&c", kAsWritten);
  ASSERT_TRUE(std::holds_alternative<CanonicalPath>(query));
  EXPECT_EQ(std::get<CanonicalPath>(query).query, "a;b=%zz&c");
  EXPECT_TRUE(std::get<CanonicalPath>(query).pairs.empty());
}

TEST(PathTest, ARuleMayNormalizeIt) {
  EXPECT_EQ(Read("/a/./b", kNormalize), "/a/b -> /a/b");
  EXPECT_EQ(Read("/a/../b", kNormalize), "/b -> /b");
  EXPECT_EQ(Read("/a/b/..", kNormalize), "/a/ -> /a/");
  EXPECT_EQ(Read("/a/.", kNormalize), "/a/ -> /a/");
  EXPECT_EQ(Read("/a/..", kNormalize), "/ -> /");
  EXPECT_EQ(Read("/a/%2e%2E/b", kNormalize), "/b -> /b");
  EXPECT_EQ(Read("/a/.%2e/b", kNormalize), "/b -> /b");
  EXPECT_EQ(Read("//a///b//", kNormalize), "/a/b/ -> /a/b/");
  EXPECT_EQ(Read("/a;p=1/b;q", kNormalize), "/a/b -> /a/b");
  EXPECT_EQ(Read("/a/..;p/b", kNormalize), "/b -> /b");
  EXPECT_EQ(Read("/a/;p/b", kNormalize), "/a/b -> /a/b");
  EXPECT_EQ(Read("/a%3bb", kNormalize), "/a;b -> /a%3Bb");
  EXPECT_EQ(Read("/a%2eb", kNormalize), "/a.b -> /a.b");
  EXPECT_EQ(Read("/v1/public/../admin", kNormalize), "/v1/admin -> /v1/admin");
}

TEST(PathTest, NoRuleAllowsWhatHasNoMeaning) {
  for (const PathOptions& options : {kStrict, kNormalize, kSlash, kNormalizeSlash}) {
    for (const char* path :
         {"",          "a",       "/a b",        "/a#b",   "/a\\b",      "/a?b",
          "/\xc3\xa4", "/%",      "/%a",         "/%g0",   "/%0",        "/a%2",
          "/%00",      "/%0a",    "/%1f",        "/%7f",   "/%5c",       "/..",
          "/a/../..",  "/%2e%2e", "/%252e%252e", "/%252f", "/%25%32%65", "/%25%32f",
          "/%2541",    "/%c0%ae", "/%c0%af",     "/%ff",   "/%e4",       "/%ed%a0%80"}) {
      EXPECT_EQ(Read(path, options), "400") << path;
    }
  }
}

TEST(PathTest, AnEncodedSlashIsNoSeparator) {
  EXPECT_EQ(Read("/a%2fb/c", kSlash), "/a%2Fb/c -> /a%2Fb/c");
  EXPECT_EQ(Read("/@scope%2Fname", kSlash), "/@scope%2Fname -> /@scope%2Fname");
  EXPECT_EQ(Read("/a%2fb/..", kNormalizeSlash), "/ -> /");
  // A server that decodes it would find what was refused.
  for (const char* path :
       {"/..%2fa", "/a%2f..", "/a%2f.%2fb", "/a%2f%2fb", "/%2fa", "/a%2f", "/%2f"}) {
    EXPECT_EQ(Read(path, kSlash), "400") << path;
    EXPECT_EQ(Read(path, kNormalizeSlash), "400") << path;
  }
  EXPECT_EQ(Read("/%2e%2e%2fa", kNormalizeSlash), "400");
  EXPECT_EQ(Read("/a%252fb", kSlash), "400") << "it would read as an encoded slash";
}

TEST(PathTest, IsBounded) {
  const std::string longest = "/" + std::string(kMaxPathBytes - 1, 'a');
  EXPECT_EQ(Read(longest, kStrict), longest + " -> " + longest);
  EXPECT_EQ(Read(longest + "a", kStrict), "414");
  EXPECT_EQ(Read("/" + std::string(kMaxPathBytes / 2, '['), kStrict), "414")
      << "when it is forwarded";
  const auto target =
      CanonicalizePath("/" + std::string(1000, '['), std::string(6000, 'q'), kStrict);
  ASSERT_TRUE(std::holds_alternative<ParseError>(target));
  EXPECT_EQ(std::get<ParseError>(target).status, 414);
}

TEST(PathTest, TheQueryIsPairsInTheirOrder) {
  EXPECT_EQ(Query(""), "");
  EXPECT_EQ(Query("a=1&b=2&a=3"), "a=1|b=2|a=3|");
  EXPECT_EQ(Query("a&b=&=c&&"), "a=|b=|=c|");
  EXPECT_EQ(Query("a=b=c"), "a=b=c|");
  EXPECT_EQ(Query("a%3db=%26+%2B"), "a=b=& +|");
  EXPECT_EQ(Query("a=%2541"), "a=%41|") << "decoded once";
  EXPECT_EQ(Query("u=http://h.example/?x"), "u=http://h.example/?x|");
  EXPECT_EQ(Query("a=%0a"), "a=\n|");
  for (const char* query :
       {"a;b", "a=1;b=2", "a=%", "a=%1", "a=%g1", "%zz", "a=%00", "a#b", "a\\b", "a b"}) {
    EXPECT_EQ(Query(query), "400") << query;
  }
  const auto parsed = CanonicalizePath("/a", "b=%2f&b=[1]", kStrict);
  EXPECT_EQ(std::get<CanonicalPath>(parsed).query, "b=%2f&b=[1]");
}

TEST(PathTest, WhatIsForwardedIsReadTheSame) {
  for (const char* path : {"/a/./b%3b/../[%7e]//%c3%a4;x/%25x", "/a%20b/", "/a%2fb"}) {
    const auto first = CanonicalizePath(path, "a=[]&b", kNormalizeSlash);
    ASSERT_TRUE(std::holds_alternative<CanonicalPath>(first)) << path;
    const auto& canonical = std::get<CanonicalPath>(first);
    EXPECT_EQ(CanonicalizePath(canonical.wire, canonical.query, kNormalizeSlash), first) << path;
  }
}

}  // namespace
}  // namespace odyssey::egress::http
