// odyssey-stub-generator SET FILE: prints the client stubs of the services in FILE, a .proto of the
// descriptor set that protoc wrote to SET. A build tool: the paths of calls come from where their
// messages do.

#include <google/protobuf/descriptor.pb.h>

#include <cstdio>
#include <fstream>
#include <iostream>
#include <string>

namespace pb = google::protobuf;

namespace {

// ".odyssey.agent.v1.Event" → "::odyssey::agent::v1::Event".
std::string TypeName(const std::string& proto_name) {
  std::string out;
  for (const char letter : proto_name) out += letter == '.' ? "::" : std::string(1, letter);
  return out;
}

std::string MethodText(const std::string& service, const pb::MethodDescriptorProto& method) {
  const std::string request = TypeName(method.input_type());
  const std::string response = TypeName(method.output_type());
  const std::string stream = "::odyssey::rpc::Stream<" + request + ", " + response + ">";
  const std::string path = "channel_, \"/" + service + "/" + method.name() + "\", options";
  const std::string options = "(const ::odyssey::rpc::CallOptions& options";
  const std::string start = options + ", const " + request +
                            "& request) const {\n    return ::odyssey::rpc::StartStream<" +
                            request + ", " + response + ">(" + path + ", request);";
  std::string text;
  if (method.client_streaming()) {
    text = stream + " " + method.name() + options + ") const {\n    return {" + path + "};";
  } else if (method.server_streaming()) {
    text = stream + " " + method.name() + start;
  } else {
    // Blocking, and for a poll loop.
    text = stream + " Start" + method.name() + start + "\n  }\n  ::odyssey::Status " +
           method.name() + options + ", const " + request + "& request, " + response +
           "* response) const {\n    return ::odyssey::rpc::CallUnary(" + path +
           ", request, response);";
  }
  return "  " + text + "\n  }\n";
}

std::string ServiceText(const std::string& package, const pb::ServiceDescriptorProto& service) {
  const std::string name = service.name() + "Stub";
  std::string text = "class " + name + " final {\n public:\n  explicit " + name +
                     "(std::shared_ptr<::odyssey::rpc::H2Channel> channel)\n"
                     "      : channel_(std::move(channel)) {}\n";
  for (const pb::MethodDescriptorProto& method : service.method()) {
    text += MethodText(package + "." + service.name(), method);
  }
  return text + "\n private:\n  std::shared_ptr<::odyssey::rpc::H2Channel> channel_;\n};\n";
}

std::string FileText(const pb::FileDescriptorProto& file) {
  const std::string stem = file.name().substr(0, file.name().rfind('.'));
  const std::string space = TypeName(file.package());
  std::string text = "// Made from " + file.name() +
                     " by odyssey-stub-generator.\n#pragma once\n\n#include \"" + stem +
                     ".pb.h\"\n#include \"common/rpc/stub.h\"\n\nnamespace " + space + " {\n";
  for (const pb::ServiceDescriptorProto& service : file.service()) {
    text += "\n" + ServiceText(file.package(), service);
  }
  return text + "\n}  // namespace " + space + "\n";
}

}  // namespace

int main(int argc, char** argv) {
  pb::FileDescriptorSet set;
  std::ifstream input(argc == 3 ? argv[1] : "", std::ios::binary);
  if (!input || !set.ParseFromIstream(&input)) {
    fprintf(stderr, "usage: odyssey-stub-generator SET FILE\n");
    return 2;
  }
  for (const pb::FileDescriptorProto& file : set.file()) {
    if (file.name() != argv[2]) continue;
    std::cout << FileText(file) << std::flush;
    return std::cout ? 0 : 1;
  }
  fprintf(stderr, "odyssey-stub-generator: %s is not in %s\n", argv[2], argv[1]);
  return 1;
}
