/**
 * Telegram's own reader, TDLib, reads every message that the renderer makes of the corpora, whole and while they grow:
 * `node test/oracles-telegram/oracle.ts`. Ends with 1 where it reads something else than was meant, and with 77 on a
 * machine on which TDLib does not run. Asks no server.
 */
import { createRequire } from 'node:module';
import { z } from 'zod';
import { MAX_ENTITIES, MAX_LENGTH, renderTelegram } from '../../channels/telegram/render.ts';
import type { Rendered } from '../../src/protocol/channel.ts';
import { chunksOf, MessageChunker } from '../../src/delivery/text/chunker.ts';
import { resolveReferences } from '../../src/lib/markdown/references.ts';
import { answers } from '../corpora/answers.ts';
import { LONG_ANSWERS } from '../corpora/long-answers.ts';
import { commonMarkExamples, naughtyStrings } from '../corpora/published.ts';
import { PLAIN_PIECES, TEXTS } from '../corpora/texts.ts';
import { gatewayTexts } from './gateway-texts.ts';
import { readHtml } from '../fakes/telegram/html.ts';

/** The status of a step of the gate that could not run. */
const SKIPPED = 77;
/** Characters by which the growing answers grow, and how many of them are read. */
const BITE = 3;
const GROWING = 120;
/** Differences that are printed. */
const SHOWN = 20;

const formatted = z.object({
  text: z.string(),
  entities: z.array(
    z.object({
      offset: z.int(),
      length: z.int(),
      type: z.object({ _: z.string(), url: z.string().optional(), language: z.string().optional() }),
    }),
  ),
});
const call = z.custom<(request?: unknown) => unknown>((value) => typeof value === 'function');
const tdl = z.object({ configure: call, execute: call });
const prebuilt = z.object({ getTdjson: call });

/** The names of TDLib's kinds of marks in the Bot API. */
const KINDS: Readonly<Record<string, string>> = {
  textEntityTypeBold: 'bold',
  textEntityTypeItalic: 'italic',
  textEntityTypeUnderline: 'underline',
  textEntityTypeStrikethrough: 'strikethrough',
  textEntityTypeCode: 'code',
  textEntityTypePre: 'pre',
  textEntityTypePreCode: 'pre',
  textEntityTypeTextUrl: 'text_link',
  textEntityTypeBlockQuote: 'blockquote',
  textEntityTypeExpandableBlockQuote: 'expandable_blockquote',
};

type Read = (html: string) => unknown;

/** What reads Telegram's HTML; undefined where the library cannot be loaded. */
function loadReader(): Read | undefined {
  const fromPrefix = createRequire(new URL('package.json', import.meta.url));
  try {
    const { configure, execute } = tdl.parse(fromPrefix('tdl'));
    configure({ tdjson: prebuilt.parse(fromPrefix('prebuilt-tdlib')).getTdjson(), verbosityLevel: 0 });
    return (text) => execute({ _: 'parseTextEntities', text, parse_mode: { _: 'textParseModeHTML' } });
  } catch (error) {
    process.stdout.write(`TDLib does not run here: ${String(error)}\n`);
    return undefined;
  }
}

/** What TDLib reads otherwise than it was meant; undefined if nothing. */
function differenceOf({ text, plain }: Rendered, read: Read): string | undefined {
  const answer = read(text);
  const { data, error } = formatted.safeParse(answer);
  if (error !== undefined) return `refused: ${JSON.stringify(answer)}`;
  const meant = readHtml(text);
  if (data.text !== meant.text) return `read ${JSON.stringify(data.text)}`;
  if (plain.trim() !== '' && data.text.trim() === '') return 'read nothing';
  if (data.text.trim().length > MAX_LENGTH) return `read ${data.text.length} characters`;
  if (data.entities.length > MAX_ENTITIES) return `read ${data.entities.length} entities`;
  const found = marksOf(data.entities.map((mark) => ({ ...mark, type: KINDS[mark.type._] ?? mark.type._ })));
  const expected = marksOf(
    meant.entities.filter(({ type, offset, length, url }) => {
      // TDLib follows no link to `http://a/%%30`: nothing is lost where that is the visible text.
      const isItself = type === 'text_link' && meant.text.slice(offset, offset + length) === url;
      return !isItself || found.includes(`${type} ${offset} ${length}`);
    }),
  );
  const [lost, added] = [without(expected, found), without(found, expected)];
  return lost.length + added.length === 0
    ? undefined
    : `without the marks ${lost.join(', ')}, with ${added.join(', ')}`;
}

/** Marks by their kind, start and length. */
function marksOf(entities: readonly { type: string; offset: number; length: number }[]): string[] {
  return entities.map(({ type, offset, length }) => `${type} ${offset} ${length}`);
}

function without(all: readonly string[], some: readonly string[]): string[] {
  const left = [...some];
  return all.filter((one) => {
    const at = left.indexOf(one);
    if (at >= 0) left.splice(at, 1);
    return at < 0;
  });
}

/** Forty-five items with four marks each: more than one message may have. */
const MANY_MARKS = Array.from(
  { length: 45 },
  (_, at) => `- **\`--flag-${at}\`** sets [option ${at}](https://example.org/options/${at}) to \`true\`.`,
).join('\n');

const texts = Object.values(TEXTS)
  .flat()
  .map(({ markdown }) => markdown);
const WHOLE: readonly string[] = [
  ...texts,
  ...PLAIN_PIECES,
  PLAIN_PIECES.join(' '),
  texts.join('\n\n'),
  MANY_MARKS,
  ...commonMarkExamples().map(({ markdown }) => markdown),
  ...naughtyStrings(),
  ...naughtyStrings().map((text) => `**${text}** and \`${text}\` and [${text}](https://example.org)`),
  ...answers(),
  ...LONG_ANSWERS.map(([, text]) => text),
  ...(await gatewayTexts([...PLAIN_PIECES, PLAIN_PIECES.join(' '), ...naughtyStrings()])),
];

async function main(read: Read): Promise<number> {
  const target = { render: renderTelegram, maxLength: MAX_LENGTH };
  const differences: string[] = [];
  let messages = 0;
  const check = (message: Rendered): void => {
    messages += 1;
    const difference = differenceOf(message, read);
    if (difference !== undefined) differences.push(`${difference}: ${JSON.stringify(message.text)}`);
  };
  for (const markdown of WHOLE)
    for (const message of await chunksOf(resolveReferences(markdown), target, () => Promise.resolve()))
      check(message);
  for (const markdown of [MANY_MARKS, ...texts, ...answers()].slice(0, GROWING)) {
    const chunker = new MessageChunker(target);
    for (let at = 0; at < markdown.length; at += BITE) {
      chunker.push(markdown.slice(at, at + BITE));
      for (const message of chunker.open()) check(message);
    }
  }
  for (const difference of differences.slice(0, SHOWN)) process.stdout.write(`${difference}\n`);
  process.stdout.write(
    `TDLib read ${messages} messages of ${WHOLE.length} texts: ${differences.length} otherwise than meant.\n`,
  );
  return differences.length === 0 && messages > WHOLE.length ? 0 : 1;
}

const read = loadReader();
process.exitCode = read === undefined ? SKIPPED : await main(read);
