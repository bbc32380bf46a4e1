/**
 * The resolver for names that tools request. The system's own lookup blocks one of the process's few threads until it
 * ends: two slow names would make every channel's lookups wait. This one (c-ares) waits on sockets and has a time
 * limit.
 */
import { Resolver } from 'node:dns/promises';

/** An address of a name. */
export interface ResolvedAddress {
  address: string;
  family: number;
}

/** Time for one query to one name server, and how often a query is sent. */
const QUESTION_MS = 2_000;
const QUESTIONS = 2;
/** Answers that mean the name has no address of this family. */
const NO_ADDRESS: ReadonlySet<string> = new Set(['ENODATA', 'ENOTFOUND']);

/**
 * Makes the resolver: all addresses of a name, none when it does not exist. Names from the hosts file and search
 * domains do not count: they are local to this machine. Rejects when no name server answers in time. `servers` are the
 * system's unless given.
 */
export function createPublicResolver(
  options: { servers?: readonly string[]; questionMs?: number } = {},
): (hostname: string) => Promise<ResolvedAddress[]> {
  return async (hostname) => {
    // New for each name: the machine's name servers may have changed.
    const resolver = new Resolver({ timeout: options.questionMs ?? QUESTION_MS, tries: QUESTIONS });
    if (options.servers !== undefined) resolver.setServers(options.servers);
    const [four, six] = await Promise.all([
      resolver.resolve4(hostname).catch(unlessNoAddress),
      resolver.resolve6(hostname).catch(unlessNoAddress),
    ]);
    return [
      ...four.map((address) => ({ address, family: 4 })),
      ...six.map((address) => ({ address, family: 6 })),
    ];
  };
}

function unlessNoAddress(error: unknown): string[] {
  if (error instanceof Error && 'code' in error && NO_ADDRESS.has(String(error.code))) return [];
  throw error;
}
