#include "agentd/provider/price_list.h"

#include <gtest/gtest.h>

namespace odyssey::provider {
namespace {

TEST(PriceListTest, HasDollarsForAMillionTokensByProviderAndModel) {
  const Result<PriceList> list = ParsePrices("prices.yaml",
                                             "models:\n"
                                             "  anthropic/claude-x: {input: 3, cached_input: 0.3, "
                                             "output: 15}\n"
                                             "  gemini/g: {input: 0.075, output: 0.3}\n"
                                             "  openrouter/vendor/model: {input: 0, output: 0}\n");
  ASSERT_TRUE(list.ok()) << list.status().message();
  EXPECT_EQ(list->Find("anthropic", "claude-x"), (Price{3'000'000, 300'000, 15'000'000}));
  EXPECT_EQ(list->Find("google", "g"), (Price{75'000, 75'000, 300'000})) << "an alias";
  EXPECT_EQ(list->Find("openrouter", "vendor/model"), Price{});
  EXPECT_EQ(list->Find("anthropic", "claude-y"), std::nullopt);
  EXPECT_TRUE(ParsePrices("prices.yaml", "models: {}\n").ok());
}

TEST(PriceListTest, NamesFileLineAndKeyOfWhatIsWrong) {
  const auto problem = [](const std::string& text) {
    return ParsePrices("/etc/p.yaml", "models:\n  " + text + "\n").status().message();
  };
  EXPECT_NE(problem("bogus/m: {input: 1, output: 1}").find("/etc/p.yaml:2: models.bogus/m: "),
            std::string::npos);
  EXPECT_NE(problem("openai: {input: 1, output: 1}").find("must be PROVIDER/MODEL"),
            std::string::npos);
  EXPECT_NE(problem("openai/m: {input: 1}").find("missing field `output`"), std::string::npos);
  EXPECT_NE(problem("openai/m: {input: -1, output: 1}").find("models.openai/m.input: must be"),
            std::string::npos);
  EXPECT_NE(problem("openai/m: {input: '1', output: 1}").find("must be a number of dollars"),
            std::string::npos);
  EXPECT_NE(problem("openai/m: {input: 1, output: 1, x: 1}").find("unknown field `x`"),
            std::string::npos);
  EXPECT_NE(problem("{google/m: {input: 1, output: 1}, gemini/m: {input: 2, output: 1}}")
                .find("has a price already"),
            std::string::npos);
  EXPECT_FALSE(ParsePrices("p", "model: {}\n").ok());
}

TEST(PriceListTest, CostIsRoundedUpAndKeepsWithinBounds) {
  const Price price{3'000'000, 300'000, 15'000'000};
  EXPECT_EQ(CostOf(price, 1000, 0, 100), 4500u);
  EXPECT_EQ(CostOf(price, 1000, 1000, 0), 300u);
  EXPECT_EQ(CostOf(price, 1, 1, 0), 1u) << "0.3 microdollars";
  EXPECT_EQ(CostOf(price, 10, 100, 0), 3u) << "no more is cached than was sent";
  EXPECT_EQ(CostOf(price, 0, 0, 0), 0u);
  EXPECT_EQ(CostOf(price, UINT64_MAX, 0, UINT64_MAX), 1'000'000'000'000'000'000u);
}

}  // namespace
}  // namespace odyssey::provider
