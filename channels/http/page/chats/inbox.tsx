/**
 * What waits for a decision in any chat: a button with the number, a line over another chat, the questions in a dialog, and a
 * notification.
 */
import { signal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { api, type Approval, type PlanAction } from '../api.ts';
import { openChat, showSidebar } from '../navigation.ts';
import { Dialog, showDialog } from '../parts/dialog.tsx';
import { Icon } from '../parts/icon.tsx';
import { later } from '../parts/later.tsx';
import { say } from '../texts.ts';
import type { Approvals } from './approvals.ts';
import type { ChatList } from './chat-list.ts';

interface InboxProps {
  approvals: Approvals;
  list: ChatList;
}

/** The card of a question. */
const Card = later(async () => (await import('../chat/approvals/approval-card.tsx')).ApprovalCard);

/** The questions of the open chat, above the message field; those of plans are in the panels of these. */
export function QuestionsOf({ approvals, session }: { approvals: Approvals; session: string }): JSX.Element {
  const questions = approvals.of(session).filter(({ plan }) => plan === null);
  return (
    <div
      id="approvals"
      class="approvals"
      role="region"
      aria-live="polite"
      aria-label={say('page.approvals')}
      hidden={questions.length === 0}
    >
      {questions.map((approval) => (
        <CardOf key={approval.id} approvals={approvals} approval={approval} />
      ))}
    </div>
  );
}

function CardOf({ approvals, approval }: { approvals: Approvals; approval: Approval }): JSX.Element {
  return <Card approval={approval} mayDecide={approvals.mayDecide.value} finish={approvals.finish} />;
}

/** The button with the number of questions, in the list of chats. */
export function InboxButton(props: InboxProps): JSX.Element | null {
  const { count } = props.approvals;
  if (count === 0) return null;
  return (
    <button class="open-inbox" type="button" onClick={() => showInbox(props)}>
      {say('page.inbox.count', { count })}
    </button>
  );
}

/** The button that shows the list of chats on a phone, with the number of questions. */
export function ListButton({ approvals: { count }, id }: { approvals: Approvals; id?: string }): JSX.Element {
  const label = count === 0 ? say('page.sidebar.show') : say('page.sidebar.show_waiting', { count });
  return (
    <button
      id={id}
      class="icon-button menu-button only-phone"
      type="button"
      aria-label={label}
      onClick={() => showSidebar(true)}
    >
      <Icon name="menu" />
      {count > 0 && (
        <span class="waiting-count" aria-hidden="true">
          {count}
        </span>
      )}
    </button>
  );
}

/** A line over the open chat when others wait, on a phone, where the list of chats is hidden. */
export function WaitingElsewhere(props: InboxProps): JSX.Element {
  const { approvals, list } = props;
  const others = approvals.all.value?.filter(({ session }) => session !== list.current.value) ?? [];
  const [first] = others;
  const isOneChat = others.every(({ session }) => session === first?.session);
  const count = others.length;
  return (
    <div class="waiting-elsewhere" role="status" hidden={count === 0}>
      <button type="button" onClick={() => showInbox(props)}>
        <span class="waiting-text" dir="auto">
          {first !== undefined && isOneChat
            ? say('page.inbox.needed_in', { count, name: list.titleOf(first.session, first.chatName) })
            : say('page.inbox.needed_elsewhere', { count })}
        </span>
        <Icon name="right" />
      </button>
    </div>
  );
}

function showInbox(props: InboxProps): void {
  showDialog((close) => <Inbox {...props} close={close} />);
}

const mayNotify = signal('Notification' in globalThis ? Notification.permission : 'denied');

async function allowNotifications(): Promise<void> {
  mayNotify.value = await Notification.requestPermission();
}

function Inbox({ approvals, list, close }: InboxProps & { close: () => void }): JSX.Element {
  const all = approvals.all.value ?? [];
  useEffect(() => {
    if (all.length === 0) close();
  }, [all.length]);
  const buttons = (
    <>
      {mayNotify.value === 'default' && (
        <button type="button" onClick={() => void allowNotifications()}>
          {say('page.inbox.notify')}
        </button>
      )}
      <button type="button" onClick={close}>
        {say('page.close')}
      </button>
    </>
  );
  return (
    <Dialog title={say('page.inbox')} close={close} buttons={buttons}>
      {all.map((approval) => (
        <div key={approval.id} class="inbox-item" data-approval={approval.id}>
          <button
            type="button"
            class="text-button"
            dir="auto"
            onClick={() => {
              close();
              openChat(approval.session);
            }}
          >
            {say('page.inbox.in', { name: list.titleOf(approval.session, approval.chatName) })}
          </button>
          {approval.plan === null ? (
            <CardOf approvals={approvals} approval={approval} />
          ) : (
            <PlanQuestion approvals={approvals} plan={approval.plan} />
          )}
        </div>
      ))}
    </Dialog>
  );
}

/** What a plan waits for, its next step in teacher mode or the end of a pause, and what can be answered. */
const PLAN_ANSWERS: Record<'step' | 'pause', [PlanAction, string][]> = {
  step: [
    ['run', say('page.plan.run')],
    ['skip', say('page.plan.skip')],
    ['stop', say('page.stop')],
  ],
  pause: [
    ['resume', say('page.resume')],
    ['stop', say('page.stop')],
  ],
};

function PlanQuestion({
  approvals,
  plan: { id, stepId, wait },
}: {
  approvals: Approvals;
  plan: NonNullable<Approval['plan']>;
}): JSX.Element {
  const [isSending, setSending] = useState(false);
  const act = async (action: PlanAction): Promise<void> => {
    setSending(true);
    const note = await api.actOnPlan(id, action, stepId).then(
      () => undefined,
      (error: unknown) => error,
    );
    if (note !== undefined) setSending(false);
    await approvals.finish(note);
  };
  return (
    <>
      <p>{say(wait === 'step' ? 'page.inbox.plan' : 'page.inbox.plan_paused')}</p>
      <div class="approval-foot">
        {approvals.mayDecide.value ? (
          PLAN_ANSWERS[wait].map(([action, label]) => (
            <button key={action} type="button" disabled={isSending} onClick={() => void act(action)}>
              {label}
            </button>
          ))
        ) : (
          <span>{say('page.approval.not_yours')}</span>
        )}
      </div>
    </>
  );
}

/** Shows a notification for each question that is new, while nobody looks at the page. */
export function notifyOfQuestions({ approvals, list }: InboxProps): () => void {
  /** Ids of the questions that were there before. */
  let earlierIds: ReadonlySet<string> | undefined;
  return approvals.all.subscribe((all) => {
    if (all === undefined) return;
    const fresh = all.filter(({ id }) => earlierIds?.has(id) === false);
    earlierIds = new Set(all.map(({ id }) => id));
    if (!document.hidden || !('Notification' in globalThis) || Notification.permission !== 'granted') return;
    for (const { id, tool, session, chatName } of fresh) {
      const notification = new Notification(say('page.inbox.notice'), {
        body: say('page.inbox.notice_of', { tool, name: list.titleOf(session, chatName) }),
        // A push about the same question takes its place.
        tag: `approval_needed:${id}`,
      });
      notification.addEventListener('click', () => {
        window.focus();
        openChat(session);
      });
    }
  });
}
