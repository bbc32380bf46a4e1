/** The message of a plan that waits for people: its next step with an explanation, or that it is paused; then the decision. */
import { approvalRef, buttonValue } from '../../contracts/approvals.ts';
import type { ApprovalRecord, ApprovalSubject, PlanWait } from '../../contracts/approvals.ts';
import type { DeliveryPayload } from '../../contracts/store/ledger.ts';
import { parseAddress } from '../../contracts/message.ts';

interface Labels {
  yes: string;
  no: string;
  commands: string;
  allowed: string;
  denied: string;
}

const LABELS: Readonly<Record<PlanWait['wait'], Labels>> = {
  step: {
    yes: 'Run',
    no: 'Skip',
    commands: '/run or /skip',
    allowed: 'This step was allowed to run.',
    denied: 'This step was skipped.',
  },
  pause: {
    yes: 'Resume',
    no: 'Stop',
    commands: '/resume or /stop',
    allowed: 'The plan continues.',
    denied: 'The plan was stopped.',
  },
};

/** The question as a delivery with its two buttons; undefined over HTTP, where events and lists show it. */
export function waitQuestion(
  id: string,
  subject: ApprovalSubject,
  wait: PlanWait['wait'],
  expiresInMs: number,
): DeliveryPayload | undefined {
  const { yes, no, commands } = LABELS[wait];
  const minutes = Math.round(expiresInMs / 60_000);
  const time = minutes === 1 ? 'a minute' : `${minutes} minutes`;
  const ending = `Press a button, or write ${commands}. Without an answer in ${time} the plan is cancelled.`;
  return deliveryOf(id, subject, `${subject.warning}\n\n${ending}`, [
    { label: yes, value: buttonValue(id, 'approved'), style: 'confirm' },
    { label: no, value: buttonValue(id, 'denied') },
  ]);
}

/** The same message once it is decided; its buttons are gone. */
export function waitDecided(record: ApprovalRecord, wait: PlanWait['wait']): DeliveryPayload | undefined {
  const decision = record.state === 'approved' ? LABELS[wait].allowed : LABELS[wait].denied;
  const verdict = record.expired ? 'Nobody answered in time.' : decision;
  const delivery = deliveryOf(record.id, record, `${record.warning}\n\n*${verdict}*`, []);
  return delivery && { ...delivery, key: `${delivery.ref}:decided` };
}

function deliveryOf(
  id: string,
  subject: ApprovalSubject,
  text: string,
  buttons: DeliveryPayload['message']['buttons'],
): DeliveryPayload | undefined {
  const place = parseAddress(subject.address);
  if (place.channel === 'http') return undefined;
  const title = subject.plan?.wait === 'step' ? `**Next: ${subject.tool}**\n\n` : '';
  return { ref: approvalRef(id), message: { ...place, content: title + text, media: [], buttons } };
}
