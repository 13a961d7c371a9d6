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
     "cgexec ts-node-dev capsh choom chronic ifne pee systemd-cat uclampset runcon aa-exec run0 "
     "please setuidgid s6-setuidgid setlock envdir tini dumb-init fish csh tcsh elvish nu xonsh",
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
     "logout disown suspend history fc help caller",
     kSafe},
    {"compgen complete", kSafe,
     "-C=c -F=! -A= -G= -P= -S= -W= -X= -o= -p -r -D -E -I -a -b -c -d -e -f -g -j -k -s -u -v"},
    {"mapfile readarray", kSafe, "-C=c -c= -d= -n= -O= -s= -u= -t"},
    {"bind", kSafe, "-x=! -f=! -m= -q= -u= -r= -l -p -P -s -S -v -V -X"},
    {"eval . source trap", kCode},
    {"export declare typeset readonly", kSafe},
    {"alias unalias hash enable", kSafe},
    {"kill pkill killall", kLocal, "", kPlain, Inner::kNone, 0, kDestroys},

    // ── programs that read ──
    {"cat tac nl od hexdump strings wc md5sum sha1sum sha224sum sha256sum sha384sum sha512sum "
     "b2sum cksum sum stat more most bat batcat fold fmt rev base32 base64 expand "
     "unexpand cmp comm join paste column zcat bzcat xzcat zstdcat readelf nm objdump size "
     "ldd realpath readlink pr hd ptx tsort uuencode uudecode zless zmore bzless bzmore xzless "
     "xzmore "
     "lzcat lz4cat ul colrm tbl eqn nroff soelim zsoelim highlight pdftotext exiftool identify "
     "glow "
     "mdcat gron mlr csvcut csvlook xsv vis",
     kSafe, "--help --files0-from=N", Operands::kRead},
    {"less", kSafe,
     "-o=w -O=w --log-file=w --LOG-FILE=w -k=r --lesskey-file=r -T=r -p= -P= -x= -y=",
     Operands::kRead},
    {"file", kSafe, "-f=N --files-from=N -m=r --magic-file=r -F= -P= -e=", Operands::kRead},
    {"m4 groff troff", kCode, "-m= -T=", Operands::kRead},
    {"date", kSafe, "-f=r --file=r -r= --reference= -d= --date= -s=", kPlain},
    {"bc dc", kSafe, "-f=r --file=r -e= --expression=", Operands::kRead},
    {"diff diff3 sdiff colordiff", kSafe, "--help", Operands::kRead, Inner::kNone, 0, kRecursive},
    {"look", kSafe, "-t=", Operands::kPatternThenRead},
    {"head tail", kSafe, "-n= -c= --lines= --bytes= -f -F -q -v", Operands::kRead},
    {"cut", kSafe, "-d= -f= -c= -b= --delimiter= --fields=", Operands::kRead},
    {"grep egrep fgrep zgrep zegrep zfgrep bzgrep xzgrep zstdgrep pcregrep pcre2grep ugrep", kSafe,
     "-A= -B= -C= -m= -e=s -f=P --file=P --exclude-from=r --include= --exclude= --exclude-dir= "
     "--color? "
     "--context= --max-count= --regexp=s",
     Operands::kPatternThenRead, Inner::kNone, 0, kRecursive},
    {"rg ack ag rgrep", kSafe,
     "-A= -B= -C= -m= -e=s -f=r -g= -t= -T= --glob= --type= --pre=! --hostname-bin=! -f=P --file=P "
     "--ignore-file=r --regexp=s -z --search-zip",
     Operands::kPatternThenRead, Inner::kNone, 0, kReadsTrees},
    {"ls dir vdir tree du df", kSafe, "--files0-from=N -o=w -I= -L= -P= --ignore= --output?",
     kPlain},
    {"id whoami who w users groups hostname uname uptime free arch nproc getconf locale tty "
     "basename dirname seq expr sleep yes tput clear ps top htop pgrep pidof lsof lscpu "
     "lsblk lspci lsusb which whereis whatis apropos man info cal factor numfmt tr "
     "getent last lastlog vmstat iostat mpstat sar dmesg journalctl logname pathchk sync "
     "cowsay figlet fortune banner jo",
     kSafe},
    {"printenv", kSystem},
    {"jq", kSafe,
     "-n -r -c -e -s -f=P --from-file=P --arg= --argjson= -L=", Operands::kPatternThenRead},
    {"yq", kSafe, "-i:I --inplace:I -e -r -P", Operands::kPatternThenRead},
    {"xmllint", kSafe, "-o=w --output=w --format --xpath= --schema=r", Operands::kRead},
    {"awk gawk mawk nawk original-awk", kSafe,
     "-f=F --file=F -F= -v= --field-separator= --assign= -i=i --include=i -l=! --load=! -e=s "
     "--source=s -o?w --pretty-print?w -d?w --dump-variables?w -p?w --profile?w -E=F --exec=F",
     Operands::kAwk},
    {"sed gsed", kSafe,
     "-n -E -r -s -u -z -e=s --expression=s -f=F --file=F -i?I --in-place?I --quiet -l=",
     Operands::kSed},

    // ── programs that write ──
    {"rm unlink shred rmdir wipe srm trash trash-put", kLocal,
     "-n= --iterations= -s= --size=", Operands::kWriteTree, Inner::kNone, 0, kDestroys},
    {"install", kLocal,
     "-t=T --target-directory=T -S= --suffix= -m= --mode= -o= -g= --owner= --group= -Z? -d -D",
     Operands::kMove, Inner::kNone, 0, kDestroys},
    {"cp", kLocal,
     "-t=T --target-directory=T -S= --suffix= -m= --mode= -o= -g= --owner= --group= -Z? -d -l:L "
     "--link:L -s:L --symbolic-link:L",
     Operands::kCopy, Inner::kNone, 0, kDestroys | kRecursive},
    {"mv rename prename", kLocal, "-t=T --target-directory=T -S= --suffix=", Operands::kMove,
     Inner::kNone, 0, kDestroys},
    {"ln link", kLocal, "-t=T --target-directory=T -S= --suffix=", Operands::kLink, Inner::kNone, 0,
     kDestroys},
    {"dd", kLocal, "", Operands::kAssignments, Inner::kNone, 0, kDestroys},
    {"tee sponge", kLocal, "-a -i -p", Operands::kWrite, Inner::kNone, 0, kDestroys},
    {"mktemp", kLocal, "-d -u -q -t -p=t --tmpdir?t --suffix=", Operands::kWrite},
    {"touch mkdir mkfifo truncate", kLocal,
     "-d= -r=r -t= -m= --mode= -s= --size= --date= --reference=r -p", Operands::kWrite},
    {"fallocate mkswap", kLocal, "-l= -o= --length=", Operands::kWrite, Inner::kNone, 0, kDestroys},
    {"chmod chown chgrp chattr setfacl", kLocal, "--reference=r", Operands::kWrite, Inner::kNone, 0,
     kDestroys | kRecursive},
    {"mknod", kSystem, "", Operands::kWrite, Inner::kNone, 0, kDestroys},
    {"sort", kSafe,
     "-o=w --output=w -k= -t= -S= -T=t --temporary-directory=t --compress-program=c "
     "--files0-from=N --random-source=r "
     "--key= --field-separator= --parallel=",
     Operands::kRead},
    {"uniq", kSafe, "-f= -s= -w= --skip-fields=", Operands::kCopy},
    {"shuf", kSafe, "-o=w --output=w -n= -i= -e --random-source=r", Operands::kRead},
    {"split", kLocal, "-b= -l= -n= -a= -C= --filter=c --bytes= --lines= --number= -t=",
     Operands::kCopy, Inner::kNone, 0, kWritesUnnamed},
    {"csplit", kLocal, "-n= -b= -f=W --prefix=W --suffix-format= --digits=", Operands::kRead,
     Inner::kNone, 0, kWritesUnnamed},
    {"patch", kLocal, "-p= -i=r -o=W --output=W -d=d --directory=d -r=w --input=r",
     Operands::kWrite, Inner::kNone, 0, kDestroys | kWritesUnnamed},
    {"tar bsdtar gtar", kSafe,
     "-c:A -r:A -u:A -A:A -x:X -t -f=f --file=f -C=d --directory=d -z -j -J -v -p -k -a "
     "--create:A --append:A --update:A --delete:A --extract:X --get:X --list --to-command=c "
     "--checkpoint-action=! --checkpoint? -I=c --use-compress-program=c --info-script=c -F=c "
     "--new-volume-script=c --rsh-command=c --rmt-command=c -T=N --files-from=N -X=r "
     "--exclude-from=r --exclude= --transform= --strip-components= --owner= --group= "
     "--index-file=w -g=w --listed-incremental=w --remove-files:D -b= -N= -K= -L= -V= -H= -s=",
     kPlain, Inner::kNone, 0, kBareCluster},
    {"cpio", kLocal, "-o:N -i:O -p:N -F=r -O=w -I=r -D=d --directory=d -E=r -H= --rsh-command=c",
     Operands::kReplace},
    {"zip", kLocal, "-r -q -TT=c --unzip-command=c -T -x= -i= -b=t -@:N -O=w --out=w",
     Operands::kConvert, Inner::kNone, 0, kRecursive},
    {"unzip", kLocal, "-d=T -o -q -l -j -n -x= -P=", Operands::kRead, Inner::kNone, 0,
     kWritesUnnamed},
    {"gzip gunzip bzip2 bunzip2 xz unxz zstd unzstd lz4 unlz4 lzma unlzma lzip "
     "lzop brotli zopfli compress uncompress pigz pbzip2 pixz",
     kLocal, "-c -d -k -S= --suffix= -o=w -T= -t -l", Operands::kConvert},
    {"7z 7za 7zr unrar rar ar", kLocal, "-o?T", Operands::kConvert, Inner::kNone, 0,
     kReadsTrees | kSubcommands},
    {"7z/x 7z/e 7za/x 7za/e 7zr/x 7zr/e unrar/x unrar/e rar/x rar/e ar/x ar/xv ar/-x ar/xo", kLocal,
     "-o?T -p?", Operands::kRead, Inner::kNone, 0, kWritesUnnamed},
    {"ranlib strip objcopy", kLocal, "-o=w", Operands::kConvert},
    {"pandoc", kCode, "-o=w --output=w --filter=c -F=c --lua-filter=! --extract-media=t",
     Operands::kRead},
    {"convert magick mogrify", kLocal, "", Operands::kConvert},
    {"ffmpeg", kLocal, "-i=r", Operands::kWrite, Inner::kNone, 0, kWholeWords},
    {"iconv", kSafe, "-f= -t= -o=w --output=w", Operands::kRead},
    {"xxd", kSafe, "-l= -s= -c=", Operands::kCopy},
    {"openssl", kLocal,
     "-out=w -keyout=w -writerand=w -outdir=t -crl_dir=t -sess_out=w -in=r -inkey=r -key=r "
     "-kfile=r "
     "-cert=r -certfile=r -CAfile=r -CA=r -CAkey=r -CAserial=w -signkey=r -sign=r -verify=r "
     "-prverify=r -signature=r -content=r -extfile=r -rand=r -inform= -outform= -config=F "
     "-engine=! "
     "-provider=! -provider-path=! -pass=u -passin=u -passout=u -k= -K= -iv= -S= -md=",
     Operands::kRead, Inner::kNone, 0, kWholeWords},
    {"gpg gpg2", kLocal, "-o=w --output=w --homedir=d", Operands::kRead},
    {"dos2unix unix2dos", kLocal, "-n", Operands::kConvert},
    {"clang-format", kSafe, "-i:I --style=", Operands::kRead},
    {"prettier gofmt black isort autopep8 shfmt", kLocal, "-w:I --write:I -i:I -d -l",
     Operands::kConvert},

    // ── editors and pagers that run commands ──
    {"ed red", kCode, "-s -E -r -p= --silent --prompt=", Operands::kConvert},
    {"vi vim nvim view rvim vimdiff ex emacs emacsclient nano pico joe micro", kCode,
     "-c=! --cmd=! -S=F -s=F -e -E -es -u=! -l=! --eval=! -f=! --execute=! --load=! -w=w",
     Operands::kConvert},

    // ── interpreters ──
    {"python python2 python3 pypy pypy3 ipython irb node nodejs deno bun php lua luajit "
     "Rscript R julia groovy scala ghci runghc guile racket sbcl clojure clj swift dart osascript "
     "pwsh powershell tclsh wish octave erl elixir iex ocaml "
     "jshell kotlin java ts-node tsx mono qemu-x86_64 wasmtime wasmer bpython",
     kCode, "-c=s", Operands::kRead},
    {"perl ruby", kCode, "-i?I -e= -E= -p -n -a -l -w -I= -M=", Operands::kRead},
    {"sqlite3", kCode, "", Operands::kConvert},
    {"psql mysql mariadb mongo mongosh redis-cli", kCode},

    // ── building, testing ──
    {"make gmake bmake", kUnclear,
     "-C=d --directory=d -f=F --file=F --makefile=F -I= -j? -k -n -s -B -E=! --eval=! -o= -W= "
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
    {"pip/install pip3/install pip/download pip3/download", kInstalls,
     "-t=t --target=t -d=t --dest=t --prefix=t --root=t --src=t -r=r --requirement=r -c=r "
     "--constraint=r -i= --index-url= --extra-index-url= -f= --find-links= -U -q"},
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
     "git/range-diff git/help git/symbolic-ref git/format-patch",
     kSafe,
     "--output=w --ext-diff:! --textconv -o=t --output-directory=t --open-files-in-pager?! -O?! "
     "--contents=r --pathspec-from-file=r -S= -G=",
     Operands::kGitObjects, Inner::kNone, 0, kPathspecs},
    {"git/grep", kSafe, "-O?! --open-files-in-pager?! -e=s -f=P -A= -B= -C= -m= --max-count=",
     Operands::kPatternThenRead, Inner::kNone, 0, kReadsTrees | kPathspecs},
    {"git/hash-object", kSafe, "-w -t= --path= --stdin --stdin-paths:N --no-filters",
     Operands::kRead},
    {"git/bundle", kLocal, "", Operands::kConvert},
    {"git/archive", kLocal, "-o=w --output=w --add-file=r --exec=c --remote=",
     Operands::kGitObjects, Inner::kNone, 0, kReadsTrees | kPathspecs},
    {"git/send-email", kNetwork,
     "--smtp-server=c --sendmail-cmd=c --to-cmd=c --cc-cmd=c --header-cmd=c", Operands::kRead},
    {"git/rebase", kLocal, "-x=c --exec=c --onto= -s= -X= --strategy=!", kPlain, Inner::kNone, 0,
     kWritesUnnamed},
    {"git/bisect git/filter-branch git/filter-repo git/mergetool git/difftool", kCode,
     "-x=c --extcmd=c --tree-filter=c --index-filter=c --msg-filter=c --env-filter=c "
     "--commit-filter=c --tag-name-filter=c --parent-filter=c --tool=!",
     kPlain, Inner::kElsewhere},
    {"git/submodule", kCode, "", kPlain, Inner::kElsewhere, 0, kWritesUnnamed},
    {"git/clone", kNetwork,
     "--upload-pack=c -u=c -c=g --config=g --template=! -b= --branch= --depth= -j= --reference=r "
     "--separate-git-dir=w -o= --origin= --filter= --shallow-since= --recurse-submodules?",
     Operands::kCopy, Inner::kNone, 0, kReadsTrees | kWritesUnnamed},
    {"git/pull", kNetwork,
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
    {"git/mv", kLocal, "", Operands::kMove, Inner::kNone, 0, kDestroys},
    {"git/restore git/rm", kLocal, "-s= --source= --pathspec-from-file=r", Operands::kReplace,
     Inner::kNone, 0, kDestroys | kPathspecs},
    {"git/checkout", kLocal, "-b= -B= --pathspec-from-file=r", Operands::kReplace, Inner::kNone, 0,
     kDestroys | kWritesUnnamed | kPathspecs},
    {"git/reset git/clean git/switch git/stash", kLocal, "", kPlain, Inner::kNone, 0,
     kDestroys | kWritesUnnamed},
    {"git/gc git/prune git/update-ref git/branch git/tag", kLocal, "", kPlain, Inner::kNone, 0,
     kDestroys},
    {"git/worktree", kLocal, "-b= -B=", kPlain, Inner::kNone, 0, kDestroys | kWritesUnnamed},
    {"git/init", kLocal, "--template=! --separate-git-dir=w -b= --initial-branch=", kPlain,
     Inner::kNone, 0, kWritesUnnamed},
    {"git/add git/stage", kLocal,
     "--pathspec-from-file=N -A:a --all:a -u:a --update:a -n -v -f -i -p -N --chmod=",
     Operands::kRead, Inner::kNone, 0, kReadsTrees | kPathspecs},
    {"git/commit git/notes", kLocal, "-m= -F=r --file=r --template=! -s -C= -c= -t="},
    {"git/am git/apply", kLocal, "-C= --directory= -p= -X= --reject", Operands::kRead, Inner::kNone,
     0, kWritesUnnamed},
    {"git/merge git/cherry-pick git/revert", kLocal,
     "-m= -F=r --file=r -X= --strategy=! -s -C= -c=", kPlain, Inner::kNone, 0, kWritesUnnamed},
    {"hg svn bzr jj", kNetwork, "--config=! -R=d --repository=d", kPlain, Inner::kNone, 0,
     kSubcommands},
    {"gh glab hub", kNetwork, "-R= --repo=", kPlain, Inner::kNone, 0, kSubcommands},

    // ── the network ──
    {"curl", kNetwork,
     "-o=w --output=w -O:O --remote-name:O --remote-name-all:O -J:O -D=w --dump-header=w -c=w "
     "--cookie-jar=w -K=F --config=F --output-dir=t --trace=w --trace-ascii=w --stderr=w "
     "--etag-save=w --hsts=w --alt-svc=w --libcurl=w -T=r --upload-file=r -X= -H=@ -d=@ -F=@ -u= "
     "-A= "
     "-e= -b=r -x= -m= -w=@ -r= -E=r --request= --header=@ --data=@ --data-ascii=@ --data-raw= "
     "--data-binary=@ --data-urlencode=@ --json=@ --form=@ --form-string= --cookie=r --user= "
     "--proxy= --max-time= --retry= --url=u --url-query=@ --cacert=r --cert=r --key=r "
     "--netrc-file=r --engine=! --unix-socket= --etag-compare=r --pubkey=r --crlfile=r "
     "--proxy-cacert=r --proxy-cert=r --proxy-key=r --random-file=r --variable=@",
     Operands::kAddresses},
    {"wget", kNetwork,
     "-O=W --output-document=W -o=w --output-file=w -a=w --append-output=w -P=T "
     "--directory-prefix=T --load-cookies=r --certificate=r --private-key=r --ca-certificate=r "
     "-i=r --input-file=r --use-askpass=c --save-cookies=w --post-file=r --body-file=r "
     "--rejected-log=w --config=F --warc-file=w -e=! --execute=! --header= --user= --password= -t= "
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
     "--exclude-from=r --include-from=r --files-from=N --temp-dir=t -T=t --backup-dir=t "
     "--partial-dir=t --write-batch=w --read-batch=r --link-dest=v --config=F --password-file=r "
     "--remove-source-files:D",
     Operands::kCopy, Inner::kNone, 0, kReadsTrees},

    // ── containers ──
    {"docker podman nerdctl buildah", kUnclear,
     "--context= -c= -H= --host= --config=d -l= --log-level= --tls --url= --root=", kPlain,
     Inner::kNone, 0, kSubcommands},
    {"docker/run docker/exec docker/create docker/compose podman/run podman/exec podman/create "
     "nerdctl/run nerdctl/exec docker/container podman/container",
     kCode,
     "--cidfile=w -v=v --volume=v --mount=v --env-file=r --label-file=r -f=F --file=F --name= -w= "
     "-u= "
     "-p= -e= -h= --entrypoint= --network=",
     kPlain, Inner::kElsewhere},
    {"docker/ps docker/images docker/logs docker/inspect docker/version docker/info podman/ps "
     "podman/images podman/logs podman/inspect docker/stats docker/top",
     kSafe},
    {"docker/build docker/buildx podman/build", kCode,
     "-o= --output= --iidfile=w -f=r --file=r --secret=v -v=v --volume=v -t= --build-arg=",
     Operands::kRead, Inner::kNone, 0, kReadsTrees},
    {"docker/rm docker/rmi docker/system docker/volume docker/kill docker/stop podman/rm "
     "podman/rmi",
     kLocal, "", kPlain, Inner::kNone, 0, kDestroys},
    {"docker/push docker/pull docker/login podman/push podman/pull", kNetwork},
    {"docker/save docker/export docker/cp podman/save podman/export podman/cp", kLocal,
     "-o=W --output=W", Operands::kCopy},
    {"kubectl oc helm k9s minikube kind k3s", kNetwork,
     "-n= --namespace= --context= --cluster= --kubeconfig=! --user= -s= --server= --token= "
     "--as= --request-timeout= -v= --kube-context= --cache-dir=t",
     kPlain, Inner::kNone, 0, kSubcommands},
    {"kubectl/apply kubectl/create kubectl/replace kubectl/diff kubectl/patch kubectl/set "
     "kubectl/label kubectl/annotate kubectl/expose kubectl/scale oc/apply oc/create oc/replace",
     kNetwork,
     "-f=R --filename=R -k=R --kustomize=R --patch-file=r --from-file=n --from-env-file=n --cert=r "
     "--key=r -o= -p= -l= -n="},
    {"helm/install helm/upgrade helm/template helm/lint helm/package", kNetwork,
     "-f=r --values=r --set-file=n --output-dir=t -d=t --destination=t -o= -n=", Operands::kRead,
     Inner::kNone, 0, kReadsTrees},
    {"kubectl/cp oc/cp oc/rsync", kNetwork, "-c= -n=", Operands::kCopy, Inner::kNone, 0,
     kReadsTrees},
    {"kubectl/exec kubectl/run kubectl/debug oc/exec", kCode, "-c= -it -n=", kPlain,
     Inner::kElsewhere},
    {"kubectl/delete kubectl/drain helm/uninstall oc/delete", kDestroy,
     "-f=R --filename=R -k=R --kustomize=R"},

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
