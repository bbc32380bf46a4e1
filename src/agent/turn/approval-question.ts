/** The message that asks for an approval, with its buttons, and the same message after the decision (S-37). */
import {
  answerRef,
  type ApprovalRecord,
  approvalRef,
  type ApprovalSubject,
  budgetArgs,
  buttonValue,
  howDecided,
  type NamedFile,
  type PersonQuestion,
  type PlanWait,
  questionButton,
  shownArgs,
} from '../../protocol/agent/approvals.ts';
import type { DeliveryPayload } from '../../protocol/store/ledger.ts';
import { parseAddress } from '../../protocol/message.ts';
import type { Say, TextRef } from '../../protocol/texts/say.ts';
import { amountText, fromUnit } from '../../protocol/agent/budgets.ts';
import { visibleText } from '../../lib/text.ts';

/** The words of each kind of wait in a plan. */
const LABELS = {
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
} as const satisfies Record<PlanWait['wait'], unknown>;

/** Longest name of the person who decided. */
const MAX_NAME = 60;

/** The question as a delivery with its buttons; `groupName` is that of the group whose members wait, in another chat. Undefined over HTTP, where events and lists show it. */
export function questionFor(
  id: string,
  subject: ApprovalSubject,
  expiresInMs: number,
  say: Say,
  groupName?: string,
): DeliveryPayload | undefined {
  const count = Math.round(expiresInMs / 60_000);
  const [approved, denied] = [buttonValue(id, 'approved'), buttonValue(id, 'denied')];
  if (subject.plan !== undefined) {
    const { yes, no, how } = LABELS[subject.plan.wait];
    return deliveryOf(id, subject, waitText(subject, say(how, { count }), say), [
      { label: say(yes), value: approved, style: 'confirm' },
      { label: say(no), value: denied },
    ]);
  }
  if (subject.budget !== undefined)
    return deliveryOf(id, subject, `${subject.warning}\n\n${say('budget.how', { count })}`, [
      { label: say('budget.add', { amount: addedText(subject, say) }), value: approved, style: 'confirm' },
      { label: say('budget.other'), value: buttonValue(id, 'changed'), form: true },
      { label: say('budget.refuse'), value: denied, style: 'danger' },
    ]);
  const ending = say('approval.how', { count });
  const group =
    groupName === undefined ? '' : `${say('approval.of_group', { name: shownName(groupName) })}\n\n`;
  const content = `${group}${callText(subject, say('approval.may_i'), ending, say)}`;
  return deliveryOf(id, subject, content, [
    { label: say('approval.approve'), value: approved, style: 'confirm' },
    ...(isEditable(subject.args)
      ? [{ label: say('approval.edit'), value: buttonValue(id, 'changed'), form: true }]
      : []),
    { label: say('approval.deny'), value: denied, style: 'danger' },
    ...(subject.rule === undefined
      ? []
      : [{ label: say(alwaysLabel(subject)), value: buttonValue(id, 'always') }]),
  ]);
}

/** What is shown where a turn waits for an owner to add to a budget; undefined over HTTP. */
export function waitsFor(
  id: string,
  subject: ApprovalSubject,
  expiresInMs: number,
  say: Say,
): DeliveryPayload | undefined {
  return deliveryOf(id, subject, say('budget.waits', { count: Math.round(expiresInMs / 60_000) }), []);
}

/** What an owner adds, or is offered to add. */
function addedText({ args, changed, budget }: ApprovalSubject, say: Say): TextRef {
  const unit = budget?.unit ?? '';
  const { add } = budgetArgs.parse(changed ?? args);
  return amountText({ unit }, fromUnit({ unit }, add), say.language);
}

function isEditable(args: unknown): boolean {
  return typeof args === 'object' && args !== null && !Array.isArray(args) && Object.keys(args).length > 0;
}

function alwaysLabel({ target }: ApprovalSubject): 'approval.always' | 'approval.always_chat' {
  return target === undefined ? 'approval.always' : 'approval.always_chat';
}

/** The same message after the decision: it names who decided, and has no buttons. */
export function decidedFor(
  record: ApprovalRecord,
  say: Say,
  labelOf: (channel: string) => string | undefined,
): DeliveryPayload | undefined {
  const { id, plan, expired: isExpired, state } = record;
  let content: string;
  if (record.budget !== undefined) content = budgetOutcome(record, say, labelOf);
  else if (plan === undefined) content = callText(record, verdictOf(record, say, labelOf), '', say);
  else {
    const decision = LABELS[plan.wait][state === 'approved' ? 'allowed' : 'denied'];
    content = waitText(record, `*${say(isExpired ? 'wait.expired' : decision)}*`, say);
  }
  const delivery = deliveryOf(id, record, content, []);
  return delivery && { ...delivery, key: `${delivery.ref}:decided` };
}

/** In a chat of an owner with who decided; where the answer waits, only whether it comes. */
function budgetOutcome(
  record: ApprovalRecord,
  say: Say,
  labelOf: (channel: string) => string | undefined,
): string {
  const { state, warning, budget, address, alsoAsked = [] } = record;
  const verdict = verdictOf(record, say, labelOf);
  if (budget?.asks !== 'here' && !alsoAsked.includes(address)) return verdict;
  const added = state === 'approved' ? [say('budget.added', { amount: addedText(record, say) })] : [];
  return [warning, ...added, verdict].join('\n\n');
}

/** A question to another person, as a delivery for their chat; none over HTTP, where events and lists show it. */
export function personQuestionFor(
  id: string,
  { question }: ApprovalSubject,
  expiresInMs: number,
  say: Say,
): DeliveryPayload[] {
  if (question === undefined || isOverHttp(question)) return [];
  const ending = say('ask.how', { count: Math.round(expiresInMs / 60_000) });
  const buttons: DeliveryPayload['message']['buttons'] = [
    { label: say('ask.answer'), value: questionButton(id, 'answer'), style: 'confirm' },
    { label: say('ask.refuse'), value: questionButton(id, 'refuse') },
    { label: say('ask.never'), value: questionButton(id, 'never'), style: 'danger' },
  ];
  return [personDelivery(id, question, ending, buttons, say)];
}

/** The same message once it needs no answer any more, and the note about an answer that can no longer be taken back. */
export function answeredFor(record: ApprovalRecord, say: Say): DeliveryPayload[] {
  const { id, question, state, decidedBy, byNext } = record;
  if (question === undefined || isOverHttp(question)) return [];
  const isRefused = howDecided(decidedBy) === 'person' && state === 'denied';
  const outcome = state === 'approved' ? 'ask.was_answered' : isRefused ? 'ask.was_refused' : 'ask.was_over';
  const delivery = personDelivery(id, question, `*${say(outcome)}*`, [], say);
  const edited = { ...delivery, key: `${delivery.ref}:decided` };
  if (byNext !== true || state !== 'approved') return [edited];
  const content = say('ask.sent', { who: `\`${shownName(question.asker)}\`` });
  const ref = answerRef(id);
  const note = { ...parseAddress(question.address), content, media: [], buttons: [] };
  return [edited, { ref, key: `${ref}:over`, message: note }];
}

/** True for a question to whoever reads a session over HTTP, such as on the page. */
export function isOverHttp({ address }: PersonQuestion): boolean {
  return parseAddress(address).channel === 'http';
}

function personDelivery(
  id: string,
  { address, asker, text }: PersonQuestion,
  ending: string,
  buttons: DeliveryPayload['message']['buttons'],
  say: Say,
): DeliveryPayload {
  const asks = say('ask.asks', { who: `\`${shownName(asker)}\`` });
  const content = `${asks}\n\n${fenced(visibleText(text), '')}\n\n${ending}`;
  return { ref: approvalRef(id), message: { ...parseAddress(address), content, media: [], buttons } };
}

/** The decision in one line; it names the network if that is another than the reader's. */
function verdictOf(
  { address, state, expired, decidedBy = '', decidedName, reason }: ApprovalRecord,
  say: Say,
  labelOf: (channel: string) => string | undefined,
): string {
  if (expired) return say('approval.expired_unrun');
  if (decidedBy === 'stop') return say('approval.stopped_unrun');
  const [channel = ''] = decidedBy.replace(/^token:/, 'http:').split(':', 1);
  const network = channel === parseAddress(address).channel ? undefined : labelOf(channel);
  const name = `\`${shownName(decidedName ?? decidedBy)}\``;
  const who = network === undefined ? name : say('approval.who_on', { who: name, network });
  if (state === 'approved') return say('approval.approved_by', { who });
  if (reason === undefined) return say('approval.denied_by', { who });
  return say('approval.denied_because', { who, reason: `\`${inline(reason)}\`` });
}

function deliveryOf(
  id: string,
  { address }: ApprovalSubject,
  content: string,
  buttons: DeliveryPayload['message']['buttons'],
): DeliveryPayload | undefined {
  const place = parseAddress(address);
  if (place.channel === 'http') return undefined;
  return { ref: approvalRef(id), message: { ...place, content, media: [], buttons } };
}

/** A tool call in full. It is never cut: delivery makes as many messages of it as it needs, the buttons below the last one. */
function callText(subject: ApprovalSubject, title: string, ending: string, say: Say): string {
  const parts = [
    `**${title}** \`${subject.tool}\``,
    fenced(shownArgs(subject.args), 'json'),
    ...(subject.changed === undefined
      ? []
      : [say('approval.with_changes'), fenced(shownArgs(subject.changed), 'json')]),
    ...(subject.files ?? []).map((file) => describeFile(file, say)),
    subject.warning,
    ending,
  ];
  return parts.filter(Boolean).join('\n\n');
}

/** What a plan waits for. */
function waitText({ tool, warning, plan }: ApprovalSubject, ending: string, say: Say): string {
  const title = plan?.wait === 'step' ? `${say('wait.next', { step: tool })}\n\n` : '';
  return `${title}${warning}\n\n${ending}`;
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
  const { bytes, sha256, text } = file;
  const heading = say('approval.file', { file: name, bytes, digest: `\`${sha256}\`` });
  if (text === undefined) return say('approval.file_unshown', { file: heading });
  return text === '' ? `${heading}.` : `${heading}:\n\n${fenced(visibleText(text), '')}`;
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
