// The charset of names in a tar, in a program that has no locale's files: a static one, in a cell
// without any. libarchive asks libc for it, and refuses names that it cannot convert to it.

#include <langinfo.h>

char* nl_langinfo(nl_item item) {
  static char utf8[] = "UTF-8", none[] = "";
  return item == CODESET ? utf8 : none;
}
