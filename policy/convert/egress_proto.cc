#include "policy/convert/egress_proto.h"

#include <algorithm>
#include <string>
#include <type_traits>
#include <vector>

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include "policy/egress/pattern.h"
#include "policy/egress/policy_fields.h"
#include "policy/egress/reach.h"

namespace odyssey::policy {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

// An enumerator of a message stands one above the model's: 0 is UNSPECIFIED.
constexpr int kFirstEnumerator = 1;

const FieldDescriptor* FieldOf(const Message& message, const char* name) {
  const FieldDescriptor* field = message.GetDescriptor()->FindFieldByName(name);
  ODY_CHECK(field != nullptr);
  return field;
}

// Writes the fields that VisitFields names into a message that has them.
class PutMessage final {
 public:
  explicit PutMessage(Message* message)
      : message_(*message), reflection_(*message->GetReflection()) {}
  void Text(const char* name, std::string& v, uint32_t) {
    reflection_.SetString(&message_, Field(name), v);
  }
  void Bool(const char* name, bool& v) { reflection_.SetBool(&message_, Field(name), v); }
  void U64(const char* name, uint64_t& v) { reflection_.SetUInt64(&message_, Field(name), v); }
  template <typename E>
  void Enum(const char* name, E& v, E) {
    reflection_.SetEnumValue(&message_, Field(name), static_cast<int>(v) + kFirstEnumerator);
  }
  void Texts(const char* name, std::vector<std::string>& v, uint32_t, uint32_t) {
    for (const std::string& text : v) reflection_.AddString(&message_, Field(name), text);
  }
  void List(const char* name, std::vector<uint16_t>& v, uint32_t) {
    for (const uint16_t number : v) reflection_.AddUInt32(&message_, Field(name), number);
  }
  void List(const char* name, std::vector<egress::AddressRange>& v, uint32_t) {
    for (const auto& range : v) reflection_.AddString(&message_, Field(name), ToString(range));
  }
  template <typename T>
  void List(const char* name, std::vector<T>& v, uint32_t) {
    for (T& item : v) {
      PutMessage put(reflection_.AddMessage(&message_, Field(name)));
      VisitFields(put, item);
    }
  }

 private:
  const FieldDescriptor* Field(const char* name) const { return FieldOf(message_, name); }
  Message& message_;
  const Reflection& reflection_;
};

class GetMessage final {
 public:
  // `path`: of the message, for errors.
  GetMessage(const Message* message, std::string path, Status* status)
      : message_(*message),
        reflection_(*message->GetReflection()),
        path_(std::move(path)),
        status_(*status) {}
  void Text(const char* name, std::string& v, uint32_t max) {
    v = reflection_.GetString(message_, Field(name));
    if (v.size() > max) Refuse(name, "at most " + std::to_string(max) + " bytes are allowed");
  }
  void Bool(const char* name, bool& v) { v = reflection_.GetBool(message_, Field(name)); }
  void U64(const char* name, uint64_t& v) { v = reflection_.GetUInt64(message_, Field(name)); }
  template <typename E>
  void Enum(const char* name, E& v, E last) {
    const int value = reflection_.GetEnumValue(message_, Field(name)) - kFirstEnumerator;
    const bool known = value >= 0 && value <= static_cast<int>(last);
    if (value >= 0 && !known) Refuse(name, "the value is unknown");
    v = static_cast<E>(known ? value : 0);  // unspecified is the first
  }
  void Texts(const char* name, std::vector<std::string>& v, uint32_t max, uint32_t max_length) {
    const FieldDescriptor* field = Field(name);
    const int count = Count(name, max);
    for (int i = 0; i < count; ++i) {
      v.push_back(reflection_.GetRepeatedString(message_, field, i));
      if (v.back().size() > max_length) Refuse(name, "a value is too long");
    }
  }
  void List(const char* name, std::vector<uint16_t>& v, uint32_t max) {
    const int count = Count(name, max);
    for (int i = 0; i < count; ++i) {
      const uint32_t number = reflection_.GetRepeatedUInt32(message_, Field(name), i);
      if (number > UINT16_MAX) Refuse(name, "1 to 65535 is allowed");
      v.push_back(static_cast<uint16_t>(number));
    }
  }
  void List(const char* name, std::vector<egress::AddressRange>& v, uint32_t max) {
    const int count = Count(name, max);
    for (int i = 0; i < count; ++i) {
      const auto range =
          egress::ParseRange(reflection_.GetRepeatedString(message_, Field(name), i));
      range.ok() ? v.push_back(*range) : Refuse(name, range.status().message());
    }
  }
  template <typename T>
  void List(const char* name, std::vector<T>& v, uint32_t max) {
    const int count = Count(name, max);
    for (int i = 0; i < count; ++i) {
      GetMessage get(&reflection_.GetRepeatedMessage(message_, Field(name), i),
                     path_ + "." + name + "[" + std::to_string(i) + "]", &status_);
      VisitFields(get, v.emplace_back());
    }
  }

 private:
  const FieldDescriptor* Field(const char* name) const { return FieldOf(message_, name); }
  int Count(const char* name, uint32_t max) {
    const int count = reflection_.FieldSize(message_, Field(name));
    if (count <= static_cast<int>(max)) return count;
    Refuse(name, "at most " + std::to_string(max) + " are allowed");
    return 0;
  }
  void Refuse(const char* name, const std::string& why) {
    if (status_.ok()) status_ = InvalidArgument(path_ + "." + name + ": " + why);
  }
  const Message& message_;
  const Reflection& reflection_;
  const std::string path_;
  Status& status_;
};

// As a reader of files leaves it.
void Normalize(egress::NetworkPolicy* policy) {
  for (egress::Rule& rule : policy->rules) {
    for (egress::Binary& binary : rule.binaries) binary.only_itself |= !binary.sha256.empty();
    for (egress::Endpoint& endpoint : rule.endpoints) {
      std::sort(endpoint.ports.begin(), endpoint.ports.end());
      for (uint64_t* bytes : {&endpoint.graphql.max_body_bytes, &endpoint.rpc.max_body_bytes}) {
        if (*bytes == 0) *bytes = egress::kDefaultBodyBytes;
      }
    }
  }
}

// Of the client: what a reader of files would have checked.
Status Check(const egress::Endpoint& endpoint, const std::string& path) {
  if (endpoint.ports.empty()) return InvalidArgument(path + ".ports: name at least one");
  const bool every_port = endpoint.ports[0] == egress::kEveryPort;
  if (every_port != egress::IsPublic(endpoint) || (every_port && endpoint.ports.size() > 1)) {
    return InvalidArgument(path + ".ports: 0 is every port, alone, of the host `**`");
  }
  for (const uint16_t port : endpoint.ports) {
    if (!egress::IsControlPlanePort(port)) continue;
    return InvalidArgument(path + ".ports: " + std::to_string(port) +
                           " belongs to cluster control planes, which no policy opens");
  }
  if (endpoint.host.empty() && endpoint.allowed_ips.empty()) {
    return InvalidArgument(path + ".host: name a host, or allowed_ips");
  }
  if (!endpoint.host.empty() && !every_port) {
    const auto host = egress::NormalizeHost(endpoint.host);
    if (!host.ok()) return InvalidArgument(path + ".host: " + host.status().message());
    if (*host != endpoint.host) {
      return InvalidArgument(path + ".host: `" + endpoint.host + "`: write `" + *host + "`");
    }
  }
  std::vector<const egress::Matcher*> matchers;
  for (const auto* list : {&endpoint.allow, &endpoint.deny}) {
    for (const egress::Matcher& matcher : *list) matchers.push_back(&matcher);
  }
  std::vector<std::string> patterns = {endpoint.path};
  for (const egress::Matcher* matcher : matchers) patterns.push_back(matcher->path);
  for (const std::string& pattern : patterns) {
    if (!pattern.empty()) ODY_RETURN_IF_ERROR(egress::CheckPathPattern(path + ": path", pattern));
  }
  return OkStatus();
}

Status Check(const egress::Binary& binary, const std::string& path) {
  if (binary.sha256.empty() || egress::IsSha256(binary.sha256)) return OkStatus();
  return InvalidArgument(path + ".sha256: 64 hex digits in lower case are allowed");
}

template <typename T>
Status CheckAll(const std::vector<T>& items, const std::string& path) {
  for (size_t i = 0; i < items.size(); ++i) {
    ODY_RETURN_IF_ERROR(Check(items[i], path + "[" + std::to_string(i) + "]"));
  }
  return OkStatus();
}

}  // namespace

v1::EgressPolicy ToProto(const egress::NetworkPolicy& policy) {
  v1::EgressPolicy out;
  PutMessage put(&out);
  VisitFields(put, const_cast<egress::NetworkPolicy&>(policy));  // PutMessage changes no field
  return out;
}

Status FromProto(const v1::EgressPolicy& message, egress::NetworkPolicy* out,
                 const std::string& path) {
  *out = {};
  Status status;
  GetMessage get(&message, path, &status);
  VisitFields(get, *out);
  ODY_RETURN_IF_ERROR(status);
  Normalize(out);
  for (size_t i = 0; i < out->rules.size(); ++i) {
    const std::string rule = path + ".rules[" + std::to_string(i) + "]";
    ODY_RETURN_IF_ERROR(CheckAll(out->rules[i].endpoints, rule + ".endpoints"));
    ODY_RETURN_IF_ERROR(CheckAll(out->rules[i].binaries, rule + ".binaries"));
  }
  return OkStatus();
}

}  // namespace odyssey::policy
