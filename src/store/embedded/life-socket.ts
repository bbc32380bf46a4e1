/**
 * A socket that a process listens on as long as it lives: a process that can connect knows that it is running. The
 * kernel closes it with the process, and connecting works across containers that share a folder, where process ids
 * mean nothing.
 */
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { open, rm } from 'node:fs/promises';
import { createConnection, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';

/** Longest path of a unix socket used here, in bytes; Linux allows 107, macOS 103. */
export const MAX_SOCKET_PATH = 100;

/** Connection errors for a socket whose process is gone. */
const GONE = new Set(['ENOENT', 'ECONNREFUSED']);

/**
 * Listens in `folder` under `name` and returns the function that closes it; undefined if the folder does not support
 * sockets. Never throws.
 */
export async function openLifeSocket(
  folder: string,
  name: string,
): Promise<(() => Promise<void>) | undefined> {
  const server = createServer((socket) => socket.destroy());
  // It must not keep alive a process that has nothing else to do.
  server.unref();
  try {
    await withAddress(folder, name, async (address) => {
      server.listen(address);
      await once(server, 'listening');
    });
  } catch {
    // Some network file systems refuse sockets. The embedded database needs one, too, and reports it.
    return undefined;
  }
  return async () => {
    server.close();
    await rm(path.join(folder, name), { force: true });
  };
}

/**
 * True while the process that opened the socket is running. A socket that exists and cannot be queried counts as
 * open.
 */
export async function isLifeSocketOpen(folder: string, name: string): Promise<boolean> {
  try {
    await withAddress(folder, name, async (address) => {
      const socket = createConnection(address);
      await once(socket, 'connect');
      socket.destroy();
    });
    return true;
  } catch (error) {
    return !(error instanceof Error && 'code' in error && GONE.has(String(error.code)));
  }
}

/** An address short enough for a socket: on Linux, a long path is reached through an open descriptor of its folder. */
async function withAddress(
  folder: string,
  name: string,
  use: (address: string) => Promise<void>,
): Promise<void> {
  const inFolder = path.resolve(folder, name);
  if (process.platform === 'win32') {
    await use(`\\\\.\\pipe\\parley-${name}`);
  } else if (Buffer.byteLength(inFolder) <= MAX_SOCKET_PATH) {
    await use(inFolder);
  } else if (process.platform === 'linux') {
    await using handle = await open(folder, 'r');
    await use(`/proc/self/fd/${handle.fd}/${name}`);
  } else {
    const digest = createHash('sha256').update(inFolder).digest('hex').slice(0, 16);
    await use(path.join(tmpdir(), `parley-${digest}.sock`));
  }
}
