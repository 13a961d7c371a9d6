// Kinds of sockets: each family and protocol is a part of the kernel to attack.

#include <linux/netlink.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "supervisor/probe/answers.h"
#include "supervisor/probe/groups.h"

namespace odyssey::probe {
namespace {

constexpr char kLayer[] = "seccomp";

struct SocketCase {
  const char* name;
  int family;
  int type;
  int protocol;
};

constexpr int kXdp = 44, kMctp = 45, kSmc = 43;  // newer than Debian 12's headers name

constexpr SocketCase kKinds[] = {
    {"packet", AF_PACKET, SOCK_RAW, 0},
    {"packet_datagrams", AF_PACKET, SOCK_DGRAM, 0},
    {"vsock", AF_VSOCK, SOCK_STREAM, 0},
    {"vsock_datagrams", AF_VSOCK, SOCK_DGRAM, 0},
    {"alg", AF_ALG, SOCK_SEQPACKET, 0},
    {"key", AF_KEY, SOCK_RAW, 2},
    {"xdp", kXdp, SOCK_RAW, 0},
    {"rds", AF_RDS, SOCK_SEQPACKET, 0},
    {"tipc", AF_TIPC, SOCK_SEQPACKET, 0},
    {"can", AF_CAN, SOCK_RAW, 1},
    {"bluetooth", AF_BLUETOOTH, SOCK_RAW, 1},
    {"nfc", AF_NFC, SOCK_SEQPACKET, 0},
    {"smc", kSmc, SOCK_STREAM, 0},
    {"qipcrtr", AF_QIPCRTR, SOCK_DGRAM, 0},
    {"kcm", AF_KCM, SOCK_DGRAM, 0},
    {"mctp", kMctp, SOCK_DGRAM, 0},
    {"ax25", AF_AX25, SOCK_SEQPACKET, 0},
    {"ipx", AF_IPX, SOCK_DGRAM, 0},
    {"appletalk", AF_APPLETALK, SOCK_DGRAM, 0},
    {"netrom", AF_NETROM, SOCK_SEQPACKET, 0},
    {"x25", AF_X25, SOCK_SEQPACKET, 0},
    {"rose", AF_ROSE, SOCK_SEQPACKET, 0},
    {"decnet", AF_DECnet, SOCK_SEQPACKET, 0},
    {"atm", AF_ATMPVC, SOCK_DGRAM, 0},
    {"irda", AF_IRDA, SOCK_SEQPACKET, 0},
    {"pppox", AF_PPPOX, SOCK_STREAM, 0},
    {"llc", AF_LLC, SOCK_DGRAM, 0},
    {"infiniband", AF_IB, SOCK_STREAM, 0},
    {"mpls", AF_MPLS, SOCK_DGRAM, 0},
    {"rxrpc", AF_RXRPC, SOCK_DGRAM, 0},
    {"isdn", AF_ISDN, SOCK_RAW, 0},
    {"phonet", AF_PHONET, SOCK_DGRAM, 0},
    {"ieee802154", AF_IEEE802154, SOCK_RAW, 0},
    {"caif", AF_CAIF, SOCK_SEQPACKET, 0},
    {"raw", AF_INET, SOCK_RAW, IPPROTO_ICMP},
    {"raw_ipv6", AF_INET6, SOCK_RAW, IPPROTO_ICMPV6},
    {"raw_everything", AF_INET, SOCK_RAW, IPPROTO_RAW},
    {"packet_of_inet", AF_INET, SOCK_PACKET, 0x0300},
    {"mptcp", AF_INET, SOCK_STREAM, 262},
    {"sctp", AF_INET, SOCK_STREAM, IPPROTO_SCTP},
    {"sctp_packets", AF_INET, SOCK_SEQPACKET, IPPROTO_SCTP},
    {"dccp", AF_INET, SOCK_DCCP, IPPROTO_DCCP},
    {"udplite", AF_INET, SOCK_DGRAM, IPPROTO_UDPLITE},
    {"netlink_usersock", AF_NETLINK, SOCK_RAW, NETLINK_USERSOCK},
    {"netlink_sock_diag", AF_NETLINK, SOCK_RAW, NETLINK_SOCK_DIAG},
    {"netlink_xfrm", AF_NETLINK, SOCK_RAW, NETLINK_XFRM},
    {"netlink_audit", AF_NETLINK, SOCK_RAW, NETLINK_AUDIT},
    {"netlink_connector", AF_NETLINK, SOCK_RAW, NETLINK_CONNECTOR},
    {"netlink_netfilter", AF_NETLINK, SOCK_RAW, NETLINK_NETFILTER},
    {"netlink_uevent", AF_NETLINK, SOCK_RAW, NETLINK_KOBJECT_UEVENT},
    {"netlink_generic", AF_NETLINK, SOCK_RAW, NETLINK_GENERIC},
    {"netlink_crypto", AF_NETLINK, SOCK_RAW, NETLINK_CRYPTO},
};

}  // namespace

void AddSocketKindProbes(Probes* all) {
  for (const SocketCase& kind : kKinds) {
    all->push_back(
        {std::string("kernel.socket_") + kind.name, "EPERM", kLayer, [&kind](const Targets&) {
           // libaudit takes that for a kernel without auditing.
           const bool audit = kind.family == AF_NETLINK && kind.protocol == NETLINK_AUDIT;
           return MustBeRefused(
               Call(SYS_socket, kind.family, kind.type | SOCK_CLOEXEC, kind.protocol),
               {audit ? EPROTONOSUPPORT : EPERM});
         }});
  }
  all->push_back({"kernel.socket_pair_of_inet", "EPERM", kLayer, [](const Targets&) {
                    int ends[2];
                    return MustBeRefused(Call(SYS_socketpair, AF_INET, SOCK_STREAM, 0, ends),
                                         {EPERM});
                  }});
}

}  // namespace odyssey::probe
