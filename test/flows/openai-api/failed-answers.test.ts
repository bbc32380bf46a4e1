/** A turn that fails, as OpenAI's own client and the readers of a session learn of it: each exactly once. */
import OpenAI, { APIError } from 'openai';
import { expect, it } from 'vitest';
import { eventsUntil } from '../../channels/http/client.ts';
import { describeGateway, OWNER } from '../setup.ts';

/** Half an answer, then an error of the server; the call is repeated once, so twice. */
const BROKEN = {
  text: 'Half an answer',
  failure: { kind: 'error_line', after: 3, error: 'the runner has ended' },
} as const;
const REFUSED = { failure: { kind: 'status', status: 400, error: 'no such option' } } as const;

describeGateway('the openai client, when a turn of its session fails', {}, (fixture) => {
  const client = (session: string) =>
    new OpenAI({
      baseURL: `${fixture().gateway.url}/v1`,
      apiKey: OWNER,
      maxRetries: 0,
      defaultHeaders: { 'x-session-id': session },
    });
  const request = (content: string) => ({
    model: 'default',
    messages: [{ role: 'user' as const, content }],
  });
  const stored = async (session: string): Promise<string> =>
    (await fixture().messages(`http:${session}`)).at(-1)?.content ?? '';

  /** What a stream says until it ends, and the error that it raises. */
  async function streamed(session: string, content: string): Promise<{ text: string; error: unknown }> {
    let text = '';
    try {
      const stream = await client(session).chat.completions.create({ ...request(content), stream: true });
      for await (const { choices } of stream) text += choices[0]?.delta.content ?? '';
    } catch (error) {
      return { text, error };
    }
    return { text, error: undefined };
  }

  it('raises the reason in a stream, and does not say it in the text as well', async () => {
    for (let attempt = 0; attempt < 2; attempt += 1)
      fixture().ollama.answer(BROKEN, { when: 'break in the middle' });
    const { text, error } = await streamed('broken', 'break in the middle');
    expect(error).toBeInstanceOf(APIError);
    const apology = (await stored('broken')).split('\n\n').at(-1) ?? '';
    expect(apology).toMatch(/^Sorry/);
    expect(error).toMatchObject({ message: apology });
    expect(text).toBe('Half an answer');
  });

  it('raises it as the status of a stream that has said nothing yet', async () => {
    fixture().ollama.answer(REFUSED, { when: 'refuse the stream', times: Infinity });
    const { text, error } = await streamed('refused', 'refuse the stream');
    expect(error).toMatchObject({
      status: 400,
      code: 'bad_request',
      error: { message: await stored('refused') },
    });
    expect(text).toBe('');
  });

  it('raises it for a whole answer', async () => {
    for (let attempt = 0; attempt < 2; attempt += 1)
      fixture().ollama.answer(BROKEN, { when: 'break the whole' });
    const asked = client('whole').chat.completions.create(request('break the whole'));
    const error: unknown = await asked.catch((thrown: unknown) => thrown);
    const apology = (await stored('whole')).split('\n\n').at(-1);
    expect(error).toMatchObject({ status: 502, code: 'bad_response', error: { message: apology } });
  });

  it('gets it as the end of a response, whose text has none of it', async () => {
    for (let attempt = 0; attempt < 2; attempt += 1)
      fixture().ollama.answer(BROKEN, { when: 'break the response' });
    const stream = await client('response').responses.create({
      model: 'default',
      input: 'break the response',
      stream: true,
    });
    let text = '';
    const ends: unknown[] = [];
    for await (const event of stream) {
      if (event.type === 'response.output_text.delta') text += event.delta;
      if (event.type === 'response.failed') ends.push(event.response.error?.message);
    }
    expect(text).toBe('Half an answer');
    expect(ends).toEqual([(await stored('response')).split('\n\n').at(-1)]);
  });

  it('lets the readers of the session’s events read it as one text, marked as the failure', async () => {
    fixture().ollama.answer(REFUSED, { when: 'refuse the events', times: Infinity });
    const turnId = await fixture().post('watched', 'refuse the events');
    const stream = await fixture().call('/v1/sessions/http:watched/events', {
      headers: { 'last-event-id': '0-0' },
    });
    const { events } = await eventsUntil(stream, ({ type }) => type === 'turn_ended');
    const said = events.flatMap((event) => (event.type === 'stream_chunk' ? [event.delta] : []));
    expect(said).toEqual([await stored('watched')]);
    const starts = events.filter(({ type }) => type === 'stream_start');
    expect(starts.at(-1)).toMatchObject({ turnId, failure: true });
    expect(events.filter(({ type }) => type === 'notice')).toEqual([]);
    expect(events.at(-1)).toMatchObject({ type: 'turn_ended', reason: 'failed' });
  });
});
