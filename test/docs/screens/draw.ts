/** What the fakes of the networks have received, drawn as their apps show it: nothing is added, and markup is what was sent. */
import { render as renderHtml } from '../../../channels/matrix/render.ts';
import { parseMarkdown } from '../../../src/lib/markdown/markdown.ts';
import type { FakeDiscord } from '../../fakes/discord/discord.ts';
import type { FakeChannel } from '../../fakes/discord/platform.ts';
import type { FakeHomeserver } from '../../fakes/matrix/homeserver.ts';
import type { FakeRoom } from '../../fakes/matrix/rooms.ts';
import { buttonsOf } from '../../fakes/slack/blocks.ts';
import type { FakeSlack } from '../../fakes/slack/slack.ts';
import type { FakeChat } from '../../fakes/slack/workspace.ts';
import type { FakeTelegram } from '../../fakes/telegram/telegram.ts';
import { drawRich } from './draw-rich.ts';
import { escapeHtml } from './escape.ts';

/** A message as HTML, and the labels below it. */
export interface Drawn {
  html: string;
  buttons: string[];
}

/** Telegram's HTML is shown with its line breaks, a text without markup as it is, and a rich message block by block. */
export function drawTelegram(telegram: FakeTelegram, chatId: string): Drawn[] {
  return telegram.messages(chatId).map(({ source, rich, buttons }) => ({
    html: rich === undefined ? `<div class="lines">${source}</div>` : drawRich(rich),
    buttons: buttons.map(({ text }) => text),
  }));
}

/** Discord's Markdown; `-#` begins a small line there. */
export function drawDiscord(discord: FakeDiscord, channel: FakeChannel): Drawn[] {
  return discord
    .visible(channel)
    .filter(({ author }) => author.bot === true)
    .map(({ content, buttons }) => ({
      html: renderHtml(parseMarkdown(content)).text.replaceAll(/(^|<br>|<p>)-# /g, '$1<small>'),
      buttons: buttons.map(({ label }) => label),
    }));
}

export function drawMatrix(matrix: FakeHomeserver, room: FakeRoom): Drawn[] {
  return matrix.visible(room).map(({ content, text }) => {
    const html = content['formatted_body'];
    return { html: typeof html === 'string' ? html : escapeHtml(text), buttons: [] };
  });
}

export function drawSlack(slack: FakeSlack, chat: FakeChat): Drawn[] {
  return slack.visible(chat).map(({ blocks = [], text }) => {
    const drawn = blocks.flatMap((block) => elementsOf(block)).map(drawPart);
    return {
      html: drawn.length === 0 ? escapeHtml(text) : drawn.join(''),
      buttons: buttonsOf(blocks).map(({ label }) => label),
    };
  });
}

interface Part {
  type: string;
  style?: unknown;
  text?: string;
  url?: string;
  indent?: number;
  /** Items of the same list before these. */
  offset?: number;
  elements?: Part[];
}

/** The parts of a block of rich text; none of another block. */
function elementsOf(block: unknown): Part[] {
  const { type, elements }: { type?: string; elements?: Part[] } = { ...Object(block) };
  return type === 'rich_text' ? (elements ?? []) : [];
}

function drawPart({ type, style, elements = [], indent = 0, offset = 0 }: Part): string {
  if (type === 'rich_text_list') {
    const tag = style === 'ordered' ? 'ol' : 'ul';
    const items = elements.map((item) => `<li>${drawRuns(item.elements)}</li>`).join('');
    return `<${tag} start="${offset + 1}" style="margin-left:${indent * 20}px">${items}</${tag}>`;
  }
  const runs = drawRuns(elements);
  if (type === 'rich_text_quote') return `<blockquote class="lines">${runs}</blockquote>`;
  if (type === 'rich_text_preformatted') return `<pre>${runs}</pre>`;
  return `<div class="lines">${runs}</div>`;
}

const STYLES = { bold: 'b', italic: 'i', strike: 's', code: 'code' } as const;

function drawRuns(runs: readonly Part[] = []): string {
  return runs
    .map(({ text, url, style }) => {
      const marks = Object.entries(STYLES).filter(([name]) => Reflect.get(Object(style), name) === true);
      const plain = escapeHtml(text ?? url ?? '');
      const marked = marks.reduce((inside, [, tag]) => `<${tag}>${inside}</${tag}>`, plain);
      return url === undefined ? marked : `<a href="#">${marked}</a>`;
    })
    .join('');
}

const STYLE = `
  body { display: flex; align-items: flex-start; gap: 14px; margin: 14px; background: #eef0f3; font: 14px/1.45 'Liberation Sans', sans-serif }
  section { flex: 1; min-width: 0; padding: 14px; border-radius: 12px; background: #fff }
  h2 { margin: 0 0 10px; font-size: 15px; color: #567 }
  article { margin: 0 0 10px; padding: 8px 11px; border: 1px solid #dde; border-radius: 10px; overflow-wrap: break-word }
  article p { margin: 0 0 8px } article > :last-child, article p:last-child { margin-bottom: 0 }
  .lines { white-space: pre-wrap } .mine { background: #e4f0ff } small { color: #678 }
  pre, code { background: #f2f3f5; font: 12px/1.4 'Liberation Mono', monospace } pre { padding: 8px; overflow-x: auto; white-space: pre }
  blockquote { margin: 4px 0; padding: 2px 10px; border-left: 3px solid #9ab; color: #333 }
  table { border-collapse: collapse } td, th { border: 1px solid #ccd; padding: 2px 8px }
  .formula { font-family: 'Liberation Serif', serif; font-style: italic } div.formula { margin: 6px 0; font-size: 17px; text-align: center }
  h3, h4, h5 { margin: 8px 0 4px } ul { margin: 0 0 8px; padding-left: 22px } summary { font-weight: bold }
  li[data-marker] { list-style: none } li[data-marker]::before { content: attr(data-marker); float: left; margin-left: -20px }
  .buttons span { display: inline-block; margin: 6px 6px 0 0; padding: 3px 12px; border-radius: 6px; background: #dfe5ee }`;

/** A page of chats beside each other, each under its title. */
export function pageOf(chats: Readonly<Record<string, readonly Drawn[]>>): string {
  const sections = Object.entries(chats).map(([title, messages]) => {
    const drawn = messages.map(({ html, buttons }) => {
      const below = buttons.map((label) => `<span>${escapeHtml(label)}</span>`).join('');
      return `<article>${html}${below === '' ? '' : `<div class="buttons">${below}</div>`}</article>`;
    });
    return `<section><h2>${escapeHtml(title)}</h2>${drawn.join('')}</section>`;
  });
  return `<!doctype html><meta charset="utf-8"><style>${STYLE}</style>${sections.join('')}`;
}
