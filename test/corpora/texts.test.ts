/** Texts keep their meaning on every network and on the page: each word, number and sign is there, and stands out as meant. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { parseDocument } from '../../channels/http/page/markdown/document.ts';
import { resolveReferences } from '../../src/lib/markdown/references.ts';
import { campaignSize } from '../campaign.ts';
import { pageTree, type Tree } from '../channels/http/page/markdown/trees.ts';
import { chunksOf } from '../../src/delivery/text/chunker.ts';
import { readHtml } from '../fakes/telegram/html.ts';
import { joinedViews, NETWORKS, shownAsRich, shownOf, shownOnPage, shownWhileGrowing } from './networks.ts';
import { PLAIN_PIECES, type Span, TEXTS } from './texts.ts';

const CASES = Object.entries(TEXTS).flatMap(([kind, cases]) =>
  cases.map((one) => ({ kind, spans: undefined, ...one })),
);

/** Blanks and line breaks as one; without bullets, what only separates marks, and the address that follows a link. */
function bare(text: string): string {
  return text
    .replaceAll(/[\u200B\u2060•]/g, '')
    .replaceAll(/^\s*[->] /gm, '')
    .replaceAll(' (https://example.org/a)', '')
    .replaceAll(/\s+/g, ' ')
    .trim();
}

const yieldToNobody = (): Promise<void> => Promise.resolve();

/** The parts that stand out in the messages of each network. */
const SPANS_ON: Readonly<Record<string, (text: string) => Span[]>> = {
  Telegram: telegramSpans,
  Discord: discordSpans,
  Slack: slackSpans,
  Matrix: matrixSpans,
};

const TELEGRAM_KINDS: Readonly<Record<string, Span[0]>> = {
  bold: 'strong',
  italic: 'emphasis',
  strikethrough: 'delete',
  code: 'code',
  text_link: 'link',
};

function telegramSpans(html: string): Span[] {
  const { text, entities } = readHtml(html);
  return entities.flatMap(({ type, offset, length }): Span[] => {
    const kind = TELEGRAM_KINDS[type];
    return kind === undefined ? [] : [[kind, text.slice(offset, offset + length)]];
  });
}

const DISCORD_KINDS: readonly (readonly [Span[0], RegExp])[] = [
  ['strong', /(?<!\\)\*\*((?:\\.|[^*\\])+|\*[^*]+\*)\*\*/gu],
  ['emphasis', /(?<!\\|(?<!\*)\*)\*(?!\*)((?:\\.|[^*\\]|\*\*)+)\*/gu],
  ['delete', /(?<!\\)~~((?:\\.|[^~\\])+)~~/gu],
  ['link', /(?<!\\)\[((?:\\.|[^\]\\])+)\]\(</gu],
];

function discordSpans(text: string): Span[] {
  const code: Span[] = [];
  const prose = text.replaceAll(/```[^]*?```/g, '').replaceAll(/(?<!\\)`([^`]+)`/g, (_, inside: string) => {
    code.push(['code', inside]);
    return 'x';
  });
  const marked = DISCORD_KINDS.flatMap(([kind, pattern]) =>
    [...prose.matchAll(pattern)].map(([, inside = '']): Span => [
      kind,
      inside.replaceAll(/\\(.)/g, '$1').replaceAll('*', ''),
    ]),
  );
  return [...code, ...marked];
}

const slackParts = z.array(
  z.object({
    elements: z.array(
      z.object({
        type: z.string(),
        text: z.string().optional(),
        style: z.record(z.string(), z.boolean()).optional(),
        elements: z.unknown().optional(),
      }),
    ),
  }),
);
const SLACK_KINDS: Readonly<Record<string, Span[0]>> = {
  bold: 'strong',
  italic: 'emphasis',
  strike: 'delete',
  code: 'code',
};

function slackSpans(text: string): Span[] {
  const parts = slackParts.parse(JSON.parse(text || '[]'));
  return parts.flatMap(({ elements }) =>
    elements.flatMap((run): Span[] => {
      const styles = Object.keys(run.style ?? {}).flatMap((name): Span[] => {
        const kind = SLACK_KINDS[name];
        return kind === undefined ? [] : [[kind, run.text ?? '']];
      });
      return run.type === 'link' ? [...styles, ['link', run.text ?? '']] : styles;
    }),
  );
}

const HTML_KINDS: Readonly<Record<string, Span[0]>> = {
  strong: 'strong',
  em: 'emphasis',
  del: 'delete',
  code: 'code',
  a: 'link',
};

function matrixSpans(html: string): Span[] {
  const bodies = html.replaceAll(/<pre>.*?<\/pre>/gs, '');
  return Object.entries(HTML_KINDS).flatMap(([tag, kind]) =>
    [...bodies.matchAll(new RegExp(`<${tag}(?: [^>]*)?>(.*?)</${tag}>`, 'gs'))].map(
      ([, inside = '']): Span => [
        kind,
        inside
          .replaceAll(/<[^>]*>/g, '')
          .replaceAll('&lt;', '<')
          .replaceAll('&gt;', '>')
          .replaceAll('&quot;', '"')
          .replaceAll('&amp;', '&'),
      ],
    ),
  );
}

function pageSpans(trees: readonly (Tree | string)[]): Span[] {
  return trees.flatMap((tree): Span[] => {
    if (typeof tree === 'string') return [];
    const [name, ...inside] = tree;
    const kind = name.startsWith('link ') ? 'link' : HTML_KINDS[name];
    return [...(kind === undefined ? [] : [[kind, textOf(tree)] as const]), ...pageSpans(inside)];
  });
}

function textOf([, ...inside]: Tree): string {
  return inside.map((one) => (typeof one === 'string' ? one : textOf(one))).join('');
}

/** In one order for all networks. */
function sorted(spans: readonly Span[]): string[] {
  return spans.map(([kind, text]) => `${kind}: ${text}`).toSorted();
}

describe.each(NETWORKS)('on $name', (network) => {
  it.each(CASES)('$kind: $markdown', async ({ markdown, shown, spans }) => {
    const whole = resolveReferences(markdown);
    for (const view of await shownOf(network, whole)) expect(bare(view)).toBe(shown);
    if (spans === undefined) return;
    const messages = await chunksOf(whole, network.target, yieldToNobody);
    const found = messages.flatMap(({ text }) => SPANS_ON[network.name]?.(text) ?? []);
    // A bare path is code on Telegram, because it would be a command or a link.
    const meant =
      network.name === 'Telegram'
        ? found.filter(([kind, text]) => kind !== 'code' || !/^\/|\.py$/.test(text))
        : found;
    expect(sorted(meant)).toEqual(sorted(spans));
  });
});

describe('on the page', () => {
  it.each(CASES)('$kind: $markdown', ({ markdown, shown, spans }) => {
    expect(bare(shownOnPage(markdown)).replaceAll(/[☐☑] /g, '')).toBe(shown.replaceAll(/[☐☑] /g, ''));
    const found = sorted(pageSpans(pageTree(markdown, parseDocument)));
    expect(found).toEqual(spans === undefined ? found : sorted(spans));
  });
});

describe('a sentence without markup', () => {
  const sentence = fc
    .array(fc.constantFrom(...PLAIN_PIECES), { minLength: 1, maxLength: 12 })
    .map((pieces) => `So ${pieces.join(' ')}`);
  const clause = fc
    .array(
      fc.constantFrom(...PLAIN_PIECES.filter((piece) => /[^\x20-\x7F]/.test(piece) || /^\w+$/.test(piece))),
      {
        minLength: 2,
        maxLength: 8,
      },
    )
    .map((pieces) => `在${pieces.join('')}`);

  it('never shows anything else while it grows', () => {
    fc.assert(
      fc.property(fc.oneof(sentence, clause), (whole) => {
        // What begins like bold is shown so until it turns out to be a name of Python.
        const text = whole.replaceAll('__init__.py', 'init.py');
        for (const { text: soFar, looks } of shownWhileGrowing(text.match(/[^]{1,3}/gu) ?? []))
          for (const { open } of looks)
            for (const view of joinedViews(open)) expect(bare(soFar).startsWith(bare(view))).toBe(true);
      }),
      { numRuns: campaignSize(300) },
    );
  });

  it('is shown with every letter, digit and sign on every network and on the page', async () => {
    await fc.assert(
      fc.asyncProperty(fc.oneof(sentence, clause), async (text) => {
        for (const network of NETWORKS)
          for (const view of await shownOf(network, text)) expect(bare(view)).toBe(bare(text));
        const rich = await shownAsRich(text);
        expect(bare(rich ?? text)).toBe(bare(text));
        expect(bare(shownOnPage(text))).toBe(bare(text));
      }),
      { numRuns: campaignSize(3_000) },
    );
  });
});
