#ifndef ODYSSEY_IMAGE_DOCKERFILE_LOGICAL_LINES_H_
#define ODYSSEY_IMAGE_DOCKERFILE_LOGICAL_LINES_H_

// The lines of a Dockerfile, an instruction each: directives at the top, comments, lines that go on
// in the next one, here-documents. Pure.

#include <string>
#include <string_view>
#include <vector>

#include "image/dockerfile/problem.h"

namespace odyssey::dockerfile {

// A here-document of RUN, COPY or ADD.
struct Heredoc {
  std::string name;     // the delimiter, without quotes
  std::string written;  // the word of the line, "<<-'EOF'"
  std::string content;  // by "<<-" without the tabs that lines begin with
  bool expand = true;   // false: the delimiter is quoted
  friend bool operator==(const Heredoc&, const Heredoc&) = default;
};

struct LogicalLine {
  int line = 0;         // the first of it
  std::string keyword;  // in capitals
  std::string rest;     // without blanks around it
  std::vector<Heredoc> heredocs;
};

struct LogicalLines {
  char escape = '\\';
  std::vector<LogicalLine> lines;
};

// Whether "# syntax=" names Docker's own frontend, of any version, wherever it is kept.
bool IsStandardSyntax(std::string_view name);

LogicalLines SplitLogicalLines(std::string_view text, Problems* problems);

}  // namespace odyssey::dockerfile

#endif  // ODYSSEY_IMAGE_DOCKERFILE_LOGICAL_LINES_H_
