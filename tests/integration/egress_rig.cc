#include "tests/integration/egress_rig.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <utility>

#include "common/os/message_socket.h"

namespace odyssey::testing {
namespace {

using cell::EgressWay;

constexpr std::chrono::seconds kHang{120};

sockaddr_in AddressOf(const char* host, uint16_t port) {
  sockaddr_in out{};
  out.sin_family = AF_INET;
  out.sin_port = htons(port);
  inet_pton(AF_INET, host, &out.sin_addr);
  return out;
}

UniqueFd Bound(int type, const char* host, uint16_t port, uint16_t* bound) {
  UniqueFd out(socket(AF_INET, type | SOCK_CLOEXEC, 0));
  const int on = 1;
  setsockopt(out.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  sockaddr_in address = AddressOf(host, port);
  socklen_t size = sizeof(address);
  EXPECT_EQ(bind(out.get(), reinterpret_cast<sockaddr*>(&address), size), 0) << strerror(errno);
  EXPECT_TRUE(type != SOCK_STREAM || listen(out.get(), 4096) == 0);
  getsockname(out.get(), reinterpret_cast<sockaddr*>(&address), &size);
  *bound = ntohs(address.sin_port);
  return out;
}

UniqueFd ConnectedTo(int type, uint16_t port) {
  UniqueFd out(socket(AF_INET, type | SOCK_CLOEXEC, 0));
  const timeval hang{.tv_sec = kHang.count(), .tv_usec = 0};
  setsockopt(out.get(), SOL_SOCKET, SO_RCVTIMEO, &hang, sizeof(hang));
  const sockaddr_in address = AddressOf("127.0.0.1", port);
  EXPECT_EQ(connect(out.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0)
      << strerror(errno);
  return out;
}

std::string EnterNetwork() {
  if (geteuid() != 0) return "needs root";
  if (unshare(CLONE_NEWNET) != 0) return "no network namespace";
  const std::string commands =
      "ip link set lo up && ip route add local 93.184.216.0/24 dev lo && "
      "ip link add h0 type veth peer name h1 && ip link set h0 arp off up && ip link set h1 up && "
      "ip address add 11.0.0.1/24 dev h0 && ip route add 94.0.0.0/24 dev h0";
  return system(commands.c_str()) == 0 ? "" : "no network could be made";  // NOLINT
}

void SendAll(int socket, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n <= 0) return;
    bytes.remove_prefix(static_cast<size_t>(n));
  }
}

// false: at the end.
bool Receive(int socket, std::string* to) {
  char part[16384];
  const ssize_t n = recv(socket, part, sizeof(part), 0);
  if (n > 0) to->append(part, static_cast<size_t>(n));
  return n > 0;
}

}  // namespace

const std::string& WhyNoNetwork() {
  static const std::string why = EnterNetwork();
  return why;
}

void Eventually(const std::function<bool()>& done, const std::string& what) {
  const auto end = std::chrono::steady_clock::now() + kHang;
  while (!done()) {
    ASSERT_LT(std::chrono::steady_clock::now(), end) << what;
    usleep(10'000);
  }
}

// ── Servers ─────────────────────────────────────────────────────────────────────────────────────

Server::Server(uint16_t port, std::function<void(int)> serve)
    : port_(port), serve_(std::move(serve)) {
  uint16_t bound = 0;
  listener_ = Bound(SOCK_STREAM, kServerHost, port, &bound);
  accept_ = std::thread([this] { Accept(); });
}

Server::~Server() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
    for (const int fd : open_) shutdown(fd, SHUT_RDWR);
  }
  shutdown(listener_.get(), SHUT_RDWR);
  accept_.join();
  for (std::thread& thread : connections_) thread.join();
}

void Server::Accept() {
  for (;;) {
    UniqueFd socket(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    const std::lock_guard lock(mutex_);
    if (!socket || stop_) return;
    open_.push_back(socket.get());
    connections_.emplace_back([this, socket = std::move(socket)] {
      serve_(socket.get());
      shutdown(socket.get(), SHUT_RDWR);
      const std::lock_guard own(mutex_);
      std::erase(open_, socket.get());
    });
  }
}

void Echo(int socket) {
  for (std::string part; Receive(socket, &part); part.clear()) SendAll(socket, part);
}

void AnswerRequests(int socket) {
  for (std::string bytes; Receive(socket, &bytes);) {
    for (size_t end; (end = bytes.find("\r\n\r\n")) != std::string::npos;) {
      bytes.erase(0, end + 4);
      SendAll(socket, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    }
  }
}

std::function<void(int)> Say(std::string answer) {
  return [answer = std::move(answer)](int socket) {
    std::string bytes;
    while (bytes.find("\r\n\r\n") == std::string::npos) {
      if (!Receive(socket, &bytes)) return;
    }
    SendAll(socket, answer);
    while (Receive(socket, &bytes)) continue;
  };
}

// ── Programs ────────────────────────────────────────────────────────────────────────────────────

Client& Client::Send(std::string_view bytes) {
  SendAll(socket_.get(), bytes);
  return *this;
}

std::string Client::Until(std::string_view text) {
  std::string out;
  while (out.find(text) == std::string::npos && Receive(socket_.get(), &out)) continue;
  return out;
}

std::string Client::Rest() {
  std::string out;
  errno = 0;
  while (Receive(socket_.get(), &out)) continue;
  return errno == ECONNRESET ? "reset" : out;
}

bool Client::HasBytes() const {
  pollfd wait{.fd = socket_.get(), .events = POLLIN, .revents = 0};
  return poll(&wait, 1, 0) > 0;
}

std::string Get(uint16_t port, std::string_view path) {
  const std::string host = std::string(kServerHost) + ":" + std::to_string(port);
  return "GET http://" + host + std::string(path) + " HTTP/1.1\r\nHost: " + host + "\r\n\r\n";
}

std::string ConnectTo(std::string_view host, uint16_t port) {
  const std::string to = std::string(host) + ":" + std::to_string(port);
  return "CONNECT " + to + " HTTP/1.1\r\nHost: " + to + "\r\n\r\n";
}

// ── The broker ──────────────────────────────────────────────────────────────────────────────────

Broker::Broker(std::vector<std::string> limits, int open_files) {
  char name[] = "/tmp/odyssey-egress-XXXXXX";
  directory_ = mkdtemp(name);
  std::filesystem::create_directory(directory_ + "/egress");
  socket_path_ = directory_ + egress_wire::kBrokerSocket;
  const std::string program =
      std::filesystem::read_symlink("/proc/self/exe").parent_path() / "../bin/odyssey-egress";
  std::vector<std::string> words = {program, "--run", directory_, "--client-uid", "0"};
  for (const std::string& limit : limits) words.insert(words.end(), {"--limit", limit});
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  int ready[2];
  if (pipe2(ready, O_CLOEXEC) != 0) abort();
  pid_ = fork();
  if (pid_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const rlimit files{static_cast<rlim_t>(open_files), static_cast<rlim_t>(open_files)};
    if (open_files > 0) setrlimit(RLIMIT_NOFILE, &files);
    dup2(ready[1], STDOUT_FILENO);
    execv(argv[0], argv.data());
    _exit(127);
  }
  close(ready[1]);
  const UniqueFd out(ready[0]);
  char byte = 0;
  EXPECT_EQ(read(out.get(), &byte, 1), 1) << program;
}

Broker::~Broker() {
  if (pid_ > 0) kill(pid_, SIGKILL);
  if (pid_ > 0) waitpid(pid_, nullptr, 0);
  std::filesystem::remove_all(directory_);
}

std::vector<pid_t> Broker::workers() const {
  const std::string pid = std::to_string(pid_);
  std::ifstream children("/proc/" + pid + "/task/" + pid + "/children");
  std::vector<pid_t> out;
  for (pid_t child; children >> child;) out.push_back(child);
  return out;
}

// ── A cell ──────────────────────────────────────────────────────────────────────────────────────

Cell::Cell(const Broker& broker, const egress::NetworkPolicy& policy)
    : rpc_(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  broker.socket_path().copy(address.sun_path, sizeof(address.sun_path) - 1);
  EXPECT_EQ(connect(rpc_.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  SetPolicy(policy);
  const UniqueFd proxy = Bound(SOCK_STREAM, "127.0.0.1", 0, &proxy_);
  const UniqueFd names = Bound(SOCK_DGRAM, "127.0.0.1", 0, &names_);
  for (const auto& [kind, fd] : {std::pair{EgressWay::Kind::kProxy, proxy.get()},
                                 std::pair{EgressWay::Kind::kNames, names.get()}}) {
    const egress_wire::Way way{EgressWay{kind, 0}};
    EXPECT_TRUE(SendMessage(rpc_.get(), egress_wire::Encode(way), {fd}).ok());
  }
}

void Cell::SetPolicy(const egress::NetworkPolicy& policy) {
  const egress_wire::SetPolicy message{
      .cell_id = "cel_1", .revision = ++revision_, .policy = policy};
  EXPECT_TRUE(SendMessage(rpc_.get(), egress_wire::Encode(message)).ok());
}

Client Cell::Connect() const { return Client(ConnectedTo(SOCK_STREAM, proxy_)); }

std::string Cell::StatusOf(const std::string& request) const {
  Client client = Connect();
  const std::string answer = client.Send(request).Until("\r\n\r\n");
  return answer.size() < 12 ? "" : answer.substr(9, 3);
}

void Cell::LookUp(const std::string& name) const {
  std::string query{"\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00", 12};
  query += static_cast<char>(name.size());
  query += name + std::string("\x00\x00\x01\x00\x01", 5);
  const UniqueFd socket = ConnectedTo(SOCK_DGRAM, names_);
  SendAll(socket.get(), query);
  std::string reply;
  EXPECT_TRUE(testing::Receive(socket.get(), &reply));
}

void Cell::Receive() {
  for (;;) {
    const Result<Message> message = ReceiveMessage(rpc_.get(), MSG_DONTWAIT);
    if (!message.ok()) return;
    egress_wire::Record record;
    egress_wire::Synced synced;
    if (egress_wire::Decode(message->bytes, &synced).ok()) synced_ = synced.number;
    // Else it is loaded, or has placeholders.
    if (egress_wire::Decode(message->bytes, &record).ok()) records_.push_back(std::move(record));
  }
}

const std::vector<egress_wire::Record>& Cell::records() {
  Receive();
  return records_;
}

size_t Cell::Count(const std::string& code) {
  const auto& all = records();
  return static_cast<size_t>(std::count_if(
      all.begin(), all.end(), [&](const egress_wire::Record& r) { return r.code == code; }));
}

void Cell::WaitFor(const std::string& code, size_t count) {
  Eventually([&] { return Count(code) >= count; }, "a record of " + code);
  EXPECT_EQ(Count(code), count);
}

void Cell::Sync() {
  const egress_wire::Sync sync{++sync_};
  ASSERT_TRUE(SendMessage(rpc_.get(), egress_wire::Encode(sync)).ok());
  while (synced_ < sync.number) {
    pollfd readable{rpc_.get(), POLLIN, 0};
    ASSERT_EQ(poll(&readable, 1, -1), 1);
    Receive();
  }
}

uint64_t Cell::suppressed() {
  uint64_t sum = 0;
  for (const egress_wire::Record& record : records()) sum += record.suppressed;
  return sum;
}

uint64_t Cell::denied() {
  uint64_t sum = 0;
  for (const egress_wire::Record& record : records()) {
    if (record.verdict != egress_wire::Verdict::kDenied) continue;
    sum += std::max<uint64_t>(record.suppressed, 1);
  }
  return sum;
}

egress::NetworkPolicy PolicyFor(std::vector<uint16_t> ports, const std::string& host) {
  egress::NetworkPolicy out;
  out.rules = {{.key = "x",
                .name = "x",
                .endpoints = {{.host = host, .ports = std::move(ports), .key = "x.endpoints[0]"}},
                .binaries = {{.path = "/**"}}}};
  return out;
}

}  // namespace odyssey::testing
