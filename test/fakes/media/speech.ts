/**
 * A text-to-speech server with OpenAI's API, as strict as the real ones: it refuses the same fields, keys, voices and
 * texts.
 */
import { z } from 'zod';
import { type FailingServer, startFailingServer } from './failing-server.ts';
import { OGG } from './media-bytes.ts';

const Asked = z.strictObject({
  model: z.string().min(1),
  input: z.string().min(1).max(4_096),
  voice: z.enum(['alloy', 'nova']),
  response_format: z.enum(['opus', 'mp3']).default('mp3'),
  speed: z.number().min(0.25).max(4).optional(),
});

/** A text that was spoken. */
export type Spoken = z.infer<typeof Asked>;

/** The beginning of every text's MP3. */
const MP3 = Buffer.from('ID3\x04\0\0\0\0\0\0 sound', 'latin1');

export interface FakeSpeech extends FailingServer {
  /** The texts, in order of arrival. */
  readonly spoken: Spoken[];
  /** Answers wait until the returned function is called. */
  hold(): () => void;
}

/** `key`: the only one that is accepted; undefined accepts everyone. */
export async function startFakeSpeech(key?: string): Promise<FakeSpeech> {
  const spoken: Spoken[] = [];
  let held: Promise<void> = Promise.resolve();
  const server = await startFailingServer('/audio/speech', key, async ({ body, response, refuse }) => {
    const asked = Asked.safeParse(JSON.parse(body.toString('utf8')));
    if (!asked.success) return refuse(400, asked.error.issues[0]?.path.join('.') ?? 'invalid');
    spoken.push(asked.data);
    await held;
    const isOpus = asked.data.response_format === 'opus';
    const type = isOpus ? 'audio/ogg' : 'audio/mpeg';
    response.writeHead(200, { 'content-type': type }).end(isOpus ? OGG : MP3);
  });
  return {
    ...server,
    spoken,
    hold() {
      const { promise, resolve } = Promise.withResolvers<void>();
      held = promise;
      return resolve;
    },
  };
}
