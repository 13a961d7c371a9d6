#ifndef ODYSSEY_IMAGE_LAYER_ARCHIVE_READER_H_
#define ODYSSEY_IMAGE_LAYER_ARCHIVE_READER_H_

// What readers of a hostile tar share of libarchive.

#include <archive.h>
#include <locale.h>
#include <sys/types.h>

#include <cstddef>
#include <memory>
#include <string>

namespace odyssey::image {

inline constexpr size_t kReadBytes = 256 * 1024;
inline constexpr mode_t kKeptBits = 01777;  // no set-id bit

using Archive = std::unique_ptr<archive, decltype(&archive_read_free)>;

inline std::string WhyUnread(archive* reader) {
  const char* const why = archive_error_string(reader);
  return why == nullptr ? "cannot be read" : why;
}

// The calling thread reads names of a tar as UTF-8 while this is there.
class Utf8Names final {
 public:
  Utf8Names() : locale_(newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr)) {
    if (locale_ != nullptr) before_ = uselocale(locale_);
  }
  ~Utf8Names() {
    if (locale_ == nullptr) return;
    uselocale(before_);
    freelocale(locale_);
  }
  Utf8Names(const Utf8Names&) = delete;
  Utf8Names& operator=(const Utf8Names&) = delete;

 private:
  const locale_t locale_;
  locale_t before_ = nullptr;
};

}  // namespace odyssey::image

#endif  // ODYSSEY_IMAGE_LAYER_ARCHIVE_READER_H_
