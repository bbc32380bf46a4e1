/** The fake Ollama as a process of its own: `node test/fakes/ollama-serve.ts [port] [tokens per answer] [tokens per second]`. */
import { demoAnswer } from '../demo/answer.ts';
import { startFakeOllama } from './ollama.ts';
import type { Answer } from './ollama.ts';

const [port = '0', tokens, perSecond] = process.argv.slice(2);

/** With a number of tokens: the same answer to everything, for measuring; without: the demo's persona. */
function measuredAnswer(count: number, rate: number): Answer {
  const text = Array.from({ length: count }, (_, index) => `word${index} `);
  return { text, ...(rate > 0 && { perSecond: rate }) };
}

const fake = await startFakeOllama({
  port: Number(port),
  fallback: tokens === undefined ? demoAnswer : measuredAnswer(Number(tokens), Number(perSecond ?? 0)),
});
process.stdout.write(`${fake.url}\n`);
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void fake.close());
