#include "supervisor/egress/http/head_scanner.h"

#include <gtest/gtest.h>

#include <string>

namespace odyssey::egress::http {
namespace {

TEST(HeadScannerTest, TheEndIsFoundOnce) {
  const std::string head = "GET / HTTP/1.1\r\nA: b\r\n\r\n";
  HeadScanner scanner(ObsText::kRefuse);
  for (size_t size = 0; size < head.size(); ++size) {
    EXPECT_EQ(scanner.Scan(head.substr(0, size)), Parsed<size_t>(NeedMore{})) << size;
  }
  EXPECT_EQ(scanner.Scan(head), Parsed<size_t>(head.size()));
  EXPECT_EQ(scanner.Scan(head + "\n\n"), Parsed<size_t>(head.size()));
}

TEST(HeadScannerTest, AnErrorIsSeenAtItsByteAndStays) {
  HeadScanner scanner(ObsText::kRefuse);
  EXPECT_EQ(scanner.Scan("G"), Parsed<size_t>(NeedMore{}));
  const Parsed<size_t> error = scanner.Scan("G\n");
  EXPECT_TRUE(std::holds_alternative<ParseError>(error));
  EXPECT_EQ(scanner.Scan("G\n / HTTP/1.1\r\n\r\n"), error);
}

TEST(HeadScannerTest, BytesAbove127AreAChoice) {
  const std::string head = "A\r\nB: \xff\r\n\r\n";
  EXPECT_TRUE(std::holds_alternative<ParseError>(HeadScanner(ObsText::kRefuse).Scan(head)));
  EXPECT_EQ(HeadScanner(ObsText::kAllow).Scan(head), Parsed<size_t>(head.size()));
}

}  // namespace
}  // namespace odyssey::egress::http
