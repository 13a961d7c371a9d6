#include "ctl/image/registry_reference.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ctl/image/cosign.h"
#include "ctl/image/registry_credentials.h"
#include "ctl/image/skopeo_words.h"

namespace odyssey::ctl {
namespace {

using testing::HasSubstr;

const std::string kDigest = "sha256:" + std::string(64, 'a');

Result<RegistryReference> Parse(const std::string& text, const std::string& registry = "",
                                Transport transport = Transport::kTls) {
  return ParseRegistryReference(text, registry, transport);
}

TEST(RegistryReferenceTest, HasRegistryRepositoryAndTag) {
  const RegistryReference found = Parse("registry.test:5000/team/app:1.2").value();
  EXPECT_EQ(found.registry, "registry.test:5000");
  EXPECT_EQ(found.host, "registry.test");
  EXPECT_EQ(found.port, 5000);
  EXPECT_EQ(found.name, "registry.test:5000/team/app:1.2");
  EXPECT_EQ(found.Source(), "docker://registry.test:5000/team/app:1.2");
  EXPECT_EQ(found.AtDigest(kDigest), "docker://registry.test:5000/team/app@" + kDigest);
}

TEST(RegistryReferenceTest, ThePortIsTheTransports) {
  EXPECT_EQ(Parse("registry.test/app").value().port, 443);
  EXPECT_EQ(Parse("registry.test/app", "", Transport::kPlainHttp).value().port, 80);
  EXPECT_EQ(Parse("registry.test/app").value().Source(), "docker://registry.test/app:latest");
}

TEST(RegistryReferenceTest, ARegistryOfItsOwnIsNoPartOfTheName) {
  const RegistryReference found = Parse("debian:12", "registry.test:5000").value();
  EXPECT_EQ(found.Source(), "docker://registry.test:5000/debian:12");
  EXPECT_EQ(found.name, "debian:12");
}

TEST(RegistryReferenceTest, ADigestIsWhatIsAskedForAndMovesNoTag) {
  EXPECT_EQ(Parse("registry.test/app@" + kDigest).value().Source(),
            "docker://registry.test/app@" + kDigest);
  EXPECT_EQ(Parse("registry.test/app@" + kDigest).value().name, "");
  const RegistryReference both = Parse("registry.test/app:1@" + kDigest).value();
  EXPECT_EQ(both.Source(), "docker://registry.test/app@" + kDigest);
  EXPECT_EQ(both.name, "registry.test/app:1");
}

TEST(RegistryReferenceTest, NoRegistryIsADefault) {
  for (const char* text : {"debian", "library/debian:12", "debian:12", "a/b/c"}) {
    EXPECT_THAT(Parse(text).status().message(), HasSubstr("names no registry")) << text;
  }
}

TEST(RegistryReferenceTest, RefusesWhatNoRegistryNames) {
  for (const char* text :
       {"registry.test/", "registry.test/App", "registry.test/a//b", "registry.test/a/../b",
        "registry.test/-a", "registry.test/a\nb", "registry.test/a:", "registry.test/a:b:c",
        "registry.test/a: x", "registry.test/a@sha256:12", "registry.test/a@", "registry.test:x/a",
        "registry.test/a-", "registry.test/a?x=y", "127.0.0.1:5000/a", "localhost/a",
        "registry.test:99999/a"}) {
    EXPECT_FALSE(Parse(text).ok()) << text;
  }
  EXPECT_THAT(Parse("debian", "127.0.0.1:5000").status().message(),
              HasSubstr("--registry 127.0.0.1:5000: "));
}

TEST(RegistryReferenceTest, PlatformsAreNamedAsGoNamesThem) {
  EXPECT_EQ(ParsePlatform("linux/arm64").value(), (image::Platform{"linux", "arm64"}));
  for (const char* text : {"linux", "linux/", "/amd64", "linux/arm/v7", "Linux/amd64", ""}) {
    EXPECT_FALSE(ParsePlatform(text).ok()) << text;
  }
  EXPECT_EQ(PlatformOf("x86_64").architecture, "amd64");
  EXPECT_EQ(PlatformOf("aarch64").architecture, "arm64");
  EXPECT_EQ(PlatformOf("riscv64").architecture, "riscv64");
}

TEST(RegistryCredentialsTest, NoOtherRegistrysAreTaken) {
  constexpr char kText[] = R"({"auths": {"registry.test:5000": {"auth": "bWU6b25l"},
      "registry.test": {"auth": "other"}, "registry.test:5000/team": {"auth": "dGVhbQ=="},
      "elsewhere.test": {"auth": "c2VjcmV0"}}, "credsStore": "desktop"})";
  const std::string found = CredentialsOf(kText, "registry.test:5000").value();
  EXPECT_EQ(found, R"({"auths":{"registry.test:5000":{"auth":"bWU6b25l"},)"
                   R"("registry.test:5000/team":{"auth":"dGVhbQ=="}}})");
  EXPECT_EQ(CredentialsOf(R"({"auths": {"https://registry.test/v1/": {"auth": "YQ=="}}})",
                          "registry.test")
                .value(),
            R"({"auths":{"registry.test":{"auth":"YQ=="}}})");
}

TEST(RegistryCredentialsTest, SaysWhatIsMissing) {
  EXPECT_THAT(CredentialsOf(R"({"auths": {"a.test": {}}})", "a.test").status().message(),
              HasSubstr("has no credentials for a.test"));
  for (const char* text : {"", "[]", "{}", R"({"auths": 7})"}) {
    EXPECT_EQ(CredentialsOf(text, "a.test").status().code(), Code::kInvalidArgument) << text;
  }
}

TEST(SkopeoWordsTest, TheCauseIsTheFatalLinesMessage) {
  EXPECT_EQ(SkopeoError("time=\"t\" level=warning msg=\"w\"\ntime=\"t\" level=fatal msg=\"Error "
                        "parsing image name \\\"docker://r.test/a:1\\\": reading manifest 1 in "
                        "r.test/a: manifest unknown: manifest unknown\"\n"),
            "reading manifest 1 in r.test/a: manifest unknown");
  EXPECT_EQ(SkopeoError("cat: x: No such file or directory\n"),
            "cat: x: No such file or directory");
  EXPECT_EQ(SkopeoError(""), "skopeo failed, and did not say why");
  EXPECT_LE(SkopeoError(std::string(5000, 'x')).size(), 600u);
}

TEST(SkopeoWordsTest, AdviceIsAnOption) {
  EXPECT_THAT(AdviceOn("http: server gave HTTP response to HTTPS client", "r.test"),
              HasSubstr("--plain-http"));
  EXPECT_THAT(AdviceOn("unauthorized: authentication required", "r.test"),
              HasSubstr("skopeo login --authfile FILE r.test"));
  EXPECT_THAT(AdviceOn("x509: certificate signed by unknown authority", "r.test"),
              HasSubstr("--ca-file"));
  EXPECT_EQ(AdviceOn("the sky is blue", "r.test"), "");
}

TEST(CosignTest, SignaturesAreLayersOfATag) {
  EXPECT_EQ(SignatureTag(kDigest), "sha256-" + std::string(64, 'a') + ".sig");
  const std::string layer =
      R"({"mediaType": "application/vnd.dev.cosign.simplesigning.v1+json", "digest": ")" + kDigest +
      R"(", "size": 12, "annotations": {"dev.cosignproject.cosign/signature": "c2ln"}})";
  const std::string other = R"({"mediaType": "application/x-rar"}, 7)";
  const auto found = ReadSignatures(R"({"layers": [)" + other + "," + layer + "]}").value();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].payload, (image::Blob{kDigest, 12}));
  EXPECT_EQ(found[0].signature, "c2ln");
}

TEST(CosignTest, WhatIsNoSignatureIsLeftOut) {
  const auto with = [](const std::string& digest, const std::string& size) {
    return R"({"layers": [{"mediaType": "application/vnd.dev.cosign.simplesigning.v1+json",
        "digest": ")" +
           digest + R"(", "size": )" + size +
           R"(, "annotations": {"dev.cosignproject.cosign/signature": "x"}}]})";
  };
  EXPECT_EQ(ReadSignatures(with(kDigest, "12")).value().size(), 1u);
  EXPECT_EQ(ReadSignatures(with("../../etc/shadow", "12")).value().size(), 0u);
  EXPECT_EQ(ReadSignatures(with(kDigest, "99999999")).value().size(), 0u);
  EXPECT_EQ(ReadSignatures(with(kDigest, "-1")).value().size(), 0u);
  EXPECT_FALSE(ReadSignatures("<html>").ok());
}

}  // namespace
}  // namespace odyssey::ctl
