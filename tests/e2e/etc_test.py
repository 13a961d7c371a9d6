#!/usr/bin/env python3
"""root binds the listed paths of the host's /etc into a cell, and those that links in /usr lead to."""

import os
import re
import stat

from world import SOURCE, WorldTest, main

LIST = os.path.join(SOURCE, "policy/executables/etc_list.h")
OWN = "a cell has its own"


def listed(name):
    """path: why, of one of the two lists."""
    with open(LIST, encoding="utf-8") as file:
        body = re.search(name + r"\[\] = \{(.*?)\};", file.read(), re.DOTALL)[1]
    return dict(re.findall(r'\{"([^"]*)",\s*"([^"]*)"\}', body))


SHOWN, HIDDEN = listed("kShownOfEtc"), listed("kNotShownOfEtc")


def within(path, directory):
    return path == directory or path.startswith(directory + "/")


def any_user_reads(path):
    """By the modes of a file or directory, and of each directory above it."""
    above = os.path.dirname(path)
    while above != "/":
        if not os.stat(above).st_mode & stat.S_IXOTH:
            return False
        above = os.path.dirname(above)
    mode = os.stat(path).st_mode
    needed = stat.S_IROTH | (stat.S_IXOTH if stat.S_ISDIR(mode) else 0)
    return mode & needed == needed


def links_of_usr():
    """(link, what it leads to) for each link below /usr that ends in /etc."""
    for directory, directories, files in os.walk("/usr"):
        for name in directories + files:
            path = os.path.join(directory, name)
            if not os.path.islink(path):
                continue
            target = os.path.realpath(path)
            if within(target, "/etc") and os.path.exists(target):
                yield path, target


class EtcTest(WorldTest):

    def in_cell(self, script, paths=()):
        """The lines that a shell prints; `paths` are its input, a line each."""
        done = self.world.ctl("exec", "--", "sh", "-c", script, input="".join(path + "\n" for path in paths))
        self.assertEqual(done.code, 0, done)
        return done.out.splitlines()

    def test_each_link_of_usr_leads_to_what_it_does_on_the_host(self):
        expected = {link: target for link, target in links_of_usr()
                    if any_user_reads(target) and not any(within(target, hidden) for hidden in HIDDEN)}
        self.assertTrue(expected)
        self.assertEqual(
            self.in_cell('while read -r link; do echo "$link $(readlink -f "$link") $(test -r "$link" && echo yes)"; done',
                         sorted(expected)),
            [f"{link} {expected[link]} yes" for link in sorted(expected)])

    def test_what_the_list_has_is_as_on_the_host(self):
        there = sorted(path for path in SHOWN if os.path.exists(path) and any_user_reads(os.path.realpath(path)))
        self.assertTrue({"/etc/ssl/certs", "/etc/services", "/etc/localtime"} <= set(there), there)
        self.assertEqual(self.in_cell("while read -r path; do test -r $path && echo $path; done; true", there), there)
        files = [path for path in there if os.path.isfile(path)]
        sizes = [f"{os.stat(path).st_size} {path}" for path in files]
        self.assertEqual(self.in_cell("while read -r path; do stat -L -c '%s %n' $path; done", files), sizes)

    def test_nothing_hidden_is_there(self):
        hidden = [path for path, why in HIDDEN.items() if why != OWN]
        self.assertEqual(self.in_cell("while read -r path; do test -e $path && echo $path; done; true", hidden), [])

    def test_nothing_that_a_user_of_the_host_cannot_read_is_read(self):
        secret = []
        for directory, directories, files in os.walk("/etc"):
            for name in directories + files:
                path = os.path.join(directory, name)
                if not os.path.islink(path) and not any_user_reads(path):
                    secret.append(path)
        self.assertIn("/etc/shadow", secret)
        self.assertEqual(self.in_cell("while read -r path; do test -r $path && echo $path; done; true", secret), [])

    def test_nothing_is_shown_but_for_a_reason(self):
        own = {path for path, why in HIDDEN.items() if why == OWN}
        reasons = {os.path.realpath(path) for path in SHOWN} | set(SHOWN) | own
        reasons |= {target for _, target in links_of_usr()}
        # On the way to something; or inside of it, or beside it in a directory of many.
        for name in self.in_cell("cd /etc; find . -mindepth 1 -maxdepth 1 | sed s,^.,/etc,"):
            self.assertTrue(any(within(name, reason) or within(reason, name) for reason in reasons), name)

    def test_it_is_not_written(self):
        self.assertEqual(self.in_cell("for f in /etc/*; do (: >>$f) 2>/dev/null && echo $f; done; true"), [])

    def test_programs_find_their_own(self):
        done = self.world.ctl("exec", "--", "python3", "-c",
                              "import socket, ssl, mimetypes; print(socket.getservbyname('https'),"
                              "len(ssl.create_default_context().get_ca_certs()) > 100, mimetypes.guess_type('a.deb')[0])")
        self.assertEqual(done.out, "443 True application/vnd.debian.binary-package\n", done)


if __name__ == "__main__":
    main()
