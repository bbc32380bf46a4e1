/** A power cut: what the disk of a home holds at one moment, and what a gateway finds on it after the reboot. */
import { readFile, rm } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { z } from 'zod';
import { GatewayProcess } from './gateways.ts';
import { until } from './moments.ts';
import { processesOf } from './orphans.ts';
import { imageOf, TOKEN } from './scenario.ts';
import type { TextRef } from './script.ts';
import { copyImage, mountImage, repairImage, unmountDisk } from './small-disk.ts';

/** As after a reboot: no process of before exists, and none of its shared memory. */
export const OWN_MACHINE = ['unshare', '--pid', '--ipc', '--fork', '--mount-proc', '--kill-child', '--'];
/** How long a gateway may take to open what a power cut left, in milliseconds. */
const OPENED_WITHIN_MS = 60_000;
const PAGE = 200;
/** Nothing listens there: turns of the copy reach no model, and their tools have no effect. */
const NOWHERE = 'http://127.0.0.1:9';

const messagePage = z.object({
  messages: z.array(z.object({ seq: z.number(), role: z.string(), content: z.string() })),
});

/**
 * Copies the disk of a home as it is now. Its processes stand still meanwhile; what they have written but not
 * synced is lost, as far as the kernel has not written it out by itself.
 */
export async function cutPower(home: string, copy: string): Promise<void> {
  const stopped = new Set<number>();
  try {
    // Again, until none has started another one in the meantime.
    for (let found = await stopMore(home, stopped); found > 0; found = await stopMore(home, stopped));
    await copyImage(imageOf(home), copy);
  } finally {
    for (const pid of stopped) signal(pid, 'SIGCONT');
  }
}

async function stopMore(home: string, stopped: Set<number>): Promise<number> {
  const running = (await processesOf(home)).filter(({ pid }) => !stopped.has(pid));
  for (const { pid } of running) {
    signal(pid, 'SIGSTOP');
    stopped.add(pid);
  }
  return running.length;
}

/** Sends a signal to a process that may have ended meanwhile. */
export function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
  }
}

/** Starts a gateway on a copy of a disk, which is removed. Returns what is lost: the whole home, or some of these messages. */
export async function lossesOf(copy: string, accepted: readonly TextRef[]): Promise<string[]> {
  const home = `${copy}.home`;
  await repairImage(copy);
  await mountImage(copy, home);
  const environment = {
    PORT: '0',
    LOG_LEVEL: 'warn',
    GATEWAY_TOKEN: TOKEN,
    OLLAMA_HOST: NOWHERE,
    EFFECTS_URL: NOWHERE,
  };
  const gateway = new GatewayProcess(home, environment, { prefix: OWN_MACHINE });
  try {
    gateway.start();
    const url = await urlOf(gateway);
    if (url === undefined) return [`it does not open: ${await lastWords(home)}`];
    const stored = await questionsAt(url, new Set(accepted.map(({ session }) => session)));
    return accepted.filter(({ text }) => !stored.has(text)).map(({ id }) => `${id} is missing`);
  } finally {
    await gateway.kill();
    await unmountDisk(home);
    await Promise.all([home, `${home}.log`, copy].map((file) => rm(file, { recursive: true, force: true })));
  }
}

/** Undefined when it ends instead, or takes too long. */
async function urlOf(gateway: GatewayProcess): Promise<string | undefined> {
  let url: string | undefined;
  const ready = gateway.url().then(
    (found) => (url = found),
    // It is still not ready, which the limit below says as well.
    () => undefined,
  );
  await until(() => url !== undefined || !gateway.running, OPENED_WITHIN_MS);
  if (gateway.running) await ready;
  return url;
}

/** The texts of all questions in these sessions. */
async function questionsAt(url: string, sessions: ReadonlySet<string>): Promise<Set<string>> {
  const texts = new Set<string>();
  for (const session of sessions) {
    let before: number | undefined;
    do {
      const query = `limit=${PAGE}${before === undefined ? '' : `&before=${before}`}`;
      const response = await fetch(`${url}/v1/sessions/http:${session}/messages?${query}`, {
        headers: { authorization: `Bearer ${TOKEN}` },
      });
      if (response.status === 404) break;
      if (!response.ok) throw new Error(`${response.status} ${await response.text()}`);
      const { messages } = messagePage.parse(await response.json());
      for (const { role, content } of messages) if (role === 'user') texts.add(content);
      before = messages.length < PAGE ? undefined : messages[0]?.seq;
    } while (before !== undefined);
  }
  return texts;
}

/** The last line of a gateway's log that says something. */
async function lastWords(home: string): Promise<string> {
  // What it wrote last may still be on its way to the file.
  await pause(100);
  const lines = (await readFile(`${home}.log`, 'utf8')).split('\n').filter((line) => line.trim() !== '');
  return lines.at(-1) ?? 'it says nothing';
}
