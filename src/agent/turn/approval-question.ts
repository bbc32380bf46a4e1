/** The message that asks for an approval, with its buttons, and the same message after the decision (S-37). */
import { buttonValue } from '../../contracts/approvals.ts';
import type { ApprovalRecord, ApprovalSubject } from '../../contracts/approvals.ts';
import type { DeliveryPayload } from '../../contracts/ledger.ts';
import { clipMiddle } from '../../lib/text.ts';
import { parseAddress } from '../../contracts/message.ts';
import { waitDecided, waitQuestion } from '../executor/wait-question.ts';

/** Longest arguments shown in a chat, in UTF-16 units: the question fits one message on every platform. */
const MAX_SHOWN_ARGS = 1_000;
/** Longest name of the person who decided. */
const MAX_NAME = 60;

/** The question as a delivery with its two buttons; undefined over HTTP, where events and lists show it. */
export function questionFor(
  id: string,
  subject: ApprovalSubject,
  expiresInMs: number,
): DeliveryPayload | undefined {
  if (subject.plan !== undefined) return waitQuestion(id, subject, subject.plan.wait, expiresInMs);
  const minutes = Math.round(expiresInMs / 60_000);
  const time = minutes === 1 ? 'a minute' : `${minutes} minutes`;
  const ending = `Press a button, or write /approve or /deny. Without an answer in ${time} it will not run.`;
  return deliveryOf(id, subject, `**May I do this?**`, ending, [
    { label: 'Approve', value: buttonValue(id, 'approved'), style: 'confirm' },
    { label: 'Deny', value: buttonValue(id, 'denied'), style: 'danger' },
  ]);
}

/** The same message after the decision: it names who decided, and has no buttons. */
export function decidedFor(record: ApprovalRecord): DeliveryPayload | undefined {
  if (record.plan !== undefined) return waitDecided(record, record.plan.wait);
  const delivery = deliveryOf(record.id, record, `**${verdictOf(record)}**`, '', []);
  return delivery && { ...delivery, key: `${delivery.ref}:decided` };
}

/** The decision in one line. */
function verdictOf({ state, expired, decidedBy, decidedName }: ApprovalRecord): string {
  if (expired) return 'Not run: nobody answered in time.';
  if (decidedBy === 'stop') return 'Not run: stopped.';
  const who = `\`${shownName(decidedName ?? decidedBy ?? '')}\``;
  return state === 'approved' ? `Approved by ${who}.` : `Denied by ${who}.`;
}

function deliveryOf(
  id: string,
  subject: ApprovalSubject,
  title: string,
  ending: string,
  buttons: DeliveryPayload['message']['buttons'],
): DeliveryPayload | undefined {
  const place = parseAddress(subject.address);
  if (place.channel === 'http') return undefined;
  const text = visible(JSON.stringify(subject.args, null, 2) ?? '');
  const rest = `This is only a part: the arguments have ${text.length} characters. The page shows all of them.`;
  const content = [
    `${title} \`${subject.tool}\``,
    fenced(clipMiddle(text, MAX_SHOWN_ARGS)),
    ...(text.length > MAX_SHOWN_ARGS ? [rest] : []),
    subject.warning,
    ending,
  ];
  const message = { ...place, content: content.filter(Boolean).join('\n\n'), media: [], buttons };
  return { ref: `approval:${id}`, message };
}

/** Replaces invisible and direction-changing characters by their code points, so that the text shown is the text that runs. */
function visible(text: string): string {
  return text.replaceAll(/[^\P{C}\n]|[\p{Zl}\p{Zp}\u3164\u115f\u1160\u2800]/gu, (character) => {
    return `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
  });
}

function fenced(text: string): string {
  const longest = Math.max(2, ...(text.match(/`+/g) ?? []).map((run) => run.length));
  const fence = '`'.repeat(longest + 1);
  return `${fence}json\n${text}\n${fence}`;
}

function shownName(name: string): string {
  return visible(name).replaceAll('`', "'").replaceAll('\n', ' ').slice(0, MAX_NAME).toWellFormed();
}
