/**
 * Buttons, which Matrix does not have: they are listed below the text with a number each, and are stored in the event
 * itself. A reaction with the number, or a reply with the number or the label, presses one; so any node can tell,
 * even after a restart.
 */
import { z } from 'zod';
import type { Button } from '../../src/protocol/message.ts';
import { clipEnd, oneLine } from '../../src/lib/text.ts';
import { type Piece, textPiece, wrapped } from './rendering/html.ts';
import { withoutVariant } from './inbound.ts';

/** The field of an event's content that holds its buttons. */
export const BUTTONS = 'parley.buttons';
/** Numbers that are available as reactions. */
const KEYS = ['1⃣', '2⃣', '3⃣', '4⃣', '5⃣', '6⃣', '7⃣', '8⃣', '9⃣', '🔟'];
/**
 * Maximum number of buttons in one message; a line says that there are more. Those after the tenth are pressed by a
 * reply.
 */
export const MAX_BUTTONS = 25;
const MAX_LABEL = 80;
/** Longest value from the gateway, in UTF-16 units. */
const MAX_VALUE = 200;

const Kept = z.array(
  z.object({ label: z.string(), value: z.string(), style: z.enum(['normal', 'confirm', 'danger']) }),
);
export type KeptButton = z.infer<typeof Kept>[number];

/** The buttons as stored in the event; those after `MAX_BUTTONS` are left out. */
export function keptButtons(buttons: readonly Button[]): KeptButton[] {
  return buttons
    .filter(({ value }) => value.length <= MAX_VALUE)
    .slice(0, MAX_BUTTONS)
    .map(({ label, value, style = 'normal' }) => ({
      label: clipEnd(oneLine(label), MAX_LABEL),
      value,
      style,
    }));
}

/** The line that shows them: `1️⃣ Approve  2️⃣ Deny`; `count` is the total number of buttons. */
export function shownButtons(buttons: readonly KeptButton[], count: number): Piece {
  const shown = buttons.map(({ label }, at) => `${numberOf(at)} ${label}`);
  const more = count > buttons.length ? [`… (${count - buttons.length} more)`] : [];
  return wrapped('p', textPiece([...shown, ...more].join('\u2003')));
}

/** As people see it in their list of reactions; if there is no such reaction, as they write it. */
function numberOf(at: number): string {
  return KEYS[at]?.replace('⃣', '\uFE0F⃣') ?? `${at + 1}.`;
}

/** The buttons in an event of the bot. */
export function readButtons(content: Readonly<Record<string, unknown>>): KeptButton[] {
  return Kept.safeParse(content[BUTTONS]).data ?? [];
}

/** Whether a reaction may be a press: only then is the event looked up. */
export function mayPress(key: string): boolean {
  const emoji = withoutVariant(key);
  return KEYS.includes(emoji) || emoji === '👍' || emoji === '✅' || emoji === '👎' || emoji === '❌';
}

/** The button that a reaction presses: selected by its number, or by a thumb if it is the only one of its kind. */
export function pressedBy(key: string, buttons: readonly KeptButton[]): KeptButton | undefined {
  const emoji = withoutVariant(key);
  if (KEYS.includes(emoji)) return buttons[KEYS.indexOf(emoji)];
  const style = emoji === '👍' || emoji === '✅' ? 'confirm' : 'danger';
  const [only, ...more] = mayPress(key) ? buttons.filter((button) => button.style === style) : [];
  return more.length > 0 ? undefined : only;
}

/** The button that a reply names by number or label. */
export function namedIn(text: string, buttons: readonly KeptButton[]): KeptButton | undefined {
  const said = text.trim().toLowerCase();
  const at = /^\d{1,2}$/.test(said) ? Number(said) - 1 : -1;
  return buttons[at] ?? buttons.find(({ label }) => label.toLowerCase() === said);
}
