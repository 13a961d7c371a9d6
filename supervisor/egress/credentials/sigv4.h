#ifndef ODYSSEY_SUPERVISOR_EGRESS_CREDENTIALS_SIGV4_H_
#define ODYSSEY_SUPERVISOR_EGRESS_CREDENTIALS_SIGV4_H_

// AWS Signature Version 4 of one request.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "supervisor/egress/http/field.h"

namespace odyssey::egress::credentials {

inline constexpr std::string_view kUnsignedPayload = "UNSIGNED-PAYLOAD";

struct SigningKey {
  std::string_view id;
  std::string_view secret;
  std::string_view session_token;  // "": none
};

struct SigningScope {
  std::string region;
  std::string service;
  int64_t time = 0;  // seconds since 1970
};

// As the server receives it.
struct Signable {
  std::string method;
  std::string wire;  // the path
  std::string query;
  std::string host;     // of the field Host
  std::string payload;  // SHA-256 of the body in hexadecimal digits, or what stands for it
};

// What a request was signed with by its client, and which region it named: "" if it was not.
struct ClientSignature {
  std::string region;
  std::string payload;  // of X-Amz-Content-Sha256
};

// Takes the client's signature out of the fields.
ClientSignature StripSignature(http::Fields* fields);

// Adds the fields of a signature over the request: Host, X-Amz-*, Content-Type among `fields`.
void SignRequest(const Signable& request, const SigningKey& key, const SigningScope& scope,
                 http::Fields* fields);

}  // namespace odyssey::egress::credentials

#endif  // ODYSSEY_SUPERVISOR_EGRESS_CREDENTIALS_SIGV4_H_
