/** The message that asks for an approval, with its buttons, and the same message after the decision (S-37). */
import { approvalRef, buttonValue, shownArgs, visibleText } from '../../contracts/approvals.ts';
import type { ApprovalRecord, ApprovalSubject, NamedFile } from '../../contracts/approvals.ts';
import type { DeliveryPayload } from '../../contracts/store/ledger.ts';
import { parseAddress } from '../../contracts/message.ts';
import { waitDecided, waitQuestion } from '../executor/wait-question.ts';

/** Longest name of the person who decided. */
const MAX_NAME = 60;

/** The question as a delivery with its buttons; undefined over HTTP, where events and lists show it. */
export function questionFor(
  id: string,
  subject: ApprovalSubject,
  expiresInMs: number,
): DeliveryPayload | undefined {
  if (subject.plan !== undefined) return waitQuestion(id, subject, subject.plan.wait, expiresInMs);
  const minutes = Math.round(expiresInMs / 60_000);
  const time = minutes === 1 ? 'a minute' : `${minutes} minutes`;
  const ending = `Press a button, or write /approve or /deny. A reply to this message denies it, and I read the reply as your reason. Without an answer in ${time} it will not run.`;
  return deliveryOf(id, subject, `**May I do this?**`, ending, [
    { label: 'Approve', value: buttonValue(id, 'approved'), style: 'confirm' },
    { label: 'Deny', value: buttonValue(id, 'denied'), style: 'danger' },
    ...(subject.rule === undefined
      ? []
      : [{ label: 'Always exactly this here', value: buttonValue(id, 'always') }]),
  ]);
}

/** The same message after the decision: it names who decided, and has no buttons. */
export function decidedFor(record: ApprovalRecord): DeliveryPayload | undefined {
  if (record.plan !== undefined) return waitDecided(record, record.plan.wait);
  const delivery = deliveryOf(record.id, record, `**${verdictOf(record)}**`, '', []);
  return delivery && { ...delivery, key: `${delivery.ref}:decided` };
}

/** The decision in one line. */
function verdictOf({ state, expired, decidedBy, decidedName, reason }: ApprovalRecord): string {
  if (expired) return 'Not run: nobody answered in time.';
  if (decidedBy === 'stop') return 'Not run: stopped.';
  const who = `\`${shownName(decidedName ?? decidedBy ?? '')}\``;
  if (state === 'approved') return `Approved by ${who}.`;
  return reason === undefined ? `Denied by ${who}.` : `Denied by ${who}: \`${inline(reason)}\`.`;
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
  // Never cut: delivery makes as many messages of it as it needs, the buttons below the last one.
  const content = [
    `${title} \`${subject.tool}\``,
    fenced(shownArgs(subject.args), 'json'),
    ...(subject.files ?? []).map(describeFile),
    subject.warning,
    ending,
  ];
  const message = { ...place, content: content.filter(Boolean).join('\n\n'), media: [], buttons };
  return { ref: approvalRef(id), message };
}

/** A file that the arguments or another file name, with its content where that is short. */
function describeFile(file: NamedFile): string {
  const by = file.namedIn === undefined ? 'above' : `in \`${inline(file.namedIn)}\``;
  const name = `Named ${by}: \`${inline(file.path)}\``;
  if ('problem' in file) return `${name}, which cannot be shown. ${visibleText(file.problem)}`;
  const { bytes, sha256, text, mayNameMore } = file;
  const more = mayNameMore === true ? ` ${MAY_NAME_MORE}` : '';
  const heading = `${name}, ${bytes} bytes, SHA-256 \`${sha256}\``;
  if (text === undefined) return `${heading}. It is too long to be shown, or no text.${more}`;
  return text === '' ? `${heading}.` : `${heading}:${more}\n\n${fenced(visibleText(text), '')}`;
}

const MAY_NAME_MORE = 'It may name further files, which are not shown and not part of what you approve.';

function fenced(text: string, language: string): string {
  const longest = Math.max(2, ...(text.match(/`+/g) ?? []).map((run) => run.length));
  const fence = '`'.repeat(longest + 1);
  return `${fence}${language}\n${text}\n${fence}`;
}

function shownName(name: string): string {
  return inline(name).slice(0, MAX_NAME).toWellFormed();
}

/** On one line, between backticks. */
function inline(text: string): string {
  return visibleText(text).replaceAll('`', "'").replaceAll('\n', ' ');
}
