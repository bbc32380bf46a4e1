/** One turn of silence and then tokens, through two restarts of its Postgres. */
import { setTimeout as pause } from 'node:timers/promises';
import { startCluster } from './cluster.ts';
import { answers, say } from './chat-actions.ts';
import { startScenario } from './scenario.ts';

/** Tokens a second while the model answers. */
const PER_SECOND = 20;
/** How long the answer may take to be stored once the last token is out, in milliseconds. */
const STORED_WITHIN_MS = 30_000;

export interface Outlived {
  answer: string | undefined;
  expected: string;
  /** How often the model was asked: 1 when nothing had to be repeated. */
  modelCalls: number;
}

/** Restarts with `-m fast` in the middle of the silence, with `-m immediate` in the middle of the tokens. */
export async function outliveRestarts(options: { silenceMs: number; tokensMs: number }): Promise<Outlived> {
  const { silenceMs, tokensMs } = options;
  const cluster = await startCluster();
  const scenario = await startScenario({
    cluster,
    environment: { LLM_STREAM_FIRST_CHUNK_TIMEOUT: '150' },
  });
  try {
    const [gateway] = scenario.gateways;
    if (gateway === undefined) throw new Error('There is no gateway.');
    gateway.start();
    const url = await gateway.url();
    const count = Math.ceil((tokensMs / 1_000) * PER_SECOND);
    const text = Array.from({ length: count }, (_, at) => `word${at} `);
    scenario.ollama.answer({ hold: true, text, perSecond: PER_SECOND });
    await say(url, 'long', 'Think for a while, then tell me everything.');
    const call = await scenario.ollama.nextCall();
    await pause(silenceMs / 2);
    await cluster.restart('fast');
    await pause(silenceMs / 2);
    call.release();
    await pause(tokensMs / 2);
    await cluster.restart('immediate');
    await call.closed;
    const expected = text.join('');
    const end = performance.now() + STORED_WITHIN_MS;
    let [answer] = await answers(url, 'long');
    while (answer === undefined && performance.now() < end) {
      await pause(100);
      [answer] = await answers(url, 'long');
    }
    return { answer, expected, modelCalls: scenario.ollama.calls.length };
  } finally {
    await scenario.close();
    await cluster.close();
  }
}
