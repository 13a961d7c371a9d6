#ifndef ODYSSEY_SUPERVISOR_MARKS_GIT_INDEX_H_
#define ODYSSEY_SUPERVISOR_MARKS_GIT_INDEX_H_

// git trusts the paths of an index that it reads: `git restore .` writes each, and `git reset
// --hard` removes each that is not in the commit, wherever it leads. Pure.

#include <stddef.h>

#include <string_view>

namespace odyssey::marks {

// Of an object's name in an index, bytes.
inline constexpr size_t kSha1Bytes = 20;
inline constexpr size_t kSha256Bytes = 32;

// True if `bytes` is an index (gitformat-index(5), versions 2 to 4) all of whose paths stay in the
// working tree and out of `.git`, read from the beginning to the end as well as from the places
// that its own extensions tell threads to begin at.
bool IndexStaysInTree(std::string_view bytes, size_t object_name_bytes);

// A path of git's, relative to the working tree, without `..`, `.git` or what a file system may
// take for one of them. One slash may be at its end, and it may be empty, as in a split index.
bool StaysInTree(std::string_view path);

}  // namespace odyssey::marks

#endif  // ODYSSEY_SUPERVISOR_MARKS_GIT_INDEX_H_
