/** Tools of each effect class whose runs are counted by an outside server: the oracle for "never done twice". */
import { createServer } from 'node:http';
import { z } from 'zod';
import { ToolError } from '../../../src/protocol/errors.ts';
import { defineTool, type Tool, type ToolEffect, type ToolRisk } from '../../../src/protocol/agent/tool.ts';
import type { Reach } from '../../../src/protocol/agent/risk.ts';

/** Counts what tools did, by call key. */
export interface EffectsServer {
  url: string;
  /** How often the effect of this call took place. */
  runs(callKey: string): number;
  /** All counts, by `<effect> <call key>`. */
  counts(): Map<string, number>;
  close(): Promise<void>;
}

/**
 * Listens on a free port on loopback. An effect is counted when its request has arrived, answered or not; the answer
 * arrives `answerAfterMs` later.
 */
export async function startEffects(answerAfterMs = 0): Promise<EffectsServer> {
  const counts = new Map<string, number>();
  const server = createServer((request, response) => {
    const asked = new URL(request.url ?? '/', 'http://effects');
    const key = `${asked.searchParams.get('effect')} ${asked.searchParams.get('key')}`;
    counts.set(key, (counts.get(key) ?? 0) + 1);
    setTimeout(() => response.end('done'), answerAfterMs);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  return {
    url: `http://127.0.0.1:${port}/`,
    runs: (callKey) => [...counts].reduce((sum, [key, n]) => sum + (key.endsWith(` ${callKey}`) ? n : 0), 0),
    counts: () => new Map(counts),
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const parameters = z.strictObject({ word: z.string().default('') });

/** `pure_probe`, `idempotent_probe` and `unsafe_probe`, counted by the server at `url`; `risk` is that of the last, `reach` that of all. */
export function effectTools(url: string, risk: ToolRisk = 'safe', reach?: Reach): Tool[] {
  return (['pure', 'idempotent', 'unsafe'] satisfies ToolEffect[]).map((effect) =>
    defineTool({
      name: `${effect}_probe`,
      description: `Does something ${effect} and tells how often it was done under this call's key.`,
      parameters,
      effect,
      risk: () => (effect === 'unsafe' ? risk : 'safe'),
      results: 'operator',
      reach: () => reach ?? (effect === 'pure' ? 'session' : 'outside'),
      async execute({ word }: z.infer<typeof parameters>, ctx) {
        const asked = new URL(url);
        asked.searchParams.set('effect', effect);
        asked.searchParams.set('key', ctx.callKey);
        const answer = await fetch(asked, { signal: ctx.signal });
        if (!answer.ok) throw new ToolError('effects', `The effects server answered ${answer.status}.`);
        return { content: `${effect} ${word}: ok` };
      },
    }),
  );
}
