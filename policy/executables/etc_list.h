#ifndef ODYSSEY_POLICY_EXECUTABLES_ETC_LIST_H_
#define ODYSSEY_POLICY_EXECUTABLES_ETC_LIST_H_

// Paths below /etc that the plan mounts into cells, and paths that it never mounts.
//
// Shown are these paths, and what links of /usr lead to (configuration.h), if every user of the
// host may read them. Each is a mount that every command's mount namespace copies: the list names
// what programs fail or differ without, and no file that only sets defaults.

#include <string_view>

namespace odyssey::executables {

struct EtcPath {
  std::string_view path;
  std::string_view why;
};

inline constexpr EtcPath kShownOfEtc[] = {
    {"/etc/ImageMagick-6", "delegates and policy of convert(1)"},
    {"/etc/OpenCL", "names of the libraries that implement OpenCL"},
    {"/etc/alternatives", "links of /usr/bin lead through it"},
    {"/etc/ca-certificates", "certificates that /etc/ssl/certs links to, Java's"},
    {"/etc/crypto-policies", "openssl.cnf includes it, on Fedora"},
    {"/etc/debian_version", "programs ask for the release"},
    {"/etc/dpkg/origins", "dpkg-buildflags(1) takes the vendor's flags by it"},
    {"/etc/emacs", "Emacs has it in its load-path"},
    {"/etc/fonts", "fontconfig finds no font without it"},
    {"/etc/fpc.cfg", "fpc(1) finds no unit without it"},
    {"/etc/gai.conf", "getaddrinfo(3): the order of addresses"},
    {"/etc/inputrc", "keys of readline, on a terminal"},
    {"/etc/ld.so.cache", "the loader finds libraries by it"},
    {"/etc/ld.so.conf", "ld(1) finds libraries of libraries by it"},
    {"/etc/ld.so.conf.d", "included by ld.so.conf"},
    {"/etc/localtime", "the time zone"},
    {"/etc/lsb-release", "programs ask for the release"},
    {"/etc/magic", "file(1)"},
    {"/etc/magic.mime", "file(1)"},
    {"/etc/manpath.config", "man(1)"},
    {"/etc/mime.types", "types by suffix: Python, web servers"},
    {"/etc/mke2fs.conf", "mke2fs(8) makes other file systems without it"},
    {"/etc/os-release", "programs ask for the release"},
    {"/etc/papersize", "the paper of TeX and groff"},
    {"/etc/perl", "Perl's own libnet.cfg and sitecustomize.pl"},
    {"/etc/pki/ca-trust", "certificates, on Fedora"},
    {"/etc/pki/java", "certificates of Java, on Fedora"},
    {"/etc/pki/tls/cert.pem", "certificates, on Fedora"},
    {"/etc/pki/tls/certs", "certificates, on Fedora"},
    {"/etc/pki/tls/openssl.cnf", "OpenSSL, on Fedora"},
    {"/etc/protocols", "getprotobyname(3)"},
    {"/etc/python3", "debian_config of py3compile"},
    {"/etc/services", "getservbyname(3)"},
    {"/etc/sgml", "catalogues of DocBook"},
    {"/etc/ssl/ca-bundle.pem", "certificates, on SUSE"},
    {"/etc/ssl/cert.pem", "certificates, where LibreSSL's place is kept"},
    {"/etc/ssl/certs", "certificates of authorities"},
    {"/etc/ssl/openssl.cnf", "OpenSSL"},
    {"/etc/terminfo", "terminal descriptions that the host's administrator added"},
    {"/etc/timezone", "the time zone's name: Java, Python's tzlocal"},
    {"/etc/xml", "catalogues of libxml2"}};

// Neither by the list above nor by a link of /usr, and nothing below them.
inline constexpr EtcPath kNotShownOfEtc[] = {
    {"/etc/apt", "may hold passwords of repositories"},
    {"/etc/bash.bashrc", "every interactive bash runs it; it names programs of the host"},
    {"/etc/crypttab", "the host's disks"},
    {"/etc/curlrc", "may hold a proxy's password"},
    {"/etc/environment", "pam_env sets its variables at a login; a policy sets a cell's"},
    {"/etc/environment.d", "systemd sets its variables in user services; a policy sets a cell's"},
    {"/etc/exports", "the host's network"},
    {"/etc/fstab", "the host's disks"},
    {"/etc/gitconfig", "may hold tokens in URLs, and programs that git runs"},
    {"/etc/group", "a cell has its own"},
    {"/etc/gshadow", "secret"},
    {"/etc/hostid", "tells one host from another"},
    {"/etc/hostname", "a cell has its own"},
    {"/etc/hosts", "a cell has its own"},
    {"/etc/krb5.keytab", "secret"},
    {"/etc/machine-id", "tells one host from another"},
    {"/etc/mtab", "the host's mounts"},
    {"/etc/netrc", "secret"},
    {"/etc/nsswitch.conf", "a cell has its own"},
    {"/etc/npmrc", "may hold tokens"},
    {"/etc/odyssey", "Odyssey's own"},
    {"/etc/passwd", "a cell has its own"},
    {"/etc/pip.conf", "may hold passwords of repositories"},
    {"/etc/profile", "sets PATH, which a policy does; run by every login shell"},
    {"/etc/profile.d", "every login shell runs it; it names programs of the host"},
    {"/etc/resolv.conf", "a cell has its own"},
    {"/etc/security", "of logins"},
    {"/etc/shadow", "secret"},
    {"/etc/ssh", "the host's keys"},
    {"/etc/ssl/private", "keys"},
    {"/etc/subgid", "the host's users"},
    {"/etc/subuid", "the host's users"},
    {"/etc/sudo.conf", "of logins"},
    {"/etc/sudoers", "secret"},
    {"/etc/sudoers.d", "secret"},
    {"/etc/wgetrc", "may hold a proxy's password"}};

}  // namespace odyssey::executables

#endif  // ODYSSEY_POLICY_EXECUTABLES_ETC_LIST_H_
