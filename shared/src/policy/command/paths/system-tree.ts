/**
 * The directories at the root of a system. `tree`: everything below is the system's too. `top`: the directory and
 * its direct children are (deleting every home is destruction, deleting a folder in one's home is not). `self`:
 * only the directory. `but` names what is ordinary work although it lies below.
 */
export interface SystemDirectory {
  readonly reach: 'tree' | 'top' | 'self';
  readonly but?: readonly string[];
}

const tree: SystemDirectory = { reach: 'tree' };
const self: SystemDirectory = { reach: 'self' };

/** Filesystem Hierarchy Standard 3.0, and macOS' names beside it. */
export const systemDirectories: Readonly<Record<string, SystemDirectory>> = {
  bin: tree,
  boot: tree,
  dev: tree,
  // a Nix or Guix store is the system itself
  nix: tree,
  gnu: tree,
  etc: tree,
  lib: tree,
  lib32: tree,
  lib64: tree,
  libx32: tree,
  libexec: tree,
  proc: tree,
  run: tree,
  sbin: tree,
  sys: tree,
  // container images keep the application in /usr/src
  usr: { reach: 'tree', but: ['src/*'] },
  var: {
    reach: 'tree',
    but: ['tmp/*', 'folders/*', 'www/*', 'cache/*', 'lib/apt/lists/*', 'lib/docker/*'],
  },
  snap: tree,
  'lost+found': tree,
  root: self,
  home: { reach: 'top' },
  opt: self,
  srv: self,
  tmp: self,
  media: self,
  mnt: { reach: 'top' },
  System: tree,
  Library: tree,
  Applications: self,
  Users: { reach: 'top' },
  Volumes: { reach: 'top' },
  cores: self,
  private: { reach: 'tree', but: ['tmp/*', 'var/tmp/*', 'var/folders/*'] },
};

/** Devices that swallow or pass on text; every other write below /dev is refused. */
export const harmlessSinks = /^(null|stdout|stderr|fd\/\d+)$/;
