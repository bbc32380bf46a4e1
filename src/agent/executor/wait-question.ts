/** The message of a plan that waits for people: its next step with an explanation, or that it is paused; then the decision. */
import { buttonValue } from '../../contracts/approvals.ts';
import type { ApprovalRecord, ApprovalSubject, PlanWait } from '../../contracts/approvals.ts';
import type { DeliveryPayload } from '../../contracts/ledger.ts';
import { parseAddress } from '../../contracts/message.ts';

interface Words {
  yes: string;
  no: string;
  commands: string;
  allowed: string;
  denied: string;
}

const WORDS: Readonly<Record<PlanWait['wait'], Words>> = {
  step: {
    yes: 'Run',
    no: 'Skip',
    commands: '/run or /skip',
    allowed: 'This step was let run.',
    denied: 'This step was left out.',
  },
  pause: {
    yes: 'Resume',
    no: 'Stop',
    commands: '/resume or /stop',
    allowed: 'The plan goes on.',
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
  const { yes, no, commands } = WORDS[wait];
  const minutes = Math.round(expiresInMs / 60_000);
  const time = minutes === 1 ? 'a minute' : `${minutes} minutes`;
  const ending = `Press a button, or write ${commands}. Without an answer in ${time} the plan is given up.`;
  return deliveryOf(id, subject, `${subject.warning}\n\n${ending}`, [
    { label: yes, value: buttonValue(id, 'approved'), style: 'confirm' },
    { label: no, value: buttonValue(id, 'denied') },
  ]);
}

/** The same message once it is decided; its buttons are gone. */
export function waitDecided(record: ApprovalRecord, wait: PlanWait['wait']): DeliveryPayload | undefined {
  const words = record.state === 'approved' ? WORDS[wait].allowed : WORDS[wait].denied;
  const verdict = record.expired ? 'Nobody answered in time.' : words;
  const delivery = deliveryOf(record.id, record, `${record.warning}\n\n*${verdict}*`, []);
  return delivery && { ...delivery, key: `${delivery.ref}:decided` };
}

function deliveryOf(
  id: string,
  subject: ApprovalSubject,
  words: string,
  buttons: DeliveryPayload['message']['buttons'],
): DeliveryPayload | undefined {
  const place = parseAddress(subject.address);
  if (place.channel === 'http') return undefined;
  const title = subject.plan?.wait === 'step' ? `**Next: ${subject.tool}**\n\n` : '';
  return { ref: `approval:${id}`, message: { ...place, content: title + words, media: [], buttons } };
}
