/** The bench's model server as a separate process: a fake Ollama that answers the way the last user message asks. */
import { lastUserText } from '../fakes/model/spoken-text.ts';
import { type Reply, startFakeOllama } from '../fakes/ollama/ollama.ts';

/**
 * `say 20`: twenty tokens, all at once. `pace 20 60`: sixty tokens, twenty a second. Anything else: silence, as in a
 * long prefill. The tokens are the same from call to call, so they are created once.
 */
const replies = new Map<string, Reply>();

function replyTo(text: string): Reply {
  const known = replies.get(text);
  if (known !== undefined) return known;
  const [, say, rate, count] = /(?:^|\s)(?:say (\d+)|pace (\d+) (\d+))$/m.exec(text) ?? [];
  const tokens = Number(say ?? count ?? 0);
  const words = Array.from({ length: tokens }, (_, index) => `word${index} `);
  const reply: Reply = tokens === 0 ? { hold: true } : { text: words };
  if (rate !== undefined) reply.perSecond = Number(rate);
  replies.set(text, reply);
  return reply;
}

const fake = await startFakeOllama({ fallback: (body) => replyTo(lastUserText(body)) });
process.send?.({ url: fake.url });
process.once('disconnect', () => void fake.close());

/** Reports each call as it arrives, and when its caller closed the connection; finished answers are not reported. */
for (;;) {
  const call = await fake.nextCall();
  const text = lastUserText(call.body);
  if (text.startsWith('say ')) continue;
  process.send?.({ arrived: text });
  void call.closed.then(({ by }) => by === 'client' && process.send?.({ closed: text }));
}
