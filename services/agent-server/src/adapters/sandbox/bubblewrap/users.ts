/** Host uid and gid of the supervisor, and of commands; no account need exist for them. */
export const supervisorUid = 10_000;
export const commandUid = 10_001;

/** Lines of inside, outside, count, as the kernel takes them. */
export type IdMap = string;

/** The maps of an outer and an inner user namespace; see `user-namespaces.ts`. */
export interface IdMaps {
  readonly outer: IdMap;
  readonly inner: IdMap;
}

/** A sandbox' two uids: the supervisor is root of its namespace, commands are nobody in particular. */
export const sandboxIdMaps: IdMaps = {
  outer: `0 0 1\n${supervisorUid} ${supervisorUid} 1\n${commandUid} ${commandUid} 1\n`,
  inner: `0 ${supervisorUid} 1\n${commandUid} ${commandUid} 1\n`,
};

/** One uid, the same inside and outside, for a throwaway run with a host user's rights. */
export function throwawayIdMaps(id: number): IdMaps {
  return id === 0
    ? { outer: '0 0 1\n', inner: '0 0 1\n' }
    : { outer: `0 0 1\n${id} ${id} 1\n`, inner: `${id} ${id} 1\n` };
}
