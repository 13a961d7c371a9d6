#ifndef ODYSSEY_HTTP_API_OPENAPI_H_
#define ODYSSEY_HTTP_API_OPENAPI_H_

#include <string>

namespace odyssey::api {

// The routes as an OpenAPI 3.1 document, in JSON; schemas of messages are made of their
// descriptors. Made once.
const std::string& OpenApiDocument();

}  // namespace odyssey::api

#endif  // ODYSSEY_HTTP_API_OPENAPI_H_
