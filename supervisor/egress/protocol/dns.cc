#include "supervisor/egress/protocol/dns.h"

#include <algorithm>

#include "supervisor/egress/protocol/host_name.h"
#include "supervisor/egress/protocol/network_reader.h"

namespace odyssey::egress::protocol {
namespace {

constexpr size_t kHeader = 12;
constexpr size_t kMaxWireName = 255;  // with the lengths of its labels
constexpr uint16_t kClassIn = 1, kOpt = 41;
// Of the header's bytes 2 and 3, and the low bytes of its counts of records.
constexpr unsigned char kIsResponse = 0x80, kOpcode = 0x78, kRecursionDesired = 0x01;
constexpr unsigned char kRecursionAvailable = 0x80;
constexpr size_t kQuestions = 5, kAnswers = 7, kAdditional = 11;
// The question's name, which is behind the header, as a compression pointer.
constexpr uint16_t kQuestionName = 0xc000 | kHeader;

void PutU16(std::string* out, size_t value) {
  *out += static_cast<char>(value >> 8);
  *out += static_cast<char>(value);
}

unsigned char FlagsOf(std::string_view message) { return static_cast<unsigned char>(message[2]); }

// The header and, with `questions` 1, the question of a reply.
std::string ReplyHead(std::string_view message, std::string_view question) {
  std::string head(message.substr(0, 2));
  head += static_cast<char>(kIsResponse | (FlagsOf(message) & kRecursionDesired));
  head += static_cast<char>(kRecursionAvailable);
  head.append(kHeader - head.size(), '\0');
  head[kQuestions] = question.empty() ? 0 : 1;
  head += question;
  return head;
}

// The labels with dots between them. A label with a dot of its own would read as two: nullopt, as
// for every name that no host has. What is malformed fails the reader.
std::optional<std::string> ReadName(NetworkReader* in) {
  std::string name;
  size_t wire_size = 1;
  bool dot_in_label = false;
  for (size_t length = in->U8(); length != 0; length = in->U8()) {
    wire_size += 1 + length;
    // A longer label is a compression pointer: what it points to is no part of a question.
    if (length > kMaxLabel || wire_size > kMaxWireName) in->Fail();
    const std::string_view label = in->View(length);
    dot_in_label = dot_in_label || label.find('.') != std::string_view::npos;
    if (!name.empty()) name += '.';
    name += label;
  }
  if (in->failed() || dot_in_label) return std::nullopt;
  return ReadHostName(name);
}

// The one record that may stand behind the question.
bool ReadOpt(NetworkReader* in) {
  const uint8_t name = in->U8();
  const uint16_t type = in->U16();
  in->U16();  // the size of the sender's buffers: no reply exceeds the smallest
  in->U8();
  const uint8_t version = in->U8();
  in->U16();
  in->View(in->U16());
  return !in->failed() && name == 0 && type == kOpt && version == 0;
}

struct Question {
  std::optional<std::string> name;
  uint16_t type = 0;
  uint16_t of_class = 0;
  std::string_view bytes;
  bool edns = false;
};

// nullopt: malformed.
std::optional<Question> ReadQuestion(std::string_view message) {
  NetworkReader in(message);
  in.View(4);
  const uint16_t questions = in.U16();
  const uint16_t answers = in.U16();
  const uint16_t authorities = in.U16();
  const uint16_t additional = in.U16();
  if (questions != 1 || answers != 0 || authorities != 0 || additional > 1) return std::nullopt;

  Question question;
  question.name = ReadName(&in);
  question.type = in.U16();
  question.of_class = in.U16();
  question.bytes = message.substr(kHeader, message.size() - kHeader - in.rest().size());
  question.edns = additional == 1;
  if (question.edns && !ReadOpt(&in)) return std::nullopt;
  if (!in.Done()) return std::nullopt;
  return question;
}

template <typename Address>
void PutRecords(const DnsQuery& query, const std::vector<Address>& addresses,
                std::chrono::seconds ttl, std::string* out) {
  const size_t count = std::min(addresses.size(), kMaxDnsAddresses);
  (*out)[kAnswers] = static_cast<char>(count);
  const auto seconds = std::clamp(ttl, std::chrono::seconds(0), kMaxDnsTtl).count();
  for (size_t i = 0; i < count; ++i) {
    PutU16(out, kQuestionName);
    PutU16(out, query.type);
    PutU16(out, kClassIn);
    PutU16(out, 0);
    PutU16(out, static_cast<size_t>(seconds));
    PutU16(out, addresses[i].size());
    out->append(addresses[i].begin(), addresses[i].end());
  }
}

void PutOpt(const DnsQuery& query, std::string* out) {
  if (!query.edns) return;
  (*out)[kAdditional] = 1;
  *out += '\0';
  PutU16(out, kOpt);
  PutU16(out, kMaxDnsMessage);
  out->append(6, '\0');  // no extended code, version 0, no flags, no options
}

}  // namespace

DnsReceived ReadDnsQuery(std::string_view message) {
  if (message.size() < kHeader || (FlagsOf(message) & kIsResponse) != 0) return {};
  DnsQuery query;
  query.reply_head = ReplyHead(message, "");
  if ((FlagsOf(message) & kOpcode) != 0) return {std::nullopt, DnsReply(query, DnsCode::kNotImp)};
  const std::optional<Question> question =
      message.size() > kMaxDnsMessage ? std::nullopt : ReadQuestion(message);
  if (!question) return {std::nullopt, DnsReply(query, DnsCode::kFormErr)};

  query.type = question->type;
  query.edns = question->edns;
  query.reply_head = ReplyHead(message, question->bytes);
  if (!question->name || question->of_class != kClassIn) {
    return {std::nullopt, DnsReply(query, DnsCode::kRefused)};
  }
  query.name = *question->name;
  return {std::move(query), ""};
}

std::string DnsReply(const DnsQuery& query, DnsCode code) {
  std::string reply = query.reply_head;
  reply[3] = static_cast<char>(kRecursionAvailable | static_cast<unsigned char>(code));
  PutOpt(query, &reply);
  return reply;
}

std::string DnsReply(const DnsQuery& query, const DnsAddresses& addresses,
                     std::chrono::seconds ttl) {
  std::string reply = query.reply_head;
  if (query.type == kDnsA) PutRecords(query, addresses.v4, ttl, &reply);
  if (query.type == kDnsAaaa) PutRecords(query, addresses.v6, ttl, &reply);
  PutOpt(query, &reply);
  return reply;
}

DnsFrame ReadDnsFrame(std::string_view stream) {
  NetworkReader in(stream);
  const size_t size = in.U16();
  if (in.failed()) return {};
  if (size < kHeader || size > kMaxDnsMessage) return {DnsFrameState::kBad, {}, 0};
  const std::string_view message = in.View(size);
  if (in.failed()) return {};
  return {DnsFrameState::kMessage, message, stream.size() - in.rest().size()};
}

std::string FrameDns(std::string_view message) {
  std::string out;
  PutU16(&out, message.size());
  return out.append(message);
}

}  // namespace odyssey::egress::protocol
