/** The message that asks for an approval, with its buttons, and the same message after the decision (S-37). */
import {
  type ApprovalRecord,
  approvalRef,
  type ApprovalSubject,
  buttonValue,
  type NamedFile,
  type PlanWait,
  shownArgs,
  visibleText,
} from '../../protocol/agent/approvals.ts';
import type { DeliveryPayload } from '../../protocol/store/ledger.ts';
import { parseAddress } from '../../protocol/message.ts';
import type { PlainKey, Say } from '../../protocol/texts/say.ts';

interface Labels {
  yes: PlainKey;
  no: PlainKey;
  how: 'wait.how_step' | 'wait.how_pause';
  allowed: PlainKey;
  denied: PlainKey;
}

const LABELS: Readonly<Record<PlanWait['wait'], Labels>> = {
  step: {
    yes: 'wait.run',
    no: 'wait.skip',
    how: 'wait.how_step',
    allowed: 'wait.was_run',
    denied: 'wait.was_skipped',
  },
  pause: {
    yes: 'wait.resume',
    no: 'wait.stop',
    how: 'wait.how_pause',
    allowed: 'plan.continues',
    denied: 'wait.was_stopped',
  },
};

/** Longest name of the person who decided. */
const MAX_NAME = 60;

/** The question as a delivery with its buttons; undefined over HTTP, where events and lists show it. */
export function questionFor(
  id: string,
  subject: ApprovalSubject,
  expiresInMs: number,
  say: Say,
): DeliveryPayload | undefined {
  if (subject.plan !== undefined) return waitQuestion(id, subject, subject.plan.wait, expiresInMs, say);
  const ending = say('approval.how', { count: Math.round(expiresInMs / 60_000) });
  return deliveryOf(id, subject, { title: say('approval.may_i'), ending, say }, [
    { label: say('approval.approve'), value: buttonValue(id, 'approved'), style: 'confirm' },
    { label: say('approval.deny'), value: buttonValue(id, 'denied'), style: 'danger' },
    ...(subject.rule === undefined
      ? []
      : [{ label: say('approval.always'), value: buttonValue(id, 'always') }]),
  ]);
}

/** The same message after the decision: it names who decided, and has no buttons. */
export function decidedFor(record: ApprovalRecord, say: Say): DeliveryPayload | undefined {
  if (record.plan !== undefined) return waitDecided(record, record.plan.wait, say);
  const delivery = deliveryOf(record.id, record, { title: verdictOf(record, say), ending: '', say }, []);
  return delivery && { ...delivery, key: `${delivery.ref}:decided` };
}

/** The decision in one line. */
function verdictOf({ state, expired, decidedBy, decidedName, reason }: ApprovalRecord, say: Say): string {
  if (expired) return say('approval.expired_unrun');
  if (decidedBy === 'stop') return say('approval.stopped_unrun');
  const who = `\`${shownName(decidedName ?? decidedBy ?? '')}\``;
  if (state === 'approved') return say('approval.approved_by', { who });
  if (reason === undefined) return say('approval.denied_by', { who });
  return say('approval.denied_because', { who, reason: `\`${inline(reason)}\`` });
}

function deliveryOf(
  id: string,
  subject: ApprovalSubject,
  { title, ending, say }: { title: string; ending: string; say: Say },
  buttons: DeliveryPayload['message']['buttons'],
): DeliveryPayload | undefined {
  const place = parseAddress(subject.address);
  if (place.channel === 'http') return undefined;
  // Never cut: delivery makes as many messages of it as it needs, the buttons below the last one.
  const content = [
    `**${title}** \`${subject.tool}\``,
    fenced(shownArgs(subject.args), 'json'),
    ...(subject.files ?? []).map((file) => describeFile(file, say)),
    subject.warning,
    ending,
  ];
  const message = { ...place, content: content.filter(Boolean).join('\n\n'), media: [], buttons };
  return { ref: approvalRef(id), message };
}

/** A file that the arguments or another file name, with its content if that is short. */
function describeFile(file: NamedFile, say: Say): string {
  const path = `\`${inline(file.path)}\``;
  const name =
    file.namedIn === undefined
      ? say('approval.named_above', { path })
      : say('approval.named_in', { file: `\`${inline(file.namedIn)}\``, path });
  if ('problem' in file)
    return say('approval.file_hidden', { file: name, problem: visibleText(file.problem) });
  const { bytes, sha256, text, mayNameMore } = file;
  const more = mayNameMore === true ? ` ${say('approval.may_name_more')}` : '';
  const heading = say('approval.file', { file: name, bytes, digest: `\`${sha256}\`` });
  if (text === undefined) return `${say('approval.file_unshown', { file: heading })}${more}`;
  return text === '' ? `${heading}.` : `${heading}:${more}\n\n${fenced(visibleText(text), '')}`;
}

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

/** The question as a delivery with its two buttons; undefined over HTTP, where events and lists show it. */
function waitQuestion(
  id: string,
  subject: ApprovalSubject,
  wait: PlanWait['wait'],
  expiresInMs: number,
  say: Say,
): DeliveryPayload | undefined {
  const { yes, no, how: hint } = LABELS[wait];
  const ending = say(hint, { count: Math.round(expiresInMs / 60_000) });
  const text = `${subject.warning}\n\n${ending}`;
  return waitDelivery(id, subject, text, say, [
    { label: say(yes), value: buttonValue(id, 'approved'), style: 'confirm' },
    { label: say(no), value: buttonValue(id, 'denied') },
  ]);
}

/** The same message once it is decided; its buttons are gone. */
function waitDecided(record: ApprovalRecord, wait: PlanWait['wait'], say: Say): DeliveryPayload | undefined {
  const decision = record.state === 'approved' ? LABELS[wait].allowed : LABELS[wait].denied;
  const verdict = say(record.expired ? 'wait.expired' : decision);
  const delivery = waitDelivery(record.id, record, `${record.warning}\n\n*${verdict}*`, say, []);
  return delivery && { ...delivery, key: `${delivery.ref}:decided` };
}

function waitDelivery(
  id: string,
  subject: ApprovalSubject,
  text: string,
  say: Say,
  buttons: DeliveryPayload['message']['buttons'],
): DeliveryPayload | undefined {
  const place = parseAddress(subject.address);
  if (place.channel === 'http') return undefined;
  const title = subject.plan?.wait === 'step' ? `${say('wait.next', { step: subject.tool })}\n\n` : '';
  return { ref: approvalRef(id), message: { ...place, content: title + text, media: [], buttons } };
}
