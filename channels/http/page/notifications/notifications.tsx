/** The dialog that turns notifications of this browser on and off, and lists the person's other browsers. */
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { api } from '../api.ts';
import { messageOf } from '../failures/in-place.ts';
import { Dialog, showDialog } from '../parts/dialog.tsx';
import { Act, Moment, Row, Rows } from '../parts/rows.tsx';
import { say, sayParts } from '../texts.ts';

const PATH = '/v1/me/push';
const WORKER = '/sw.js';

interface PushState {
  publicKey: string;
  browsers: { id: string; client: string; createdAt: string }[];
}

/** Opens the dialog. */
export function showNotifications(): void {
  showDialog((close) => <Notifications close={close} />);
}

/** What this browser has subscribed to; undefined for nothing. */
async function ownSubscription(): Promise<PushSubscription | undefined> {
  const registration = await navigator.serviceWorker.getRegistration(WORKER);
  return (await registration?.pushManager.getSubscription()) ?? undefined;
}

/** Subscribes this browser. The permission is asked for here, after a press, and nowhere else. */
async function subscribe(publicKey: string): Promise<void> {
  if ((await Notification.requestPermission()) !== 'granted') throw new Error(say('page.push.blocked'));
  await navigator.serviceWorker.register(WORKER);
  const { pushManager } = await navigator.serviceWorker.ready;
  const subscription = await pushManager.subscribe({
    userVisibleOnly: true,
    applicationServerKey: publicKey,
  });
  try {
    await api.ask('POST', PATH, subscription.toJSON());
  } catch (error) {
    // What the gateway does not know of would never come.
    await subscription.unsubscribe();
    throw error;
  }
}

function Notifications({ close }: { close: () => void }): JSX.Element {
  const [state, setState] = useState<PushState>();
  const [isOn, setOn] = useState(false);
  const [problem, setProblem] = useState('');
  const isSupported = 'serviceWorker' in navigator && 'PushManager' in window;
  const refresh = async (): Promise<void> => {
    setOn((await ownSubscription()) !== undefined);
    setState(await api.ask<PushState>('GET', PATH));
  };
  const attempt = (work: () => Promise<unknown>): void => {
    setProblem('');
    work()
      .then(refresh)
      .catch((error: unknown) => setProblem(messageOf(error)));
  };
  useEffect(() => {
    if (isSupported) attempt(async () => undefined);
  }, []);
  const turn = async (): Promise<void> => {
    if (!isOn) return await subscribe(state?.publicKey ?? '');
    // The push service refuses it from now on, and the gateway removes it then.
    await (await ownSubscription())?.unsubscribe();
    return undefined;
  };
  return (
    <Dialog id="notifications" title={say('page.push')} close={close}>
      <p class="quiet">{say(isSupported ? 'page.push.how' : 'page.push.unsupported')}</p>
      {isSupported && state && (
        <>
          {isOn && <p role="status">{say('page.push.is_on')}</p>}
          <p>
            <button type="button" class={isOn ? '' : 'primary'} onClick={() => attempt(turn)}>
              {say(isOn ? 'page.push.off' : 'page.push.on')}
            </button>
          </p>
          <Browsers state={state} remove={(id) => attempt(() => api.ask('DELETE', `${PATH}/${id}`))} />
        </>
      )}
      <p class="error-text" role="alert">
        {problem}
      </p>
    </Dialog>
  );
}

function Browsers({ state, remove }: { state: PushState; remove: (id: string) => void }): JSX.Element | null {
  if (state.browsers.length === 0) return null;
  return (
    <Rows label={say('page.push.others')} empty="">
      {state.browsers.map(({ id, client, createdAt }) => {
        const name = client === '' ? say('page.push.unnamed') : client;
        const about = sayParts('page.push.since', { moment: <Moment at={createdAt} /> });
        return (
          <Row key={id} title={name} about={about}>
            <Act
              label={say('page.push.remove')}
              name={say('page.push.remove_of', { client: name })}
              press={() => remove(id)}
            />
          </Row>
        );
      })}
    </Rows>
  );
}
