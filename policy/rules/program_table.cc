#include "policy/rules/program_table.h"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <utility>

namespace odyssey::rules {
namespace {

constexpr RiskClass kSafe = RiskClass::kSafe;
constexpr RiskClass kLocal = RiskClass::kLocalWrite;
constexpr RiskClass kInstalls = RiskClass::kInstall;
constexpr RiskClass kNetwork = RiskClass::kNetworkEgress;
constexpr RiskClass kCode = RiskClass::kCodeExecution;
constexpr RiskClass kSystem = RiskClass::kSystemWrite;
constexpr RiskClass kUnclear = RiskClass::kUnknown;
constexpr RiskClass kDestroy = RiskClass::kDestructive;

constexpr Operands kPlain = Operands::kOther;

constexpr auto kPrograms = std::to_array<Program>({
    // ── programs that run the program in their arguments ──
    {"env", kSystem,
     "-i -0 -v --ignore-environment --null --debug -u= --unset= -C=d --chdir=d -S=S "
     "--split-string=S - --block-signal? --default-signal? --ignore-signal?",
     kPlain, Inner::kRest, 0, kAssigns},
    {"nice", kSafe, "-0 -1 -2 -3 -4 -5 -6 -7 -8 -9 -n= --adjustment=", kPlain, Inner::kRest},
    {"ionice", kSafe, "-t -c= -n= --ignore --class= --classdata=", kPlain, Inner::kRest},
    {"chrt", kSafe,
     "-a -b -f -i -o -m -r -R -T= -P= -D= -d --all-tasks --batch --fifo --idle --other --rr",
     kPlain, Inner::kRest, 1},
    {"taskset", kSafe, "-a -c --all-tasks --cpu-list", kPlain, Inner::kRest, 1},
    {"timeout", kSafe,
     "-v -k= -s= --foreground --preserve-status --verbose --kill-after= --signal=", kPlain,
     Inner::kRest, 1},
    {"nohup", kSafe, "", kPlain, Inner::kRest},
    {"setsid", kSafe, "-c -f -w --ctty --fork --wait", kPlain, Inner::kRest},
    {"stdbuf", kSafe, "-i= -o= -e= --input= --output= --error=", kPlain, Inner::kRest},
    {"time", kSafe,
     "-p -q -v -a -f= -o=w --portability --quiet --verbose --append --format= --output=w", kPlain,
     Inner::kRest},
    {"sudo", kSystem,
     "-A -b -E -H -k -K -n -P -S -C= -D=d -g= -h= -p= -r= -R=! -T= -t= -U= -u= --non-interactive "
     "--preserve-env? --set-home --stdin --user= --group= --host= --prompt= --chdir=d --chroot=! "
     "--role= --type= --other-user= --command-timeout=",
     kPlain, Inner::kRest, 0, kPrivileged | kAssigns},
    {"doas", kSystem, "-n -u= -C=!", kPlain, Inner::kRest, 0, kPrivileged},
    {"xargs", kSafe,
     "-0 -o -p -r -t -x -a=r -d= -E= -I=p -L= -n= -P= -s= --null --no-run-if-empty --verbose "
     "--exit --interactive --open-tty --arg-file=r --delimiter= --max-args= --max-procs= "
     "--max-chars= --max-lines= --replace?p -i?p",
     kPlain, Inner::kRest, 0, kAppendsInput},
    {"command", kSafe, "-p -v:q -V:q", kPlain, Inner::kRest},
    {"builtin busybox toybox", kSafe, "", kPlain, Inner::kRest},
    {"exec", kSafe, "-c -l -a=", kPlain, Inner::kRest},
    {"chroot", kSystem, "--skip-chdir --groups= --userspec=", kPlain, Inner::kRest, 1, kPrivileged},
    {"flock", kSafe,
     "-e -n -o -s -u -x -F -w= -E= -c=S --command=S --shared --exclusive --unlock --nonblock "
     "--close --verbose --no-fork --timeout= --wait= --conflict-exit-code=",
     kPlain, Inner::kRest, 1},
    {"ld.so ld-linux.so.2 ld-linux-x86-64.so.2 ld-linux-aarch64.so.1 ld-linux-armhf.so.3 "
     "ld-musl-x86_64.so.1",
     kCode, "--list --verify --inhibit-cache --library-path=! --preload=! --audit=! --argv0=",
     kPlain, Inner::kRest},
    {"setarch linux32 linux64", kSafe, "-R --addr-no-randomize", kPlain, Inner::kAnyWord},
    {"parallel watch script unshare nsenter setpriv prlimit systemd-run strace ltrace valgrind "
     "perf gdb entr bwrap firejail unbuffer start-stop-daemon fakeroot proot catchsegv faketime "
     "torsocks proxychains proxychains4 tsocks cpulimit numactl chpst softlimit runuser "
     "daemonize screen tmux expect dbus-run-session xvfb-run ssh-agent pseudo at batch crontab "
     "lldb rr hyperfine nodemon watchexec reptyr dtach abduco rlwrap stap bpftrace gosu su-exec "
     "cgexec ts-node-dev",
     kCode, "", kPlain, Inner::kAnyWord},
    {"su pkexec sg", kSystem, "", kPlain, Inner::kAnyWord, 0, kPrivileged},
    {"sh bash dash ash zsh ksh mksh rbash", kCode, "", kPlain, Inner::kShell},
    {"find", kSafe,
     "-exec=e -execdir=e -ok=e -okdir=e -delete:D -fprint=w -fprint0=w -fprintf=w -fls=w -name= "
     "-iname= -path= -type= -maxdepth= -mindepth= -newer=r -size= -mtime= -perm= -regex= -user=",
     kPlain, Inner::kNone, 0, kWholeWords},
    {"fd fdfind", kSafe, "-x=e -X=e --exec=e --exec-batch=e -e= -t= -d= -E= --extension= --type="},

    // ── shell builtins ──
    {"echo printf true false test [ [[ ]] : pwd shift return break continue exit wait jobs fg bg "
     "type read getopts ulimit umask times let local unset set shopt dirs popd pushd cd "
     "logout disown suspend history fc help mapfile readarray compgen complete bind caller",
     kSafe},
    {"eval . source trap", kCode},
    {"export declare typeset readonly", kSafe},
    {"alias unalias hash enable", kSafe},
    {"kill pkill killall", kLocal, "", kPlain, Inner::kNone, 0, kDestroys},

    // ── programs that read ──
    {"cat tac nl od hexdump strings wc md5sum sha1sum sha224sum sha256sum sha384sum sha512sum "
     "b2sum cksum sum stat file less more most bat batcat fold fmt rev base32 base64 expand "
     "unexpand cmp comm diff join paste column zcat bzcat xzcat zstdcat readelf nm objdump size "
     "ldd diff3 sdiff colordiff realpath readlink",
     kSafe, "--help", Operands::kRead},
    {"head tail", kSafe, "-n= -c= --lines= --bytes= -f -F -q -v", Operands::kRead},
    {"cut", kSafe, "-d= -f= -c= -b= --delimiter= --fields=", Operands::kRead},
    {"grep egrep fgrep zgrep", kSafe,
     "-A= -B= -C= -m= -e=s -f=r --file=r --include= --exclude= --exclude-dir= --color? "
     "--context= --max-count= --regexp=s",
     Operands::kPatternThenRead, Inner::kNone, 0, kRecursive},
    {"rg ack ag", kSafe,
     "-A= -B= -C= -m= -e=s -f=r -g= -t= -T= --glob= --type= --pre=! --hostname-bin=! --file=r "
     "--regexp=s -z --search-zip",
     Operands::kPatternThenRead, Inner::kNone, 0, kReadsTrees},
    {"ls dir vdir tree du df", kSafe, "-o=w -I= -L= -P= --ignore= --output?", kPlain},
    {"date id whoami who w users groups hostname uname uptime free arch nproc getconf locale tty "
     "basename dirname seq expr bc dc sleep yes tput clear ps top htop pgrep pidof lsof lscpu "
     "lsblk lspci lsusb which whereis whatis apropos man info cal factor numfmt tr "
     "getent last lastlog vmstat iostat mpstat sar dmesg journalctl logname pathchk sync "
     "tsort ptx cowsay figlet fortune banner jo",
     kSafe},
    {"printenv", kSystem},
    {"jq", kSafe,
     "-n -r -c -e -s -f=r --from-file=r --arg= --argjson= -L=", Operands::kPatternThenRead},
    {"yq", kSafe, "-i:I --inplace:I -e -r -P", Operands::kPatternThenRead},
    {"xmllint", kSafe, "-o=w --output=w --format --xpath= --schema=r", Operands::kRead},
    {"awk gawk mawk nawk original-awk", kSafe,
     "-f=r --file=r -F= -v= --field-separator= --assign= -i=! --include=! -l=! --load=! -e=s "
     "--source=s -o?w --pretty-print?w -d?w --dump-variables?w -p?w --profile?w -E=r --exec=r",
     Operands::kAwk},
    {"sed gsed", kSafe,
     "-n -E -r -s -u -z -e=s --expression=s -f=r --file=r -i?I --in-place?I --quiet -l=",
     Operands::kSed},

    // ── programs that write ──
    {"rm unlink shred rmdir wipe srm trash trash-put", kLocal,
     "-n= --iterations= -s= --size=", Operands::kWriteTree, Inner::kNone, 0, kDestroys},
    {"install", kLocal,
     "-t=t --target-directory=t -S= --suffix= -m= --mode= -o= -g= --owner= --group= -Z? -d -D",
     Operands::kMove, Inner::kNone, 0, kDestroys},
    {"cp", kLocal,
     "-t=t --target-directory=t -S= --suffix= -m= --mode= -o= -g= --owner= --group= -Z? -d",
     Operands::kCopy, Inner::kNone, 0, kDestroys | kRecursive},
    {"mv rename prename", kLocal, "-t=t --target-directory=t -S= --suffix=", Operands::kMove,
     Inner::kNone, 0, kDestroys},
    {"ln link", kLocal, "-t=t --target-directory=t -S= --suffix=", Operands::kLink, Inner::kNone, 0,
     kDestroys},
    {"dd", kLocal, "", Operands::kAssignments, Inner::kNone, 0, kDestroys},
    {"tee sponge", kLocal, "-a -i -p", Operands::kWrite, Inner::kNone, 0, kDestroys},
    {"touch mkdir mkfifo truncate mktemp", kLocal,
     "-d= -r=r -t= -m= --mode= -s= --size= --date= --reference=r -p", Operands::kWrite},
    {"fallocate mkswap", kLocal, "-l= -o= --length=", Operands::kWrite, Inner::kNone, 0, kDestroys},
    {"chmod chown chgrp chattr setfacl", kLocal, "--reference=r", Operands::kWrite, Inner::kNone, 0,
     kDestroys | kRecursive},
    {"mknod", kSystem, "", Operands::kWrite, Inner::kNone, 0, kDestroys},
    {"sort", kSafe,
     "-o=w --output=w -k= -t= -S= -T=t --temporary-directory=t --compress-program=c "
     "--files0-from=r "
     "--key= --field-separator= --parallel=",
     Operands::kRead},
    {"uniq", kSafe, "-f= -s= -w= --skip-fields=", Operands::kCopy},
    {"shuf", kSafe, "-o=w --output=w -n= -i= -e --random-source=r", kPlain},
    {"split csplit", kLocal, "-b= -l= -n= -a= -C= --filter=c --bytes= --lines= -f=w --prefix=w",
     Operands::kCopy},
    {"patch", kLocal, "-p= -i=r -o=w --output=w -d=d --directory=d -r=w --input=r",
     Operands::kWrite, Inner::kNone, 0, kDestroys | kWritesUnnamed},
    {"tar bsdtar gtar", kSafe,
     "-c:A -r:A -u:A -A:A -x:X -t -f=f --file=f -C=d --directory=d -z -j -J -v -p -k -a "
     "--create:A --append:A --update:A --delete:A --extract:X --get:X --list --to-command=c "
     "--checkpoint-action=! --checkpoint? -I=c --use-compress-program=c --info-script=c -F=c "
     "--new-volume-script=c --rsh-command=c --rmt-command=c -T=r --files-from=r -X=r "
     "--exclude-from=r --exclude= --transform= --strip-components= --owner= --group= "
     "--index-file=w -g=w --listed-incremental=w --remove-files:D -b= -N= -K= -L= -V= -H= -s=",
     kPlain, Inner::kNone, 0, kBareCluster},
    {"cpio", kLocal, "-o -i:X -p:X -F=f -O=w -I=r -D=d --directory=d -E=r -H= --rsh-command=c"},
    {"zip", kLocal, "-r -q -TT=c --unzip-command=c -T -x= -i= -b=t", Operands::kWrite},
    {"unzip", kLocal, "-d=t -o -q -l -j -n -x= -P=", kPlain, Inner::kNone, 0, kWritesUnnamed},
    {"gzip gunzip bzip2 bunzip2 xz unxz zstd unzstd lz4 lzma compress uncompress pigz", kLocal,
     "-c -d -k -S= --suffix= -o=w -T= -t -l", Operands::kMove},
    {"7z 7za 7zr unrar rar ar", kLocal, "-o?t", Operands::kWrite},
    {"ranlib strip objcopy", kLocal, "-o=w", Operands::kWrite},
    {"pandoc", kCode, "-o=w --output=w --filter=c -F=c --lua-filter=! --extract-media=t",
     Operands::kRead},
    {"convert magick mogrify", kLocal, "", Operands::kWrite},
    {"ffmpeg", kLocal, "-i=r", Operands::kWrite, Inner::kNone, 0, kWholeWords},
    {"iconv", kSafe, "-f= -t= -o=w --output=w", Operands::kRead},
    {"xxd", kSafe, "-l= -s= -c=", Operands::kCopy},
    {"openssl", kLocal, "-out=w -in=r -engine=! -config=r -keyout=w", kPlain, Inner::kNone, 0,
     kWholeWords},
    {"gpg gpg2", kLocal, "-o=w --output=w --homedir=d"},
    {"dos2unix unix2dos", kLocal, "-n", Operands::kWrite},
    {"clang-format", kSafe, "-i:I --style=", Operands::kRead},
    {"prettier gofmt black isort autopep8 shfmt", kLocal, "-w:I --write:I -i:I -d -l",
     Operands::kWrite},

    // ── editors and pagers that run commands ──
    {"vi vim nvim view rvim ex emacs emacsclient nano pico ed red joe micro", kCode,
     "-c=! --cmd=! -S=! -s=! -e -E -es -u=! -l=! --eval=! -f=! --execute=! --load=! -w=w",
     Operands::kWrite},

    // ── interpreters ──
    {"python python2 python3 pypy pypy3 ipython irb node nodejs deno bun php lua luajit "
     "Rscript R julia groovy scala ghci runghc guile racket sbcl clojure clj swift dart osascript "
     "pwsh powershell fish csh tcsh elvish nu xonsh tclsh wish octave erl elixir iex ocaml "
     "jshell kotlin java ts-node tsx mono qemu-x86_64 wasmtime wasmer bpython",
     kCode},
    {"perl ruby", kCode, "-i?I -e= -E= -p -n -a -l -w -I= -M=", Operands::kRead},
    {"sqlite3 psql mysql mariadb mongo mongosh redis-cli", kCode},

    // ── building, testing ──
    {"make gmake bmake", kUnclear,
     "-C=d --directory=d -f=! --file=! --makefile=! -I= -j? -k -n -s -B -E=! --eval=! -o= -W= "
     "--jobs? -l?",
     kPlain, Inner::kNone, 0, kSubcommands | kAssigns},
    {"ninja meson bazel buck2 scons rake ant mvn gradle sbt just task cmake ctest tox nox "
     "pytest jest mocha vitest tsc webpack vite rollup esbuild phpunit rspec msbuild "
     "xcodebuild autoconf automake libtool pre-commit invoke fab",
     kCode},
    {"gcc g++ cc c++ clang clang++ cpp tcc rustc javac ghc ocamlfind", kCode,
     "-o=w -B=! -wrapper=! -fplugin? -MF=w -I= -L= -D= -c -S -E", Operands::kRead},
    {"ld gold lld as nasm", kCode, "-o=w -plugin=!", Operands::kRead},
    {"cargo", kCode, "--manifest-path=r -C=d --config=! -Z= --color=", kPlain, Inner::kNone, 0,
     kSubcommands},
    {"cargo/install cargo/add cargo/fetch cargo/update cargo/remove", kInstalls, "--path="},
    {"cargo/publish cargo/login", kNetwork},
    {"cargo/metadata cargo/tree cargo/search cargo/version", kSafe},
    {"cargo/clean cargo/fmt cargo/new cargo/init", kLocal},
    {"go", kCode, "-C=d", kPlain, Inner::kNone, 0, kSubcommands},
    {"go/test", kSafe,
     "-exec=c -toolexec=c -o=w -c -run= -bench= -count= -timeout= -coverprofile=w -cpuprofile=w "
     "-memprofile=w -outputdir=t -v",
     kPlain, Inner::kNone, 0, kWholeWords},
    {"go/build go/run go/generate go/vet", kCode, "-exec=c -toolexec=c -o=w -vettool=!", kPlain,
     Inner::kNone, 0, kWholeWords},
    {"go/version go/env go/list go/doc", kSafe, "-w:O", kPlain, Inner::kNone, 0, kWholeWords},
    {"go/mod go/get go/install", kInstalls},
    {"go/fmt go/clean", kLocal},

    // ── packages ──
    {"npm pnpm yarn cnpm", kCode,
     "--prefix=d -C=d --dir=d --cwd=d --script-shell=! --workspace= -w= --loglevel= --userconfig=! "
     "--silent -s --registry= --shell=!",
     kPlain, Inner::kNone, 0, kSubcommands},
    {"npm/ci npm/install npm/i npm/add npm/update npm/uninstall npm/remove npm/rm pnpm/install "
     "pnpm/i pnpm/add pnpm/update pnpm/remove yarn/install yarn/add yarn/remove yarn/upgrade "
     "cnpm/install",
     kInstalls, "--script-shell=!"},
    {"npm/ls npm/list npm/outdated npm/view npm/audit npm/--version npm/-v pnpm/list yarn/list",
     kSafe},
    {"npm/publish npm/login pnpm/publish yarn/publish", kNetwork},
    {"npm/exec npm/x pnpm/dlx pnpm/exec yarn/dlx yarn/exec npm/explore", kCode,
     "-c=c --call=c -p= --package= -y --yes", kPlain, Inner::kElsewhere},
    {"npx bunx uvx pipx bundle poetry pipenv pdm hatch conda mamba rye mise asdf direnv", kCode,
     "-c=c --call=c -p= --package= -y", kPlain, Inner::kElsewhere},
    {"uv", kCode, "--directory=d --project=d --config-file=!", kPlain, Inner::kNone, 0,
     kSubcommands},
    {"uv/run uv/tool", kCode, "", kPlain, Inner::kElsewhere},
    {"uv/pip uv/add uv/sync uv/remove uv/lock", kInstalls},
    {"pip pip3", kInstalls, "--python=! --log=w --cache-dir=t --proxy= --isolated", kPlain,
     Inner::kNone, 0, kSubcommands},
    {"pip/list pip/show pip/freeze pip/check pip3/list pip3/show pip3/freeze pip3/check", kSafe},
    {"gem composer brew snap flatpak nix nix-env nix-shell guix easy_install cpan cpanm luarocks "
     "stack cabal rustup opam",
     kInstalls},
    {"apt apt-get aptitude dpkg dnf yum rpm zypper pacman apk emerge", kSystem,
     "-o=k --option=k -c=! --config-file=! -t= --root=d", kPlain, Inner::kNone, 0, kSubcommands},
    {"apt-cache dpkg-query apt/list apt/show apt/search apt-get/--version", kSafe},

    // ── git and the like ──
    {"git", kLocal,
     "-C=d -c=g --git-dir=d --work-tree=d --namespace= --exec-path?! --config-env=! "
     "--super-prefix= "
     "--no-pager -P -p --paginate --no-replace-objects --bare --literal-pathspecs --glob-pathspecs "
     "--noglob-pathspecs --icase-pathspecs --no-optional-locks --no-lazy-fetch --version --help -h "
     "-v "
     "--html-path --man-path --info-path --attr-source=",
     kPlain, Inner::kNone, 0, kSubcommands},
    {"git/status git/log git/show git/diff git/blame git/shortlog git/describe git/rev-parse "
     "git/rev-list git/ls-files git/ls-tree git/cat-file git/reflog git/whatchanged git/version "
     "git/--version git/diff-tree git/diff-index git/diff-files git/name-rev git/merge-base "
     "git/for-each-ref git/show-ref git/count-objects git/var git/check-ignore git/cherry "
     "git/range-diff git/help git/symbolic-ref git/grep git/format-patch",
     kSafe,
     "--output=w --ext-diff:! --textconv -o=t --output-directory=t --open-files-in-pager?! -O?! "
     "--contents=r",
     Operands::kGitObjects},
    {"git/archive git/bundle", kLocal, "-o=w --output=w --exec=c --remote="},
    {"git/rebase", kLocal, "-x=c --exec=c --onto= -s= -X= --strategy=!", kPlain, Inner::kNone, 0,
     kWritesUnnamed},
    {"git/bisect git/filter-branch git/filter-repo git/mergetool git/difftool", kCode,
     "-x=c --extcmd=c --tree-filter=c --index-filter=c --msg-filter=c --env-filter=c "
     "--commit-filter=c --tag-name-filter=c --parent-filter=c --tool=!",
     kPlain, Inner::kElsewhere},
    {"git/submodule", kCode, "", kPlain, Inner::kElsewhere},
    {"git/pull git/clone", kNetwork,
     "--upload-pack=c -u=c -c=g --config=g --template=! -b= --branch= --depth= -j= --reference=r "
     "--separate-git-dir=w -o= -X= --strategy=!",
     kPlain, Inner::kNone, 0, kWritesUnnamed},
    {"git/push git/fetch git/ls-remote git/remote git/fetch-pack git/send-pack "
     "git/upload-pack git/receive-pack",
     kNetwork,
     "--upload-pack=c -u=c --receive-pack=c --exec=c -c=g --config=g -o= --push-option= "
     "--template=! "
     "-b= --branch= --depth= -j= --reference=r --separate-git-dir=w"},
    {"git/config", kLocal,
     "--file=w -f=w --get --list -l --global --unset --add --type=", Operands::kGitSetting},
    {"git/checkout git/restore git/rm git/mv", kLocal, "-b= -B= -s= --source=", Operands::kMove,
     Inner::kNone, 0, kDestroys},
    {"git/reset git/clean git/switch git/stash", kLocal, "", kPlain, Inner::kNone, 0,
     kDestroys | kWritesUnnamed},
    {"git/gc git/prune git/update-ref git/worktree git/branch git/tag", kLocal, "", kPlain,
     Inner::kNone, 0, kDestroys},
    {"git/add git/commit git/notes git/init", kLocal,
     "-m= -F=r --file=r --template=! -s -C= -c= -t="},
    {"git/merge git/cherry-pick git/revert git/am git/apply", kLocal,
     "-m= -F=r --file=r -X= --strategy=! -s -C= -c=", kPlain, Inner::kNone, 0, kWritesUnnamed},
    {"hg svn bzr jj", kNetwork, "--config=! -R=d --repository=d", kPlain, Inner::kNone, 0,
     kSubcommands},
    {"gh glab hub", kNetwork, "-R= --repo=", kPlain, Inner::kNone, 0, kSubcommands},

    // ── the network ──
    {"curl", kNetwork,
     "-o=w --output=w -O:O --remote-name:O --remote-name-all:O -J:O -D=w --dump-header=w -c=w "
     "--cookie-jar=w -K=! --config=! --output-dir=t --trace=w --trace-ascii=w --stderr=w "
     "--etag-save=w --hsts=w --alt-svc=w --libcurl=w -T=r --upload-file=r -X= -H= -d= -F= -u= -A= "
     "-e= -b= -x= -m= -w= -r= -E= --request= --header= --data= --data-raw= --data-binary= --form= "
     "--user= --proxy= --max-time= --retry= --url= --cacert=r --cert=r --key=r --netrc-file=r "
     "--engine=! --unix-socket="},
    {"wget", kNetwork,
     "-O=w --output-document=w -o=w --output-file=w -a=w --append-output=w -P=t "
     "--directory-prefix=t "
     "-i=r --input-file=r --use-askpass=c --save-cookies=w --post-file=r --body-file=r "
     "--rejected-log=w --config=! --warc-file=w -e=! --execute=! --header= --user= --password= -t= "
     "-T= -U=",
     kPlain, Inner::kNone, 0, kWritesUnnamed},
    {"aria2c axel httpie http https xh lftp ftp tftp telnet nc ncat netcat socat dig host nslookup "
     "ping ping6 traceroute mtr nmap masscan tcpdump whois arp ip ifconfig route ss netstat mail "
     "sendmail msmtp mutt youtube-dl yt-dlp rclone restic s3cmd aws gcloud az doctl heroku vercel "
     "netlify flyctl fly ansible ansible-playbook terraform tofu pulumi vault consul rsh rlogin "
     "ngrok cloudflared openconnect wg wg-quick lynx w3m links elinks",
     kNetwork, "-o=w --output=w -oN=w"},
    {"ssh mosh autossh sshpass", kNetwork,
     "-o=k -F=! -i=r -l= -p= -J= -L= -R= -D= -E=w -S=! -W= -b= -c= -e= -m= -I=! -Q=", kPlain,
     Inner::kElsewhere},
    {"scp sftp", kNetwork, "-o=k -F=! -S=c -i=r -l= -P= -J= -c= -b=! -D=!", Operands::kCopy,
     Inner::kNone, 0, kRecursive},
    {"rsync", kNetwork,
     "-e=c --rsh=c --rsync-path=c --log-file=w --delete -f= --filter= --exclude= --include= "
     "--exclude-from=r --files-from=r --temp-dir=t -T=t --backup-dir=t --write-batch=w "
     "--password-file=r --remove-source-files:D",
     Operands::kCopy, Inner::kNone, 0, kReadsTrees},

    // ── containers ──
    {"docker podman nerdctl buildah", kUnclear,
     "--context= -c= -H= --host= --config=d -l= --log-level= --tls --url= --root=", kPlain,
     Inner::kNone, 0, kSubcommands},
    {"docker/run docker/exec docker/create docker/compose podman/run podman/exec podman/create "
     "nerdctl/run nerdctl/exec docker/container podman/container",
     kCode, "--cidfile=w", kPlain, Inner::kElsewhere},
    {"docker/ps docker/images docker/logs docker/inspect docker/version docker/info podman/ps "
     "podman/images podman/logs podman/inspect docker/stats docker/top",
     kSafe},
    {"docker/build docker/buildx podman/build", kCode, "-o= --output= --iidfile=w -f=r -t="},
    {"docker/rm docker/rmi docker/system docker/volume docker/kill docker/stop podman/rm "
     "podman/rmi",
     kLocal, "", kPlain, Inner::kNone, 0, kDestroys},
    {"docker/push docker/pull docker/login podman/push podman/pull", kNetwork},
    {"docker/save docker/export docker/cp podman/save podman/export podman/cp", kLocal,
     "-o=w --output=w", Operands::kCopy},
    {"kubectl oc helm k9s minikube kind k3s", kNetwork,
     "-n= --namespace= --context= --cluster= --kubeconfig=! --user= -s= --server= --token= "
     "--as= --request-timeout= -v= --kube-context= --cache-dir=t",
     kPlain, Inner::kNone, 0, kSubcommands},
    {"kubectl/exec kubectl/run kubectl/debug oc/exec", kCode, "-c= -it -n=", kPlain,
     Inner::kElsewhere},
    {"kubectl/delete kubectl/drain helm/uninstall oc/delete", kDestroy},

    // ── the system ──
    {"systemctl service loginctl hostnamectl timedatectl mount umount losetup swapon swapoff "
     "sysctl modprobe insmod rmmod depmod useradd userdel usermod groupadd passwd chpasswd chsh "
     "visudo iptables ip6tables nft ufw firewall-cmd setcap setenforce semanage auditctl "
     "update-alternatives ldconfig kexec chage vipw adduser deluser localectl initctl "
     "rc-service rc-update launchctl defaults",
     kSystem, "-H= --host=", kPlain, Inner::kNone, 0, kDestroys},
    {"mkfs mke2fs mkfs.ext2 mkfs.ext3 mkfs.ext4 mkfs.xfs mkfs.btrfs mkfs.vfat mkfs.fat mkfs.ntfs "
     "mkfs.f2fs fdisk sfdisk gdisk sgdisk cfdisk parted wipefs blkdiscard hdparm badblocks "
     "lvremove vgremove pvremove cryptsetup zpool zfs debugfs dmsetup mdadm partprobe",
     kDestroy},
    {"reboot shutdown halt poweroff init telinit", kDestroy},
});

// Families whose names end in what is not listed.
constexpr auto kPrefixes = std::to_array<std::pair<std::string_view, std::string_view>>(
    {{"ld-linux", "ld.so"}, {"ld-musl", "ld.so"}, {"mkfs.", "mkfs"}});

using Index = std::unordered_map<std::string_view, const Program*>;

// Calls `visit` with each part of `list` that spaces separate, until it returns true.
template <typename Visit>
bool AnyPart(std::string_view list, const Visit& visit) {
  while (!list.empty()) {
    const size_t end = std::min(list.find(' '), list.size());
    if (end > 0 && visit(list.substr(0, end))) return true;
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return false;
}

Index MakeIndex() {
  Index index;
  for (const Program& program : kPrograms) {
    AnyPart(program.names, [&](std::string_view name) {
      index.emplace(name, &program);
      return false;
    });
  }
  return index;
}

const Index& Programs() {
  static const Index* const index = new Index(MakeIndex());
  return *index;
}

KnownOption Read(std::string_view rest) {
  KnownOption option;
  if (rest.empty()) return option;
  option.takes_value = rest[0] == '=';
  option.optional_value = rest[0] == '?';
  if (rest.size() > 1) option.role = rest[1];
  return option;
}

}  // namespace

const Program* FindProgram(std::string_view name) {
  for (const auto& [prefix, row] : kPrefixes) {
    if (name.substr(0, prefix.size()) == prefix) name = row;
  }
  auto found = Programs().find(name);
  if (found == Programs().end()) {  // python3.11, gcc-12
    const size_t last = name.find_last_not_of("0123456789.-");
    found = Programs().find(name.substr(0, last == name.npos ? 0 : last + 1));
  }
  return found == Programs().end() ? nullptr : found->second;
}

bool FindOption(const Program& program, std::string_view name, KnownOption* out) {
  const bool abbreviates = name.substr(0, 2) == "--" && name.size() > 3;
  bool found = false;
  const bool exact = AnyPart(program.options, [&](std::string_view part) {
    const size_t end = std::min(part.find_first_of("=?:"), part.size());
    const std::string_view known = part.substr(0, end);
    const bool same = known == name;
    const bool begins = abbreviates && known.substr(0, name.size()) == name;
    if (!same && (!begins || (found && out->role != '\0'))) return false;
    *out = Read(part.substr(end));
    found = true;
    return same;
  });
  return exact || found;
}

std::span<const Program> AllPrograms() { return kPrograms; }

}  // namespace odyssey::rules
