#include "tests/fuzz/http_oracle.h"

#include <llhttp.h>

#include "common/base/status.h"

namespace odyssey::fuzz {
namespace {

struct Oracle {
  std::vector<OracleRequest> requests;
  std::string field;
};

Oracle* OracleOf(llhttp_t* parser) { return static_cast<Oracle*>(parser->data); }

int OnBegin(llhttp_t* parser) {
  OracleOf(parser)->requests.emplace_back();
  return 0;
}

int OnMethod(llhttp_t* parser, const char* at, size_t size) {
  OracleOf(parser)->requests.back().method.append(at, size);
  return 0;
}

int OnUrl(llhttp_t* parser, const char* at, size_t size) {
  OracleOf(parser)->requests.back().target.append(at, size);
  return 0;
}

int OnField(llhttp_t* parser, const char* at, size_t size) {
  OracleOf(parser)->field.append(at, size);
  return 0;
}

int OnFieldEnd(llhttp_t* parser) {
  Oracle* const oracle = OracleOf(parser);
  if (oracle->field == "Host" || oracle->field == "host") ++oracle->requests.back().hosts;
  oracle->field.clear();
  return 0;
}

int OnBody(llhttp_t* parser, const char* at, size_t size) {
  OracleOf(parser)->requests.back().body.append(at, size);
  return 0;
}

int OnEnd(llhttp_t* parser) {
  OracleOf(parser)->requests.back().whole = true;
  return 0;
}

}  // namespace

std::vector<OracleRequest> ReadByLlhttp(const std::string& bytes) {
  Oracle oracle;
  llhttp_settings_t settings;
  llhttp_settings_init(&settings);
  settings.on_message_begin = OnBegin;
  settings.on_method = OnMethod;
  settings.on_url = OnUrl;
  settings.on_header_field = OnField;
  settings.on_header_field_complete = OnFieldEnd;
  settings.on_body = OnBody;
  settings.on_message_complete = OnEnd;
  llhttp_t parser;
  llhttp_init(&parser, HTTP_REQUEST, &settings);
  parser.data = &oracle;
  const llhttp_errno_t error = llhttp_execute(&parser, bytes.data(), bytes.size());
  if (error == HPE_INVALID_METHOD) return {};
  ODY_CHECK(error == HPE_OK);
  return oracle.requests;
}

}  // namespace odyssey::fuzz
