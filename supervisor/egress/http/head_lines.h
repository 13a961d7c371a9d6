#ifndef ODYSSEY_SUPERVISOR_EGRESS_HTTP_HEAD_LINES_H_
#define ODYSSEY_SUPERVISOR_EGRESS_HTTP_HEAD_LINES_H_

// A whole head, as HeadScanner found it, cut into its first line and its fields.

#include <optional>
#include <string_view>

#include "supervisor/egress/http/field.h"
#include "supervisor/egress/http/framing.h"

namespace odyssey::egress::http {

struct HeadLines {
  std::string_view first;
  Fields fields;
};

// nullopt: a line is no field.
std::optional<HeadLines> CutHead(std::string_view head);

// "HTTP/1.0" and "HTTP/1.1".
std::optional<Version> ParseVersion(std::string_view text);

}  // namespace odyssey::egress::http

#endif  // ODYSSEY_SUPERVISOR_EGRESS_HTTP_HEAD_LINES_H_
