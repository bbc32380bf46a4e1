/** Streams and fields in unusual shapes: ends, lines, counts, answers that arrive whole. */
import { MAX_LINE_BYTES } from '../../../src/providers/answers/read-answer.ts';
import { type Case, delta, DONE, event, HELLO, LAST, line, message, ollama, openai, STOP } from './wire.ts';

const hello = delta({ content: 'Hello.' });
const counts = { prompt_tokens: '7', completion_tokens: '3' };
const counted = { ...HELLO, usage: { promptTokens: 7, completionTokens: 3 } };
const document = {
  id: 'x',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hello.' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 7, completion_tokens: 3 },
};
const umlaut = Buffer.from(delta({ content: 'ж👩‍🚀' }));
const broken = { code: 'bad_response', message: 'a broken answer' };
const asWhole = (made: Case): Case => ({ ...made, whole: true });
const ended = (finish: string): string[] => [hello, delta({}, finish), DONE];

const OPENAI: readonly Case[] = [
  openai(
    'content as parts',
    [
      delta({
        content: [
          { type: 'text', text: 'Hel' },
          { type: 'text', text: 'lo.' },
        ],
      }),
      ...STOP,
    ],
    HELLO,
  ),
  openai('content as one part', [delta({ content: { type: 'text', text: 'Hello.' } }), ...STOP], HELLO),
  openai('content as a number', [delta({ content: 7 }), hello, ...STOP], HELLO),
  openai('usage as text', [hello, ...STOP.slice(0, 1), event({ choices: [], usage: counts }), DONE], counted),
  openai('usage as a list', [hello, delta({}, 'stop'), event({ choices: [], usage: [1] }), DONE], HELLO),
  openai('negative usage', [hello, delta({}, 'stop'), event({ usage: { prompt_tokens: -1 } }), DONE], HELLO),
  openai('choices that are null', [event({ choices: null }), hello, ...STOP], HELLO),
  openai(
    'choices that are an object',
    [event({ choices: { delta: { content: 'Hello.' } } }), ...STOP],
    HELLO,
  ),
  openai('a delta that is null', [event({ choices: [{ delta: null }] }), hello, ...STOP], HELLO),
  openai(
    'a message where the delta should be',
    [event({ choices: [{ message: { content: 'Hello.' } }] }), ...STOP],
    HELLO,
  ),
  openai('text of the older completions', [event({ choices: [{ text: 'Hello.' }] }), ...STOP], HELLO),
  openai(
    'the first event of Azure',
    [event({ choices: [], prompt_filter_results: [{}] }), hello, ...STOP],
    HELLO,
  ),
  openai('a refusal', [delta({ refusal: 'I will not.' }), ...STOP], {
    text: 'I will not.',
    finish: 'refusal',
  }),
  openai('finish_reason length', ended('length'), { ...HELLO, finish: 'length' }),
  openai('finish_reason content_filter', ended('content_filter'), { ...HELLO, finish: 'content_filter' }),
  openai('finish_reason SAFETY', ended('SAFETY'), { ...HELLO, finish: 'content_filter' }),
  openai('finish_reason error', ended('error'), { ...broken }),
  openai('a finish_reason nobody knows', ended('whatever'), HELLO),
  openai('an end without [DONE]', [hello, delta({}, 'stop')], HELLO),
  openai('[DONE] without a finish_reason', [hello, DONE], HELLO),
  openai('[DONE] and nothing else', [DONE], broken),
  openai('an empty answer', STOP, { text: '' }),
  openai('a blank answer', [delta({ content: ' \n' }), ...STOP], { text: ' \n' }),
  openai('only thinking', [delta({ reasoning: 'Hm.' }), ...STOP], { text: '', thinking: 'Hm.' }),
  openai('CRLF', [[hello, ...STOP].join('').replaceAll('\n', '\r\n')], HELLO),
  openai('no blank behind "data:"', [[hello, ...STOP].join('').replaceAll('data: ', 'data:')], HELLO),
  openai(
    'comments, names and ids',
    [': ping\n\n', 'event: message\nid: 1\nretry: 5\n', hello, ...STOP],
    HELLO,
  ),
  openai(
    'data in several lines',
    ['data: {"choices": [{"delta":\n', 'data: {"content": "Hello."}}]}\n\n', ...STOP],
    HELLO,
  ),
  openai('half of an event', ['data: {"choices": [\n\n', ...STOP], broken),
  openai('characters cut by packets', [...Array.from(umlaut, (byte) => Uint8Array.of(byte)), ...STOP], {
    text: 'ж👩‍🚀',
  }),
  openai('text behind [DONE]', [hello, ...STOP, hello], HELLO),
  openai('a last line without its newline', [hello, delta({}, 'stop'), 'data: [DONE]'], HELLO),
  openai('a byte order mark', ['\uFEFF', hello, ...STOP], HELLO),
  openai('a whole answer instead of a stream', [JSON.stringify(document)], counted),
  openai('a whole answer in many lines', [JSON.stringify(document, null, 2)], counted),
  openai('a whole answer that is an error', ['{"error": {"message": "the slot failed"}}'], broken),
  openai('a whole answer that is none', ['{"status": "ok"}'], broken),
  asWhole(openai('a whole answer that was asked for', [JSON.stringify(document)], counted)),
  asWhole(openai('a whole answer with a byte order mark', [`\uFEFF${JSON.stringify(document)}`], counted)),
  asWhole(openai('a whole answer without choices', ['{"choices": 7}'], broken)),
  asWhole(openai('a whole answer that is no JSON', ['<html>'], broken)),
  openai('an error in the stream', [hello, event({ error: { message: 'the slot failed' } })], broken),
  openai('event: error', [hello, 'event: error\ndata: the slot failed\n\n'], broken),
  openai(
    'event: error with a message',
    [hello, 'event: error\ndata: {"message": "the slot failed"}\n\n'],
    broken,
  ),
  openai(
    'an overflow told in the stream',
    [event({ error: { message: 'prompt is too long: 9 tokens > 4 maximum' } })],
    {
      code: 'context_overflow',
    },
  ),
  openai('an event that is a list', [hello, 'data: [1]\n\n'], broken),
  openai('no events at all', ['<html><body>nginx</body></html>\n'], broken),
  openai('a line as long as is taken', [`: ${'x'.repeat(900_000)}\n`, hello, ...STOP], HELLO),
  openai('a line of 2 MB', [`data: ${'x'.repeat(2 * MAX_LINE_BYTES)}\n\n`], broken),
  {
    ...openai('no newline ever', ['x'.repeat(64 * 1024)], broken),
    answers: [{ body: ['x'.repeat(64 * 1024)], end: 'endless' }],
  },
  { ...openai('a connection that dies', [], broken), answers: [{ body: [hello], end: 'cut' }] },
];

const OLLAMA: readonly Case[] = [
  ollama('content as parts', [message({ content: [{ type: 'text', text: 'Hello.' }] }), LAST], HELLO),
  ollama('content as a number', [message({ content: 7 }), message({ content: 'Hello.' }), LAST], HELLO),
  ollama('a message that is null', [line({ message: null }), message({ content: 'Hello.' }), LAST], HELLO),
  ollama('text in `response`', [line({ response: 'Hello.', done: false }), LAST], HELLO),
  ollama(
    'counts as text',
    [message({ content: 'Hello.' }), line({ done: true, prompt_eval_count: '7', eval_count: '3' })],
    counted,
  ),
  ollama('done as text', [message({ content: 'Hello.' }), line({ done: 'true' })], HELLO),
  ollama(
    'done_reason length',
    [message({ content: 'Hello.' }), line({ done: true, done_reason: 'length' })],
    { ...HELLO, finish: 'length' },
  ),
  ollama(
    'done_reason error',
    [message({ content: 'Hello.' }), line({ done: true, done_reason: 'error' })],
    broken,
  ),
  ollama('an empty answer', [LAST], { text: '' }),
  ollama('an error that is null', [line({ error: null, message: { content: 'Hello.' } }), LAST], HELLO),
  ollama('an error line', [message({ content: 'Hello.' }), line({ error: 'unexpected EOF' })], broken),
  ollama('an error line that is an object', [line({ error: { message: 'unexpected EOF' } })], broken),
  ollama('an overflow in an error line', [line({ error: 'exceed_context_size_error' })], {
    code: 'context_overflow',
  }),
  ollama('a byte order mark', [`\uFEFF${message({ content: 'Hello.' })}`, LAST], HELLO),
  ollama('CRLF', [(message({ content: 'Hello.' }) + LAST).replaceAll('\n', '\r\n')], HELLO),
  ollama('an end without done', [message({ content: 'Hello.' })], broken),
  ollama('a line that is no JSON', ['<html>\n'], broken),
  ollama('a line of 2 MB', [`{"x":"${'x'.repeat(2 * MAX_LINE_BYTES)}"}\n`], broken),
  ollama(
    'text behind the last line',
    [message({ content: 'Hello.' }), LAST, message({ content: 'late' })],
    HELLO,
  ),
  {
    ...ollama('a connection that dies', [], broken),
    answers: [{ body: [message({ content: 'Hel' })], end: 'cut' }],
  },
];

export const SHAPE_CASES: readonly Case[] = [...OPENAI, ...OLLAMA];
