#include "policy/executables/companions.h"

#include <algorithm>
#include <string_view>

namespace odyssey::executables {
namespace {

// A star in `program` stands for any text without a slash, and the star in `path` for the same.
struct Row {
  std::string_view program;
  std::string_view path;
  bool run;
  std::string_view what;
};

constexpr Row kTable[] = {
    {"/usr/bin/python3.*", "/usr/lib/python3.*/lib-dynload", false, "Python's modules"},
    {"/usr/bin/python3.*", "/usr/lib64/python3.*/lib-dynload", false, "Python's modules"},
    {"/usr/bin/python3.*", "/usr/lib/python3/dist-packages", false, "Python's packages"},
    {"/usr/bin/python3.*", "/usr/local/lib/python3.*/dist-packages", false, "Python's packages"},
    {"/usr/local/bin/python3.*", "/usr/local/lib/python3.*/lib-dynload", false, "Python's modules"},
    {"/usr/local/bin/python3.*", "/usr/local/lib/python3.*/site-packages", false,
     "Python's packages"},
    {"/usr/bin/perl", "/usr/lib/x86_64-linux-gnu/perl-base", false, "Perl's modules"},
    {"/usr/bin/perl", "/usr/lib/x86_64-linux-gnu/perl", false, "Perl's modules"},
    {"/usr/bin/perl", "/usr/lib/x86_64-linux-gnu/perl5", false, "Perl's packages"},
    {"/usr/bin/perl", "/usr/lib64/perl5", false, "Perl's modules"},
    {"/usr/bin/git", "/usr/lib/git-core", true, "git's own commands"},
    {"/usr/bin/git", "/usr/libexec/git-core", true, "git's own commands"},
    {"/usr/bin/x86_64-linux-gnu-gcc-*", "/usr/lib/gcc/x86_64-linux-gnu/*", true, "the compiler"},
    {"/usr/bin/x86_64-linux-gnu-gcc-*", "/usr/bin/as", true, "the assembler"},
    {"/usr/bin/x86_64-linux-gnu-gcc-*", "/usr/bin/ld", true, "the linker"},
    {"/usr/bin/x86_64-linux-gnu-g++-*", "/usr/lib/gcc/x86_64-linux-gnu/*", true, "the compiler"},
    {"/usr/bin/x86_64-linux-gnu-g++-*", "/usr/bin/as", true, "the assembler"},
    {"/usr/bin/x86_64-linux-gnu-g++-*", "/usr/bin/ld", true, "the linker"},
    {"/usr/lib/jvm/*/bin/java", "/usr/lib/jvm/*/lib", false, "the virtual machine"},
    {"/usr/lib/jvm/*/bin/java", "/usr/lib/jvm/*/lib/jspawnhelper", true, "what starts programs"},
    {"/usr/lib/jvm/*/bin/javac", "/usr/lib/jvm/*/lib", false, "the virtual machine"},
    {"/usr/lib/jvm/*/bin/javadoc", "/usr/lib/jvm/*/lib", false, "the virtual machine"},
    {"/usr/lib/jvm/*/bin/jar", "/usr/lib/jvm/*/lib", false, "the virtual machine"},
    {"/usr/bin/iconv", "/usr/lib/x86_64-linux-gnu/gconv", false, "character sets"},
    {"/usr/bin/iconv", "/usr/lib64/gconv", false, "character sets"},
    {"/usr/lib/x86_64-linux-gnu/libcrypto.so.*", "/usr/lib/x86_64-linux-gnu/ossl-modules", false,
     "OpenSSL's providers"},
    {"/usr/lib64/libcrypto.so.*", "/usr/lib64/ossl-modules", false, "OpenSSL's providers"},
    // The C library loads it by name when a thread is cancelled or a stack is shown.
    {"/usr/lib/x86_64-linux-gnu/libc.so.6", "/usr/lib/x86_64-linux-gnu/libgcc_s.so.1", false,
     "the unwinder"},
    {"/usr/lib64/libc.so.6", "/usr/lib64/libgcc_s.so.1", false, "the unwinder"},
};

// Whether `path` fits, and what the star stands for.
bool Matches(std::string_view path, std::string_view pattern, std::string_view* star) {
  const size_t at = pattern.find('*');
  if (at == std::string_view::npos) return path == pattern;
  const std::string_view tail = pattern.substr(at + 1);
  if (path.size() < at + tail.size() || path.substr(0, at) != pattern.substr(0, at) ||
      path.substr(path.size() - tail.size()) != tail) {
    return false;
  }
  *star = path.substr(at, path.size() - at - tail.size());
  return star->find('/') == std::string_view::npos;
}

}  // namespace

std::vector<Companion> CompanionsOf(const std::string& path) {
  std::vector<Companion> out;
  for (const Row& row : kTable) {
    std::string_view star;
    if (!Matches(path, row.program, &star)) continue;
    std::string companion(row.path);
    const size_t at = companion.find('*');
    if (at != std::string::npos) companion.replace(at, 1, star);
    out.push_back({std::move(companion), row.run, std::string(row.what)});
  }
  return out;
}

bool CompilesWhileItRuns(const std::string& path) {
  constexpr std::string_view kJava = "/usr/lib/jvm/";
  // The beginnings of names: versions follow. Git compiles what it looks for, Python what C calls.
  constexpr std::string_view kNames[] = {
      "beam.smp", "bun", "deno", "dotnet", "git",    "guile", "java",   "julia", "luajit", "mono",
      "node",     "php", "pwsh", "pypy",   "python", "qemu-", "racket", "ruby",  "sbcl",   "wasm"};
  if (path.rfind(kJava, 0) == 0) return true;
  const std::string_view name = std::string_view(path).substr(path.rfind('/') + 1);
  return std::any_of(std::begin(kNames), std::end(kNames),
                     [name](std::string_view begin) { return name.rfind(begin, 0) == 0; });
}

}  // namespace odyssey::executables
