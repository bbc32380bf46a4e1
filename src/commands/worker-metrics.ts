/** The metrics of all workers as one text: whichever of them is asked, the answer covers all. */
import type { Worker } from 'node:cluster';
import { isMetricsAnswer } from '../worker.ts';

/** Longest wait for the metrics of a worker, in milliseconds; a busy one is missing from the answer. */
const ANSWER_MS = 2_000;

/** One Prometheus text out of several: each sample gets the label `worker`, and the samples of a metric stay together. */
function mergeMetrics(texts: readonly (readonly [worker: number, text: string])[]): string {
  const families = new Map<string, { head: string[]; samples: string[] }>();
  for (const [worker, text] of texts) {
    let family = { head: [] as string[], samples: [] as string[] };
    for (const line of text.split('\n')) {
      const [, help] = /^# HELP (\S+)/.exec(line) ?? [];
      if (help !== undefined) {
        family = families.get(help) ?? { head: [], samples: [] };
        families.set(help, family);
      }
      if (line.startsWith('#')) {
        if (!family.head.includes(line)) family.head.push(line);
        continue;
      }
      const [, name, labels, value] = /^([\w:]+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
      if (name === undefined) continue;
      const all = [`worker="${worker}"`, ...(labels === undefined || labels === '' ? [] : [labels])];
      family.samples.push(`${name}{${all.join(',')}} ${value}`);
    }
  }
  const lines = [...families.values()].flatMap(({ head, samples }) => [...head, ...samples]);
  return `${lines.join('\n')}\n`;
}

/** Asks every worker, by its number, for its metrics. Never rejects. */
export async function collectMetrics(workers: ReadonlyMap<number, Worker>): Promise<string> {
  const texts = await Promise.all(
    [...workers].map(async ([number, worker]) => [number, await metricsOf(worker)] as const),
  );
  return mergeMetrics(texts.toSorted(([one], [other]) => one - other));
}

async function metricsOf(worker: Worker): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  const timer = setTimeout(() => resolve(''), ANSWER_MS);
  const read = (message: unknown): void => {
    if (isMetricsAnswer(message)) resolve(message.metrics);
  };
  worker.on('message', read);
  worker.send('metrics', (error) => {
    if (error !== null) resolve('');
  });
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    worker.off('message', read);
  }
}
