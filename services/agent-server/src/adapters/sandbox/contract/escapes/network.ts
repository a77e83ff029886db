import type { EscapeAttempt } from './escape-attempt.ts';
import { bash, perl } from './escape-attempt.ts';

export const network: readonly EscapeAttempt[] = [
  bash(
    'no interface but loopback',
    `grep -v -e '|' -e ' lo:' -e '^ *lo:' /proc/net/dev | grep -q : && echo ESCAPED`,
  ),
  bash('no TCP by address', 'timeout 3 bash -c "exec 3<>/dev/tcp/$ADDRESS/$PORT" && echo ESCAPED'),
  bash(
    'no TCP to the host’s loopback',
    'timeout 3 bash -c "exec 3<>/dev/tcp/127.0.0.1/$PORT" && echo ESCAPED',
  ),
  bash('no UDP, hence no DNS', 'timeout 3 bash -c "echo q > /dev/udp/$ADDRESS/$PORT" && echo ESCAPED'),
  perl(
    'no abstract socket of the host',
    `use Socket; socket(S, AF_UNIX, SOCK_STREAM, 0) or exit; my $a = pack("S a*", AF_UNIX, "\\0$ENV{ABSTRACT}");
     print "ESCAPED\\n" if connect(S, $a);`,
  ),
  perl('no raw socket', 'use Socket; print "ESCAPED\\n" if socket(S, AF_INET, SOCK_RAW, 1);'),
  {
    ...perl(
      'no TCP by the other family of addresses',
      `use Socket qw(:DEFAULT inet_pton pack_sockaddr_in6); socket(S, AF_INET6, SOCK_STREAM, 0) or exit;
     print "ESCAPED\\n" if connect(S, pack_sockaddr_in6($ENV{PORT6}, inet_pton(AF_INET6, "::1")));`,
    ),
    dependsOnKernel: true,
  },
  perl(
    'no socket of the host in a folder, such as an engine’s',
    `use Socket; for my $p ($ENV{SOCKET}, "/var/run/docker.sock", "/run/docker.sock", "/run/containerd/containerd.sock", "/run/podman/podman.sock") {
       socket(S, AF_UNIX, SOCK_STREAM, 0) or exit; print "ESCAPED $p\\n" if connect(S, pack_sockaddr_un($p)); }`,
  ),
  // the loopback is asked to be up, which it is: whoever may ask may add addresses, routes and interfaces
  perl(
    'no change of interfaces or routes',
    `use Socket; socket(S, 16, SOCK_RAW, 0) or exit; my $m = pack("LSSLL CxSlLL", 32, 16, 5, 1, 0, 0, 0, 1, 1, 1);
     send(S, $m, 0, pack("SSLL", 16, 0, 0, 0)) or exit; recv(S, my $r, 4096, 0); my (undef, $t, undef, undef, undef, $e) = unpack("LSSLLl", $r);
     print "ESCAPED\\n" if $t == 2 && $e == 0;`,
  ),
];
