import type { Clock } from '@lemniscate/shared/clock.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { NewId } from '@lemniscate/shared/id.ts';
import { abortable } from './abortable.ts';
import type { Log } from './ports/log.ts';
import type { Sandbox, SandboxDriver, SandboxProfile } from './ports/sandbox-driver.ts';
import { createPoolMember } from './pool-member.ts';
import type { PoolMember } from './pool-member.ts';
import { createRefill } from './refill.ts';
import { createWarmDemand } from './warm-demand.ts';

/** A sandbox that belongs to one session now, and to nobody after it. */
export interface ClaimedSandbox {
  readonly sandbox: Sandbox;
  /** False for a cold start. */
  readonly warm: boolean;
}

/** A claim from the moment it is made: it can be given back while its sandbox still boots. */
export interface Claim {
  /** @throws CodedError `sandbox_start_failed`; the signal's reason */
  readonly ready: Promise<ClaimedSandbox>;
  /** Destroys the sandbox and resolves when it is seen gone; tries for as long as that takes. */
  release(): Promise<void>;
}

export interface WarmPoolStatus {
  readonly warm: number;
  /** Claims that found no warm sandbox that was right in everything. */
  readonly coldStarts: number;
  /** How many the pool keeps at the moment. */
  readonly target: number;
  readonly profiles: readonly string[];
  /** Why sandboxes do not start at the moment, for the operator. */
  readonly unhealthy: string | null;
}

/** Warm sandboxes, claimed once and destroyed after. */
export interface WarmPool {
  /**
   * A warm sandbox of exactly this profile that answers, else a cold start; never something almost right.
   * @throws CodedError `request_invalid` for an unknown profile
   */
  claim(profileName: string, signal: AbortSignal): Claim;
  /** Refuses unknown profiles before a slot is taken. */
  has(profileName: string): boolean;
  status(): WarmPoolStatus;
  /** Begins to fill. */
  start(): void;
  /** Destroys everything that nobody has claimed; claimed ones are their sessions' to release. */
  close(): Promise<void>;
}

export interface WarmPoolDeps {
  readonly driver: SandboxDriver;
  readonly profiles: readonly SandboxProfile[];
  /** Warm sandboxes a profile: kept always, and at most. */
  readonly size: { readonly floor: number; readonly ceiling: number };
  /** An unused sandbox older than this is replaced. */
  readonly maxAgeMs: number;
  readonly newId: NewId;
  readonly clock: Clock;
  readonly log: Log;
  /** The number of warm sandboxes or the pool's health has changed. */
  onChange(): void;
}

/**
 * After a claim the pool waits this long before it boots the next sandbox. A boot costs about 80 ms of processor time
 * and several `spawn`s of 10 ms each on this thread, just when the claimed session lays its working copy and runs its
 * first command. A claim that finds the pool
 * empty does not wait for it.
 */
const refillPauseMs = 150;

const tendEveryMs = 5_000;

/** A warm sandbox that does not answer within this is not handed out. A round trip takes about a millisecond. */
const pingMs = 500;

export function createWarmPool(deps: WarmPoolDeps): WarmPool {
  const members = new Map<string, PoolMember>();
  const profiles = new Map(deps.profiles.map((profile) => [profile.name, profile]));
  const demands = new Map(deps.profiles.map(({ name }) => [name, createWarmDemand(deps.clock, deps.size)]));
  const wantedSince = new Map<string, number>();
  let tending: NodeJS.Timeout | undefined;
  let coldStarts = 0;
  let closed = false;

  const warmOf = (name: string) =>
    [...members.values()].filter((member) => member.profile.name === name && member.state() === 'warm');

  const refill = createRefill({
    log: deps.log,
    onChange: deps.onChange,
    missing: () => (closed ? null : (deps.profiles.find((profile) => shortage(profile) > 0) ?? null)),
    boot: async (profile) => {
      await boot(profile, 'pool').ready;
      const since = wantedSince.get(profile.name);
      if (since !== undefined) demands.get(profile.name)?.refilled(deps.clock.monotonicMs() - since);
      wantedSince.delete(profile.name);
      if (shortage(profile) > 0) wantedSince.set(profile.name, deps.clock.monotonicMs());
    },
  });

  function shortage({ name }: SandboxProfile): number {
    const coming = [...members.values()].filter(
      (member) => member.profile.name === name && member.awaitedBy() === 'pool',
    );
    const target = demands.get(name)?.target() ?? 0;
    // A server that is taken for unhealthy gets no sessions, so it must find out by itself that it has recovered.
    const wanted = refill.unhealthy() === null ? target : Math.max(target, 1);
    return wanted - coming.length;
  }

  /** What is more than the demand asks for, or has aged, goes; one a look, so that it is never many at once. */
  function tend(): void {
    const now = deps.clock.monotonicMs();
    for (const profile of deps.profiles) {
      const oldest = warmOf(profile.name)[0];
      if (oldest === undefined) continue;
      if (shortage(profile) >= 0 && now - oldest.warmSinceMs() <= deps.maxAgeMs) continue;
      oldest.claim();
      void oldest.destroy();
      deps.onChange();
    }
    refill.wake();
  }

  function boot(profile: SandboxProfile, awaitedBy: 'pool' | 'session'): PoolMember {
    const member = createPoolMember(deps, profile, awaitedBy, () => {
      members.delete(member.id);
      deps.onChange();
      refill.wake();
    });
    members.set(member.id, member);
    return member;
  }

  async function takeWarm(profile: SandboxProfile): Promise<PoolMember | null> {
    if (warmOf(profile.name).length === 0) return null;
    const fingerprint = await deps.driver.fingerprint(profile).catch(() => null);
    // Looked at anew after each ping: meanwhile others end or are claimed.
    for (let [member] = warmOf(profile.name); member !== undefined; [member] = warmOf(profile.name)) {
      const sandbox = member.claim();
      if (member.fingerprint() !== fingerprint) {
        deps.log.info({ sandbox: member.id }, 'a warm sandbox is of an older profile, image or supervisor');
        void member.destroy();
        continue;
      }
      try {
        await sandbox.ping(pingMs);
        return member;
      } catch (error) {
        deps.log.warn({ sandbox: member.id, err: error }, 'a warm sandbox did not answer');
        void member.destroy();
      }
    }
    return null;
  }

  /** A boot that the pool has under way is as unused as one begun now, and nearer to its end. */
  async function takeBooting(profile: SandboxProfile): Promise<PoolMember> {
    const coming = [...members.values()].find(
      (member) =>
        member.profile.name === profile.name && member.state() === 'booting' && member.awaitedBy() === 'pool',
    );
    const member = coming ?? boot(profile, 'session');
    member.await();
    try {
      await member.ready;
    } catch (error) {
      refill.failed(error);
      throw error;
    }
    refill.succeeded();
    member.claim();
    return member;
  }

  async function take(profile: SandboxProfile): Promise<{ member: PoolMember; warm: boolean }> {
    demands.get(profile.name)?.arrived();
    if (!wantedSince.has(profile.name)) wantedSince.set(profile.name, deps.clock.monotonicMs());
    const warm = await takeWarm(profile);
    if (warm === null) coldStarts += 1;
    const member = warm ?? (await takeBooting(profile));
    deps.onChange();
    setTimeout(refill.wake, refillPauseMs).unref();
    return { member, warm: warm !== null };
  }

  return {
    claim: (profileName, signal) => {
      const profile = profiles.get(profileName);
      if (profile === undefined) throw unknownProfile(profileName, [...profiles.keys()]);
      const taking = take(profile);
      const ready = abortable(taking, signal).then(({ member, warm }) => ({
        sandbox: member.sandbox(),
        warm,
      }));
      // Given back before anybody waited for it: its failure is told by `release` having nothing to destroy.
      ready.catch(() => undefined);
      return {
        ready,
        release: async () => {
          const taken = await taking.catch(() => null);
          await taken?.member.destroy();
        },
      };
    },
    has: (profileName) => profiles.has(profileName),
    status: () => ({
      warm: deps.profiles.reduce((sum, profile) => sum + warmOf(profile.name).length, 0),
      coldStarts,
      target: [...demands.values()].reduce((sum, demand) => sum + demand.target(), 0),
      profiles: [...profiles.keys()],
      unhealthy: refill.unhealthy(),
    }),
    start: () => {
      tending = setInterval(tend, tendEveryMs).unref();
      refill.start();
    },
    close: async () => {
      closed = true;
      clearInterval(tending);
      await refill.stop();
      const idle = [...members.values()].filter((member) => member.state() !== 'claimed');
      await Promise.all(idle.map((member) => member.destroy()));
    },
  };
}

function unknownProfile(name: string, known: readonly string[]): CodedError {
  return new CodedError(
    'request_invalid',
    `This server has no sandbox profile ${JSON.stringify(name)}; it has ${known.join(', ')}.`,
    { profile: name, known },
  );
}
