/** The message of a plan that waits for people: its next step with an explanation, or that it is paused; then the decision. */
import {
  type ApprovalRecord,
  approvalRef,
  type ApprovalSubject,
  buttonValue,
  type PlanWait,
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

/** The question as a delivery with its two buttons; undefined over HTTP, where events and lists show it. */
export function waitQuestion(
  id: string,
  subject: ApprovalSubject,
  wait: PlanWait['wait'],
  expiresInMs: number,
  say: Say,
): DeliveryPayload | undefined {
  const { yes, no, how } = LABELS[wait];
  const ending = say(how, { count: Math.round(expiresInMs / 60_000) });
  const text = `${subject.warning}\n\n${ending}`;
  return deliveryOf(id, subject, text, say, [
    { label: say(yes), value: buttonValue(id, 'approved'), style: 'confirm' },
    { label: say(no), value: buttonValue(id, 'denied') },
  ]);
}

/** The same message once it is decided; its buttons are gone. */
export function waitDecided(
  record: ApprovalRecord,
  wait: PlanWait['wait'],
  say: Say,
): DeliveryPayload | undefined {
  const decision = record.state === 'approved' ? LABELS[wait].allowed : LABELS[wait].denied;
  const verdict = say(record.expired ? 'wait.expired' : decision);
  const delivery = deliveryOf(record.id, record, `${record.warning}\n\n*${verdict}*`, say, []);
  return delivery && { ...delivery, key: `${delivery.ref}:decided` };
}

function deliveryOf(
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
