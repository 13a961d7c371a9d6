#include "hub/artifact/base64.h"

#include <openssl/evp.h>

#include <algorithm>
#include <climits>

namespace odyssey::artifact {
namespace {

constexpr char kAlphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

}  // namespace

std::string ToBase64(std::string_view bytes) {
  ODY_CHECK(bytes.size() < INT_MAX / 2);
  std::string out((bytes.size() + 2) / 3 * 4 + 1, '\0');  // OpenSSL adds a NUL
  EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                  reinterpret_cast<const unsigned char*>(bytes.data()),
                  static_cast<int>(bytes.size()));
  out.pop_back();
  return out;
}

Result<std::string> FromBase64(std::string_view text) {
  const size_t end = std::min(text.find_first_not_of(kAlphabet), text.size());
  const size_t padding = text.size() - end;
  const bool padded = padding <= 2 && text.substr(end) == std::string_view("==").substr(0, padding);
  if (!padded || text.size() % 4 != 0 || text.size() >= INT_MAX) {
    return InvalidArgument("not base64");
  }
  std::string out(text.size() / 4 * 3, '\0');
  const int bytes = EVP_DecodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                                    reinterpret_cast<const unsigned char*>(text.data()),
                                    static_cast<int>(text.size()));
  if (bytes < 0) return InvalidArgument("not base64");
  out.resize(out.size() - padding);
  return out;
}

}  // namespace odyssey::artifact
