/** The row "rendering": what an answer of 64 KiB costs on each network, and how long rendering blocks everything else. */
import { chunksOf, MessageChunker } from '../../src/delivery/text/chunker.ts';
import { LONG_ANSWERS } from '../corpora/long-answers.ts';
import { type Network, NETWORKS, shownAsRich } from '../corpora/networks.ts';
import type { Figure } from './figures.ts';
import type { RunningGateway } from './gateway-setup.ts';

const MAX_WHOLE_MS = 700;
const MAX_SLICE_MS = 50;
/** Runs per answer; the best counts, because a busy machine can slow down any of them. */
const RUNS = 3;
/** A growing answer is rendered about this often. */
const LOOK_EVERY_CHARS = 2_048;

interface Cost {
  wholeMs: number;
  sliceMs: number;
}

/** The worst kind of answer in the best runs, across all networks. */
export async function renderedLongAnswers({ on }: RunningGateway): Promise<Figure[]> {
  const costs: (Cost & { what: string })[] = [];
  for (const [kind, text] of LONG_ANSWERS) {
    for (const network of NETWORKS)
      costs.push({ what: `${kind} on ${network.name}`, ...(await best(() => costOf(network, text))) });
    costs.push({ what: `${kind} as a rich message`, ...(await best(() => costOfRich(text))) });
  }
  const worst = (of: keyof Cost) => costs.toSorted((a, b) => b[of] - a[of])[0]!;
  const [whole, slice] = [worst('wholeMs'), worst('sliceMs')];
  return [
    {
      what: 'an answer of 64 KiB rendered',
      on,
      value: whole.wholeMs,
      unit: 'ms',
      bar: { atMost: MAX_WHOLE_MS },
      note: `processor time; worst: ${whole.what}`,
    },
    {
      what: 'longest step of rendering it',
      on,
      value: slice.sliceMs,
      unit: 'ms',
      bar: { atMost: MAX_SLICE_MS },
      note: `processor time between two turns of the event loop, also while it grows; worst: ${slice.what}`,
    },
  ];
}

async function best(take: () => Promise<Cost>): Promise<Cost> {
  const costs: Cost[] = [];
  for (let run = 0; run < RUNS; run += 1) costs.push(await take());
  return {
    wholeMs: Math.min(...costs.map(({ wholeMs }) => wholeMs)),
    sliceMs: Math.min(...costs.map(({ sliceMs }) => sliceMs)),
  };
}

async function costOf({ target }: Network, text: string): Promise<Cost> {
  const cost = await measured((pause) => chunksOf(text, target, pause));
  return { ...cost, sliceMs: Math.max(cost.sliceMs, longestLook(target, text)) };
}

async function costOfRich(text: string): Promise<Cost> {
  return await measured((pause) => shownAsRich(text, pause));
}

/** The longest rendering of a growing answer. */
function longestLook(target: Network['target'], text: string): number {
  const chunker = new MessageChunker(target);
  let longest = 0;
  for (let at = 0; at < text.length; at += LOOK_EVERY_CHARS) {
    chunker.push(text.slice(at, at + LOOK_EVERY_CHARS));
    const before = process.threadCpuUsage();
    chunker.open();
    longest = Math.max(longest, workedMs(before));
  }
  return longest;
}

async function measured(work: (pause: () => Promise<void>) => Promise<unknown>): Promise<Cost> {
  let sliceMs = 0;
  let since = process.threadCpuUsage();
  const pause = async (): Promise<void> => {
    sliceMs = Math.max(sliceMs, workedMs(since));
    await new Promise((resolve) => setImmediate(resolve));
    since = process.threadCpuUsage();
  };
  const before = process.threadCpuUsage();
  await work(pause);
  await pause();
  return { wholeMs: workedMs(before), sliceMs };
}

/** CPU time of this thread since then: others may use the processor as well. */
function workedMs(since: NodeJS.CpuUsage): number {
  const { user, system } = process.threadCpuUsage(since);
  return (user + system) / 1_000;
}
