#include "http/head/request_target.h"

#include <gtest/gtest.h>

namespace odyssey::head {
namespace {

using Strings = std::vector<std::string>;

TEST(RequestTargetTest, PartsAreDecoded) {
  EXPECT_EQ(ParseTarget("/")->segments, Strings());
  EXPECT_EQ(ParseTarget("/sessions/ses_1/run-sync")->segments,
            (Strings{"sessions", "ses_1", "run-sync"}));
  EXPECT_EQ(ParseTarget("/a%20b/%c3%a4+")->segments, (Strings{"a b", "\xc3\xa4+"}));
  const RequestTarget target = *ParseTarget("/f?path=a%2Fb+c&after=3&&empty=&flag");
  EXPECT_EQ(target.query, (std::map<std::string, std::string>{
                              {"path", "a/b c"}, {"after", "3"}, {"empty", ""}, {"flag", ""}}));
  EXPECT_EQ(ParseTarget("/?a=b")->query.at("a"), "b");
}

TEST(RequestTargetTest, WhatAProxyCouldReadInAnotherWayIsRefused) {
  for (const char* target : {"",
                             "*",
                             "http://localhost/",
                             "localhost:80",
                             "//",
                             "/a//b",
                             "/a/",
                             "/./a",
                             "/a/..",
                             "/%2e%2e/a",
                             "/a%2fb",
                             "/a%00b",
                             "/a%0ab",
                             "/a%",
                             "/a%4",
                             "/a%zz",
                             "/%ff",
                             "/a?b=%ff",
                             "/a?b=1&b=2",
                             "/a?b=%0d%0a",
                             "/\xff"}) {
    EXPECT_EQ(ParseTarget(target).status().code(), Code::kInvalidArgument) << target;
  }
  EXPECT_FALSE(ParseTarget("/" + std::string(kMaxTargetBytes, 'a')).ok());
  EXPECT_TRUE(ParseTarget("/" + std::string(kMaxTargetBytes - 1, 'a')).ok());
}

}  // namespace
}  // namespace odyssey::head
