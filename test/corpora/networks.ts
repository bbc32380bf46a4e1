/** The renderers of all networks, each with a reader as strict as its platform. */
import type { Root } from 'mdast';
import type { Rendered } from '../../src/protocol/channel.ts';
import { render as renderDiscord } from '../../channels/discord/render.ts';
import {
  contentOf as matrixContent,
  editOf,
  MAX_LENGTH as MATRIX_MOST,
} from '../../channels/matrix/content.ts';
import { render as renderMatrix } from '../../channels/matrix/render.ts';
import { fieldsOf as slackFields, MAX_LENGTH as SLACK_MOST } from '../../channels/slack/sending.ts';
import { render as renderSlack } from '../../channels/slack/render.ts';
import { parseDocument } from '../../channels/http/page/markdown/document.ts';
import { renderTelegram } from '../../channels/telegram/render.ts';
import { toRichMessage } from '../../channels/telegram/rich-message.ts';
import { chunksOf, documentOf, MessageChunker } from '../../src/delivery/text/chunker.ts';
import type { RenderTarget } from '../../src/delivery/text/cut.ts';
import { takeOutFormulas } from '../../src/lib/markdown/formulas.ts';
import { contentOf } from '../fakes/discord/form.ts';
import { fencesBalanced, visibleText } from '../fakes/discord/markdown.ts';
import { checkEvent } from '../fakes/matrix/routes.ts';
import { readHtml as readMatrixHtml } from '../fakes/matrix/html.ts';
import { visibleOf } from '../fakes/slack/blocks.ts';
import { checkUpdate } from '../fakes/slack/methods.ts';
import { cleanVisible, readHtml } from '../fakes/telegram/html.ts';
import { readRich } from '../fakes/telegram/rich.ts';
import { pageTree, type Tree } from '../channels/http/page/markdown/trees.ts';

/** A network's messages. */
export interface Network {
  name: string;
  target: RenderTarget;
  /** What users see of a message, with its markup and without. Throws the platform's refusal. */
  read: (message: Rendered) => readonly [marked: string, plain: string];
}

const yieldToNobody = (): Promise<void> => Promise.resolve();

function network(
  name: string,
  render: (doc: Root) => Rendered,
  maxLength: number,
  read: { marked: (message: Rendered) => string; plain: (message: Rendered) => string },
): Network {
  return {
    name,
    target: { render, maxLength },
    read: (message) => {
      if (message.length > maxLength) throw new Error(`a message of ${message.length}`);
      return [read.marked(message), read.plain(message)];
    },
  };
}

/** Telegram's text of a message, which has 1 to 4,096 characters. */
function telegramText(text: string): string {
  if (text === '' || text.length > 4_096) throw new Error(`a text of ${text.length}`);
  return text;
}

function discordText(text: string): string {
  const kept = contentOf({ content: text });
  if (!kept.isWellFormed()) throw new Error('a text with half a character');
  return kept;
}

/** What Slack shows of a message edited to this one: an edit can hold less than a new message. */
function slackText(body: Rendered, plain: boolean): string {
  return visibleOf(checkUpdate({ ...slackFields({ body, plain, buttons: [] }) }).blocks);
}

/** What Matrix shows of a message edited to this one: an edit repeats its texts more often than a new message. */
function matrixText(body: Rendered, plain: boolean): string {
  const content = matrixContent(body, [], plain);
  checkEvent(editOf('$event', content));
  return content.formatted_body === undefined ? content.body : readMatrixHtml(content.formatted_body);
}

export const NETWORKS: readonly Network[] = [
  network('Telegram', renderTelegram, 4_096, {
    marked: ({ text }) => telegramText(cleanVisible(readHtml(text)).text),
    plain: ({ plain }) => telegramText(cleanVisible({ text: plain, entities: [] }).text),
  }),
  network('Discord', renderDiscord, 2_000, {
    marked: ({ text }) => {
      if (!fencesBalanced(text)) throw new Error('a fence that does not close');
      return visibleText(discordText(text));
    },
    plain: ({ plain }) => discordText(plain),
  }),
  network('Slack', renderSlack, SLACK_MOST, {
    marked: (message) => slackText(message, false),
    plain: (message) => slackText(message, true),
  }),
  network('Matrix', renderMatrix, MATRIX_MOST, {
    marked: (message) => matrixText(message, false),
    plain: (message) => matrixText(message, true),
  }),
];

/** What users read of a whole answer, in its messages with and without markup. Throws the platform's refusal. */
export async function shownOf({ target, read }: Network, markdown: string): Promise<[string, string]> {
  return joinedViews((await chunksOf(markdown, target, yieldToNobody)).map(read));
}

/** What users of one network read while an answer grows. */
export interface Look {
  network: Network;
  /** The messages that have settled since the look before. */
  settled: (readonly [string, string])[];
  /** The other messages. */
  open: (readonly [string, string])[];
}

/** What users of every network read after each bite of an answer. Throws the platform's refusal. */
export function* shownWhileGrowing(bites: readonly string[]): Generator<{ text: string; looks: Look[] }> {
  const growing = NETWORKS.map((network) => ({
    network,
    chunker: new MessageChunker(network.target),
    settled: 0,
  }));
  let text = '';
  for (const bite of bites) {
    text += bite;
    const looks = growing.map((one): Look => {
      const { network, chunker } = one;
      chunker.push(bite);
      const settled: Look['settled'] = [];
      for (; one.settled < chunker.settled; one.settled += 1)
        settled.push(network.read(chunker.at(one.settled)!));
      return { network, settled, open: chunker.open().map(network.read) };
    });
    yield { text, looks };
  }
}

/** What users read of an answer that has arrived in bites. Throws the platform's refusal. */
export function shownInTheEnd({ target, read }: Network, bites: readonly string[]): [string, string] {
  const chunker = new MessageChunker(target);
  for (const bite of bites) chunker.push(bite);
  return joinedViews(chunker.finish().map(read));
}

/** All messages of an answer, with their markup and without. */
export function joinedViews(views: readonly (readonly [string, string])[]): [string, string] {
  return [views.map(([marked]) => marked).join('\n'), views.map(([, plain]) => plain).join('\n')];
}

/** What users read of an answer as one rich Telegram message; undefined if it is none. Throws Telegram's refusal. */
export async function shownAsRich(
  markdown: string,
  yieldToEventLoop: () => Promise<void> = yieldToNobody,
): Promise<string | undefined> {
  const { markdown: bare, formulas } = takeOutFormulas(markdown);
  const rich = toRichMessage(await documentOf(bare, yieldToEventLoop), formulas);
  return rich && readRich(rich.message).text;
}

/** What users read of an answer on the page. */
export function shownOnPage(markdown: string): string {
  const textOf = ([kind, ...children]: Tree): string => {
    if (kind === 'break') return '\n';
    const inside = children.map((child) => (typeof child === 'string' ? child : textOf(child)));
    return inside.join(/^(?:text|code|strong|em|del|link .*|paragraph|h\d|cell)$/.test(kind) ? '' : '\n');
  };
  return pageTree(markdown, parseDocument).map(textOf).join('\n');
}
